"""Structures: lists, tuples, named tuples and dicts, nested in each other, with anything else as their
leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from staticgraph.compiler.graph.errors import misuse, shown
from staticgraph.compiler.support.lazy_names import show_public_names

__all__ = ["assert_same_structure", "flatten", "is_nested", "map_structure", "pack_sequence_as"]


def is_nested(seq: Any) -> bool:
    """Return True if `seq` is a list, a tuple or a mapping such as a dict, and False if it is a leaf.

    Args:
        seq: Any object.
    """
    return isinstance(seq, list | tuple | Mapping)


is_sequence = is_nested


def flatten(structure: Any, expand_composites: bool = False) -> list[Any]:
    """The leaves, in order; those of dicts by sorted keys.

    >>> from staticgraph.building import nest
    >>> nest.flatten({"b": [1, (2, 3)], "a": 4})
    [4, 1, 2, 3]
    """
    return list(_leaves(structure))


def _leaves(structure: Any) -> Iterator[Any]:
    if is_nested(structure):
        for part in parts_of(structure):
            yield from _leaves(part)
    else:
        yield structure


def parts_of(structure: Any) -> list[Any]:
    """Return the parts of a structure, those of a mapping by sorted keys."""
    if isinstance(structure, Mapping):
        return [structure[key] for key in sorted(structure)]
    return list(structure)


def pack_sequence_as(structure: Any, flat_sequence: Any, expand_composites: bool = False) -> Any:
    """The leaves in `flat_sequence`, nested like `structure`. ValueError if there are more or fewer.

    >>> from staticgraph.building import nest
    >>> nest.pack_sequence_as([0, (0, 0)], "xyz")
    ['x', ('y', 'z')]
    """
    leaves = list(flat_sequence)
    wanted = len(flatten(structure))
    if len(leaves) != wanted:
        raise misuse(
            ValueError, f"the structure has {wanted} leaves, {len(leaves)} were given: {structure!r}"
        )
    return _pack(structure, iter(leaves))


def _pack(structure: Any, leaves: Iterator[Any]) -> Any:
    if not is_nested(structure):
        return next(leaves)
    return like(structure, [_pack(part, leaves) for part in parts_of(structure)])


def like(structure: Any, parts: list[Any]) -> Any:
    """`parts` in a container of the same kind as `structure`."""
    if isinstance(structure, Mapping):
        by_key = dict(zip(sorted(structure), parts, strict=True))
        kind: Any = type(structure)
        return kind((key, by_key[key]) for key in structure)
    if hasattr(structure, "_make"):
        return structure._make(parts)
    return type(structure)(parts)


def map_structure(func: Callable[..., Any], *structure: Any, **kwargs: Any) -> Any:
    """`func` of the leaves of one structure, or of corresponding leaves of several, nested like the first.

    >>> from staticgraph.building import nest
    >>> nest.map_structure(lambda a, b: a + b, [1, (2,)], [10, (20,)])
    [11, (22,)]
    """
    if not callable(func):
        raise misuse(TypeError, f"map_structure(func): {func!r} is not a function")
    if not structure:
        raise misuse(ValueError, "map_structure() needs at least one structure")
    for other in structure[1:]:
        assert_same_structure(structure[0], other, check_types=kwargs.get("check_types", True))
    columns = zip(*map(flatten, structure), strict=True)
    return pack_sequence_as(structure[0], [func(*leaves) for leaves in columns])


def assert_same_structure(
    nest1: Any, nest2: Any, check_types: bool = True, expand_composites: bool = False
) -> None:
    """ValueError if the structures have different numbers of parts somewhere, TypeError for other kinds.

    Named tuples are of one kind if they have the same name and fields; `check_types=False` ignores kinds.
    """
    try:
        _compare(nest1, nest2, check_types)
    except (ValueError, TypeError) as error:
        text = f"the structures differ: {error}\n  first:  {shown(nest1, 80)}\n  second: {shown(nest2, 80)}"
        raise misuse(type(error), text) from None


def _compare(first: Any, second: Any, check_types: bool) -> None:
    if is_nested(first) != is_nested(second):
        inner, leaf = (first, second) if is_nested(first) else (second, first)
        raise ValueError(f"{shown(inner)} is a structure, and {shown(leaf)} is none")
    if not is_nested(first):
        return
    if check_types and not same_kind(first, second):
        raise TypeError(f"{type(first).__name__} and {type(second).__name__}")
    if isinstance(first, Mapping) and isinstance(second, Mapping) and set(first) != set(second):
        raise ValueError(f"keys {sorted(first)} and {sorted(second)}")
    if len(first) != len(second):
        raise ValueError(f"one has {len(first)} parts, the other {len(second)}")
    for one, other in zip(parts_of(first), parts_of(second), strict=True):
        _compare(one, other, check_types)


def same_kind(first: Any, second: Any) -> bool:
    """Return True for two containers of one kind: mappings, named tuples with the same fields, one type."""
    if isinstance(first, Mapping):
        return isinstance(second, Mapping)
    fields = getattr(first, "_fields", None)
    if fields is not None:
        return fields == getattr(second, "_fields", None) and type(first).__name__ == type(second).__name__
    return type(first) is type(second)


show_public_names(__name__)
