"""Records a checkpoint of TensorFlow 1.15.5 that holds lookup tables, in tests/saving/tables.

tf115/bin/python -m tools.record.saved_tables
"""

from __future__ import annotations

import tensorflow as tf

from tests.saving.table_programs import filled, tables
from tools.record import TESTS

FOLDER = TESTS / "saving" / "tables"


def main() -> None:
    """Write the checkpoint."""
    FOLDER.mkdir(exist_ok=True)
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        made = tables(tf)
        saver = tf.compat.v1.train.Saver()
        session.run(filled(tf, made))
        saver.save(session, str(FOLDER / "all"), write_meta_graph=False, write_state=False)


if __name__ == "__main__":
    main()
