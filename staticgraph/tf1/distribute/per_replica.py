"""Values of several replicas: one for each, of the same structure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from staticgraph.arrays.array_ops import concat
from staticgraph.arrays.indexed_slices import IndexedSlices
from staticgraph.building import nest
from staticgraph.building.inputs import convert_to_tensor, identity
from staticgraph.compiler.graph.errors import misuse

Pairs = list[tuple[Any, Any]]


class PerReplica:
    """A value for each replica.

    Args:
        values: The values, in the order of replicas.
    """

    def __init__(self, values: Sequence[Any]) -> None:
        self.values = tuple(values)

    def __repr__(self) -> str:
        return f"PerReplica({', '.join(map(repr, self.values))})"

    @property
    def primary(self) -> Any:
        """The value of the first replica."""
        return self.values[0]


def regrouped(structures: Sequence[Any]) -> Any:
    """Return one structure of those of all replicas: a leaf that is the same in all stays, others are values
    of each.
    """
    first = structures[0]
    if not nest.is_nested(first):
        return first if all(each is first for each in structures) else PerReplica(structures)
    leaves = zip(*map(nest.flatten, structures), strict=True)
    return nest.pack_sequence_as(first, [regrouped(each) for each in leaves])


def selected(structure: Any, number: int) -> Any:
    """Return the values of one replica."""
    return nest.map_structure(lambda v: v.values[number] if isinstance(v, PerReplica) else v, structure)


def total(values: Sequence[Any], is_mean: bool) -> Any:
    """Return the sum or mean of what replicas have."""
    made = identity(values[0])
    for value in values[1:]:
        made = made + value
    return made / len(values) if is_mean else made


def reduced(value: Any, is_mean: bool) -> Any:
    """Return the sum or mean of a value of all replicas.

    Raises:
        ValueError: The sum is asked for of a value that is not one of each replica.
    """
    if isinstance(value, PerReplica):
        return total(value.values, is_mean)
    if is_mean or (isinstance(value, int | float) and value == 0):
        return value
    text = f"{value!r} is the same for all replicas, and no value of each that could be added"
    raise misuse(ValueError, text, "take what experimental_run_v2 returns")


def added_gradients(all_pairs: Sequence[Pairs]) -> Pairs:
    """Return the sum of the gradients of all replicas by each variable, in pairs with it."""
    made: Pairs = []
    for pairs in zip(*all_pairs, strict=True):
        found = [gradient for gradient, _ in pairs if gradient is not None]
        if not found:
            gradient: Any = None
        elif all(isinstance(each, IndexedSlices) for each in found):
            values = concat([each.values for each in found], axis=0)
            indices = concat([each.indices for each in found], axis=0)
            gradient = IndexedSlices(values, indices, found[0].dense_shape)
        else:
            gradient = total([convert_to_tensor(each) for each in found], False)
        made.append((gradient, pairs[0][1]))
    return made
