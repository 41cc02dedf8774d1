"""Requirements of a layer for its inputs, checked when the layer is called."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from staticgraph.compiler.graph.dtypes import as_dtype
from staticgraph.compiler.graph.errors import DtypeError, ShapeError, misuse
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.tf1.keras.engine.structure import leaves, listed

__all__ = ["InputSpec"]


@dataclass(slots=True)
class InputSpec:
    """Dtype, shape, number of axes, and sizes of single axes; None for what is left open."""

    dtype: Any = None
    shape: Any = None
    ndim: int | None = None
    max_ndim: int | None = None
    min_ndim: int | None = None
    axes: Any = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.shape = None if self.shape is None else tuple(self.shape)
        self.ndim = len(self.shape) if self.shape is not None else self.ndim
        self.axes = {int(axis): size for axis, size in (self.axes or {}).items()}

    def get_config(self) -> dict[str, Any]:
        names = ("dtype", "shape", "ndim", "max_ndim", "min_ndim", "axes")
        return {name: getattr(self, name) for name in names}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> InputSpec:
        """The spec of a `get_config`."""
        return cls(**config)

    def violation(self, tensor: Any) -> str | None:
        """Return a description of how an input violates this, or None."""
        sizes = None if tensor.shape.ndims is None else tensor.shape.as_list()
        if self.dtype is not None and tensor.dtype is not as_dtype(self.dtype):
            return f"is {tensor.dtype}, and must be {as_dtype(self.dtype)}"
        if sizes is None:
            return None
        rank = len(sizes)
        for bound, wrong, words in (
            (self.ndim, rank != self.ndim, "exactly"),
            (self.max_ndim, rank > (self.max_ndim or rank), "at most"),
            (self.min_ndim, rank < (self.min_ndim or 0), "at least"),
        ):
            if bound is not None and wrong:
                return f"has {rank} axes, and must have {words} {bound}"
        wanted = dict(self.axes)
        if self.shape is not None:
            wanted |= {axis: size for axis, size in enumerate(self.shape) if size is not None}
        for axis, size in wanted.items():
            if -rank <= axis < rank and size is not None and sizes[axis] not in (size, None):
                return f"has {sizes[axis]} elements along axis {axis}, and must have {size}"
        return None


def check_inputs(specs: Any, inputs: Any, layer: str) -> None:
    """Raise the user's error where the inputs of a layer are not as its specs demand."""
    if not specs:
        return
    tensors, wanted = list(leaves(inputs)), listed(specs)
    if len(tensors) != len(wanted):
        text = f"layer {layer} takes {len(wanted)} inputs, {len(tensors)} were given"
        raise misuse(ShapeError, text, made=[(t.name, t.op.where) for t in tensors])
    for tensor, spec in zip(tensors, wanted, strict=True):
        if (wrong := spec.violation(tensor)) is not None:
            kind = DtypeError if "must be" in wrong else ShapeError
            text = f"layer {layer}: its input {tensor.name} of shape {tensor.shape} {wrong}"
            raise misuse(kind, text, made=[(tensor.name, tensor.op.where)])
