"""Attention: for each row of a query, a mean of values, weighted by how well their keys fit."""

from __future__ import annotations

from typing import Any

from staticgraph import nn
from staticgraph.arrays.array_ops import expand_dims
from staticgraph.arrays.casts import cast
from staticgraph.compiler.graph.errors import misuse, shown
from staticgraph.linear_algebra import linalg
from staticgraph.tf1.keras import backend as K
from staticgraph.tf1.keras.engine.layer import Layer
from staticgraph.tf1.keras.engine.structure import listed

_FAR = 1e9  # what is taken from the score of a value that does not count


class _Attention(Layer):
    """Inputs: [query, value] or [query, value, key], of shape [batch, steps, size] each."""

    config_names = ("use_scale",)

    def __init__(self, use_scale: bool, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.use_scale = use_scale
        self.supports_masking = True
        self.scale: Any = None

    def __call__(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(inputs, list | tuple) or len(inputs) not in (2, 3):
            text = f"layer {self.name} must be called on a list of tensors, not {shown(inputs)}"
            raise misuse(ValueError, text, "it is [query, value] or [query, value, key]")
        return super().__call__(inputs, *args, **kwargs)

    def scores(self, query: Any, key: Any) -> Any:
        """Return the score of each key for each row of the query: [batch, query steps, value steps]."""
        raise NotImplementedError

    def call(self, inputs: Any, mask: Any = None) -> Any:
        query, value, *rest = inputs
        kept = [*(listed(mask) if mask is not None else []), None, None]
        scores = self.scores(query, rest[0] if rest else value)
        if kept[1] is not None:
            scores = scores - _FAR * expand_dims(1.0 - cast(kept[1], scores.dtype), -2)
        made = linalg.matmul(nn.softmax(scores), value)
        return made if kept[0] is None else made * expand_dims(cast(kept[0], made.dtype), -1)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        return listed(mask)[0] if mask is not None else None


class Attention(_Attention):
    """Attention by products: the score is that of query and key.

    >>> import staticgraph as sg
    >>> query, value = sg.keras.Input([5, 8]), sg.keras.Input([7, 8])
    >>> sg.keras.layers.Attention()([query, value]).shape.as_list()
    [None, 5, 8]
    """

    def __init__(self, use_scale: bool = False, **kwargs: Any) -> None:
        super().__init__(use_scale, **kwargs)

    def build(self, input_shape: Any) -> None:
        self.scale = self.add_weight("scale", [], initializer="ones") if self.use_scale else None
        self.built = True

    def scores(self, query: Any, key: Any) -> Any:
        made = linalg.matmul(query, key, transpose_b=True)
        return made if self.scale is None else made * self.scale


class AdditiveAttention(_Attention):
    """Attention by sums: the score is the sum of `scale * tanh(query + key)`."""

    def __init__(self, use_scale: bool = True, **kwargs: Any) -> None:
        super().__init__(use_scale, **kwargs)

    def build(self, input_shape: Any) -> None:
        size = input_shape[1].as_list()[-1]
        self.scale = self.add_weight("scale", [size]) if self.use_scale else None
        self.built = True

    def scores(self, query: Any, key: Any) -> Any:
        fit = nn.tanh(expand_dims(query, -2) + expand_dims(key, -3))
        return K.sum(fit if self.scale is None else fit * self.scale, -1)
