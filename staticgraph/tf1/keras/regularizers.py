"""Penalties on weights, added to the loss."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler.support.lazy_names import show_public_names
from staticgraph.mathematics.math_ops import abs, square
from staticgraph.mathematics.reductions import reduce_sum
from staticgraph.tf1.keras.serialization import deserialize_keras_object, resolve, serialize_keras_object


class Regularizer:
    """A function from a tensor to its penalty, a number."""

    def __call__(self, x: Any) -> Any:
        return 0.0

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Regularizer:
        """The regularizer of a `get_config`."""
        return cls(**config)


class L1L2(Regularizer):
    """`l1` times the sum of absolute values plus `l2` times the sum of squares."""

    def __init__(self, l1: float = 0.0, l2: float = 0.0) -> None:
        self.l1, self.l2 = float(l1), float(l2)

    def __call__(self, x: Any) -> Any:
        penalties = []
        if self.l1:
            penalties.append(self.l1 * reduce_sum(abs(x)))
        if self.l2:
            penalties.append(self.l2 * reduce_sum(square(x)))
        return sum(penalties[1:], penalties[0]) if penalties else 0.0

    def get_config(self) -> dict[str, Any]:
        return {"l1": self.l1, "l2": self.l2}


def l1(l: float = 0.01) -> L1L2:  # noqa: E741 - the name of the argument is public
    """`l` times the sum of absolute values."""
    return L1L2(l1=l)


def l2(l: float = 0.01) -> L1L2:  # noqa: E741
    """`l` times the sum of squares."""
    return L1L2(l2=l)


def l1_l2(l1: float = 0.01, l2: float = 0.01) -> L1L2:
    """Both penalties."""
    return L1L2(l1, l2)


_TABLE: dict[str, Any] = {"L1L2": L1L2, "l1": l1, "l2": l2, "l1_l2": l1_l2}


def serialize(regularizer: Any) -> Any:
    """The config of a regularizer."""
    return serialize_keras_object(regularizer)


def deserialize(config: Any, custom_objects: Any = None) -> Any:
    """The regularizer of a config."""
    return deserialize_keras_object(config, _TABLE, custom_objects, "regularizer")


def get(identifier: Any) -> Any:
    """The regularizer that a name or config stands for; a function is one already."""
    if isinstance(identifier, str) and identifier in ("l1", "l2", "l1_l2"):
        return _TABLE[identifier]()
    return resolve(identifier, _TABLE, "regularizer")


show_public_names(__name__)
