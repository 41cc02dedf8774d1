"""TensorFlow 1.15's names, old spellings and `contrib` included, for programs that were written for it.

A name that is not supported raises an AttributeError that gives the line which used it and the nearest names
that are.

>>> import staticgraph.compat.tf1 as tf
>>> x = tf.placeholder(tf.float32, [None, 2])
>>> y = tf.contrib.layers.fully_connected(x, 3, activation_fn=None, scope="out")
>>> y, tf.__version__
(<sg.Tensor 'out/BiasAdd:0' shape=(?, 3) dtype=float32>, '1.15.5')
"""

from __future__ import annotations

from typing import Any

from staticgraph.tf1.compat.areas import TREE

# A program may put this module in TensorFlow's place; it imports parts of it then, which only a package has.
__path__: list[str] = []

_ROOT = TREE.namespace("")


def __getattr__(name: str) -> Any:
    return getattr(_ROOT, name)


def __dir__() -> list[str]:
    return dir(_ROOT)
