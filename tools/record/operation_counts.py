"""Record from TensorFlow 1.15 how many operations its functions make, and what weights scripts begin with.

    tf115/bin/python -m tools.record.operation_counts

It reads `calls.txt` and `scripts.txt` of `tests/compat/operation_counts`, and writes `recorded.json` there.
"""

import json

import numpy as np
import tensorflow as tf

from tests.compat.operation_counts import prelude
from tools.record import TESTS

FOLDER = TESTS / "compat" / "operation_counts"


def main() -> None:
    """Run all calls and scripts, and write what they give."""
    tf.logging.set_verbosity("ERROR")
    calls, scripts = prelude.read(str(FOLDER))
    recorded = {
        "tensorflow": tf.__version__,
        "calls": {call: prelude.counted(tf, np, call) for call in calls},
        "scripts": {title: prelude.weights(tf, np, script) for title, script in scripts.items()},
    }
    (FOLDER / "recorded.json").write_text(json.dumps(recorded, indent=0, sort_keys=True) + "\n")
    print(f"{len(calls)} calls, {len(scripts)} scripts")


if __name__ == "__main__":
    main()
