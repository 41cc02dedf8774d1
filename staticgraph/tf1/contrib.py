"""Layers, optimizers, decoders and more that TensorFlow 1.15 keeps in `tf.contrib`: `sg.contrib`.

>>> sg.contrib.opt.AdamWOptimizer(weight_decay=1e-4, learning_rate=1e-3).get_name()
'AdamW'
"""

from __future__ import annotations

from typing import Any

from staticgraph.tf1.compat.areas import TREE

_NAMESPACE = TREE.namespace("contrib")


def __getattr__(name: str) -> Any:
    return getattr(_NAMESPACE, name)


def __dir__() -> list[str]:
    return dir(_NAMESPACE)
