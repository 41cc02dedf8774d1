"""Records what Keras makes of pictures in folders, in `tests/keras/pictures.json`.

    python -m tools.record.pictures

It needs Pillow and Keras_Preprocessing 1.1.2, which TensorFlow 1.15.5 has as `tf.keras.preprocessing.image`.
"""

import json
import sys
import tempfile

from keras_preprocessing import image

from tests.keras import picture_cases
from tools.record import TESTS


def main() -> int:
    """Write the file."""
    with tempfile.TemporaryDirectory() as path:
        picture_cases.folder(path)
        answers = {"flows": picture_cases.flows(image, path), "pictures": picture_cases.pictures(image, path)}
    parts = [
        "%s: [\n%s\n]" % (json.dumps(name), ",\n".join(map(json.dumps, found)))
        for name, found in answers.items()
    ]
    (TESTS / "keras" / "pictures.json").write_text("{\n%s\n}\n" % ",\n".join(parts))
    return 0


if __name__ == "__main__":
    sys.exit(main())
