"""Records which op types TensorFlow 1.15.5 has gradients for, in `tests/ops/tf1_gradients.json`.

    tf115/bin/python -m tools.record.gradients

`gradient`: types with a gradient function. `none`: those of them whose function gives None for each input.
`constant`: types that are registered as not differentiable. All others have no gradient: a derivative through
them is a LookupError.
"""

from __future__ import annotations

import json

import tensorflow as tf
from tensorflow.python.framework import ops

from tools.record import TESTS

FILE = TESTS / "ops" / "tf1_gradients.json"

# Functions of float tensors whose registered gradient may give nothing.
TRIED = {
    "ArgMax": lambda x: tf.cast(tf.argmax(x), tf.float32),
    "ArgMin": lambda x: tf.cast(tf.argmin(x), tf.float32),
    "Ceil": tf.ceil,
    "Floor": tf.floor,
    "FloorDiv": lambda x: tf.raw_ops.FloorDiv(x=x, y=x),
    "Rint": tf.rint,
    "Round": tf.round,
    "Sign": tf.sign,
    "TruncateDiv": lambda x: tf.raw_ops.TruncateDiv(x=x, y=x),
}


def gives_none(name: str) -> bool:
    """Return if the gradient function of a type gives None."""
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [3])
        return tf.gradients(TRIED[name](x), x) == [None]


def main() -> None:
    """Write the file."""
    registry = ops._gradient_registry._registry
    kinds = {name: entry["type"] is not None for name, entry in registry.items()}
    told = {
        "gradient": sorted(name for name, has in kinds.items() if has),
        "none": sorted(filter(gives_none, TRIED)),
        "constant": sorted(name for name, has in kinds.items() if not has),
    }
    FILE.write_text(json.dumps(told, indent=1) + "\n")


if __name__ == "__main__":
    main()
