"""Distributions made of their parameters alone: how all are constructed, and how they show their tensors."""

from __future__ import annotations

import inspect
from typing import Any, ClassVar, TypeVar

import staticgraph as sg
from staticgraph.building.read_only import read_only
from staticgraph.building.signatures import arguments, parameters_of
from staticgraph.compiler.graph.graph import get_default_graph
from staticgraph.compiler.graph.recording.op_count import op_count, set_op_count
from staticgraph.tf1.distributions.base import (
    FULLY_REPARAMETERIZED,
    Distribution,
    ReparameterizationType,
)

T = TypeVar("T", bound="type[Parametric]")


def kept(name: str) -> Any:
    """Property that shows what `_build` kept under this name with an underscore."""
    return read_only(name, f"The parameter `{name}` as a tensor.")


class Parametric(Distribution):
    """A distribution whose class says with `_build` what its parameters are, and is `constructed` by that."""

    _REPARAMETERIZATION: ClassVar[ReparameterizationType] = FULLY_REPARAMETERIZED
    _dtype: sg.DType | None = None  # type: ignore[assignment]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError  # `constructed` puts another one in its place

    def _build(self, *args: Any, **kwargs: Any) -> list[sg.Tensor]:
        """Keep the parameters as tensors. Return those that give the shape of the batch.

        The dtype of samples is that of the last one, if `_build` sets no `_dtype`.
        """
        raise NotImplementedError

    @classmethod
    def _param_shapes(cls, sample_shape: Any) -> dict[str, sg.Tensor]:
        if cls._PARAMETER_NDIMS:
            return super()._param_shapes(sample_shape)
        shape = sg.convert_to_tensor(sample_shape, sg.int32)
        return dict.fromkeys(cls._shaped(), shape)

    @classmethod
    def _shaped(cls) -> list[str]:
        """Return the names of the parameters that have the shape of a draw."""
        return list(inspect.signature(cls._build).parameters)[1:]

    def _operations(self, values: list[Any]) -> int | None:
        """Return the number of operations by which TensorFlow makes the distribution, or None for as many as
        here. `values` are the arguments of `_build`.
        """
        return None


class OfVectors(Parametric):
    """A distribution of vectors, whose elements the last axis of the last tensor of `_build` lists."""

    _PARAMETER_NDIMS = 1

    def _event_shape(self) -> Any:
        return self._graph_parents[-1].shape.with_rank_at_least(1)[-1:]

    def _event_shape_tensor(self) -> Any:
        return sg.shape(self._graph_parents[-1])[-1:]

    def _count(self) -> Any:
        """The number of elements of a vector, in the dtype of samples."""
        return sg.cast(self.event_shape_tensor()[0], self.dtype)


def constructed(cls: T) -> T:
    """Give a class a constructor, which takes the parameters of `_build` and what all distributions take.

    Operations of the parameters are in the name scope of the distribution.
    """
    own, *parameters = inspect.signature(cls._build).parameters.values()
    common = {"validate_args": False, "allow_nan_stats": True, "name": cls.__name__}
    signature = inspect.Signature([own, *parameters, *parameters_of(common)], return_annotation="None")

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        _, *given = arguments(cls.__name__, signature, (self, *args), kwargs).values()
        *values, validate_args, allow_nan_stats, name = given
        with sg.name_scope(name, values=values) as scope:
            self._validate_args = validate_args
            graph = get_default_graph()
            start = op_count(graph)
            parents = self._build(*values)
        dtype = self._dtype or parents[-1].dtype
        kind = self._REPARAMETERIZATION
        Distribution.__init__(self, dtype, kind, validate_args, allow_nan_stats, None, parents, scope)
        made = self._operations(values)
        if made is not None:
            set_op_count(graph, start + made)

    __init__.__signature__ = signature  # type: ignore[attr-defined]
    cls.__init__ = __init__  # type: ignore[method-assign]
    return cls
