"""Requirements of a layer for its inputs, checked when the layer is called."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from staticgraph.building import nest
from staticgraph.compiler.graph.dtypes import as_dtype
from staticgraph.compiler.graph.errors import ShapeError, misuse
from staticgraph.compiler.support.dataclass import dataclass


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
        """Return what is expected of an input and what was found, or None if the input is as it must be."""
        sizes = None if tensor.shape.ndims is None else tensor.shape.as_list()
        if sizes is None and not (self.ndim is self.min_ndim is self.max_ndim is None):
            return "its rank is undefined, but the layer requires a defined rank"
        if sizes is not None and (wrong := self._wrong_rank(len(sizes))):
            return wrong
        if self.dtype is not None and tensor.dtype is not as_dtype(self.dtype):
            return f"expected dtype={as_dtype(self.dtype).name}, found dtype={tensor.dtype.name}"
        return None if sizes is None else self._wrong_sizes(sizes)

    def _wrong_rank(self, rank: int) -> str | None:
        for name, wrong in (
            ("ndim", rank != self.ndim),
            ("max_ndim", rank > (self.max_ndim or 0)),
            ("min_ndim", rank < (self.min_ndim or 0)),
        ):
            if wrong and getattr(self, name) is not None:
                return f"expected {name}={getattr(self, name)}, found ndim={rank}"
        return None

    def _wrong_sizes(self, sizes: list[int | None]) -> str | None:
        rank = len(sizes)
        for axis, size in self.axes.items():
            if -rank <= axis < rank and size is not None and sizes[axis] not in (size, None):
                return f"expected axis {axis} to have size {size}, found {sizes[axis]}"
        for wanted, size in zip(self.shape or (), sizes, strict=False):
            if None not in (wanted, size) and wanted != size:
                return f"expected shape={self.shape}, found shape={tuple(sizes)}"
        return None


def check_inputs(specs: Any, inputs: Any, layer: str) -> None:
    """ShapeError unless the inputs of a layer are as its specs demand."""
    if not specs:
        return
    tensors = [t for t in nest.flatten(inputs) if t is not None]
    wanted = nest.flatten(specs)
    if len(tensors) != len(wanted):
        text = f"layer {layer} takes {len(wanted)} inputs, {len(tensors)} were given"
        raise misuse(ShapeError, text, made=[(t.name, t.op.where) for t in tensors])
    for tensor, spec in zip(tensors, wanted, strict=True):
        if spec is not None and (wrong := spec.violation(tensor)) is not None:
            text = f"layer {layer}: its input {tensor.name} of shape {tensor.shape}: {wrong}"
            raise misuse(ShapeError, text, made=[(tensor.name, tensor.op.where)])
