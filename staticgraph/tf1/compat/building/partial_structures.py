"""Structures of which only an outer part counts: `tensorflow.contrib.framework.nest` beyond `tf.nest`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from staticgraph.building import nest
from staticgraph.compiler.graph.errors import misuse, shown


def assert_shallow_structure(
    shallow_tree: Any, input_tree: Any, check_types: bool = True, expand_composites: bool = False
) -> None:
    """Check that a structure has the parts of a shallower one; leaves of the latter may stand for any part.

    Args:
        shallow_tree: The structure that is asked for.
        input_tree: The structure that may go on deeper.
        check_types: Ask for containers of the same kinds.
        expand_composites: Changes nothing.

    Raises:
        TypeError: A leaf stands in place of a structure, or a structure is of another kind.
        ValueError: A structure has another number of parts, or other keys.

    >>> assert_shallow_structure(["a", "b"], [1, (2, 3)])
    """
    _columns(shallow_tree, input_tree, check_types)


def flatten_up_to(
    shallow_tree: Any, input_tree: Any, check_types: bool = True, expand_composites: bool = False
) -> list[Any]:
    """Return the parts of a structure that stand in place of the leaves of a shallower one.

    Args:
        shallow_tree: The structure that tells how deep to go.
        input_tree: The structure to take apart.
        check_types: Ask for containers of the same kinds.
        expand_composites: Changes nothing.

    Raises:
        TypeError, ValueError: As for `assert_shallow_structure`.

    >>> flatten_up_to(["a", "b"], [1, (2, 3)])
    [1, (2, 3)]
    """
    return _columns(shallow_tree, input_tree, check_types)


def map_structure_up_to(shallow_tree: Any, func: Callable[..., Any], *inputs: Any, **kwargs: Any) -> Any:
    """Return `func` of the parts that stand in place of leaves of `shallow_tree`, nested like it.

    Args:
        shallow_tree: The structure that tells how deep to go.
        func: A function of as many arguments as there are inputs.
        inputs: One or more structures that have the parts of `shallow_tree`.
        kwargs: `check_types`, True by default, asks for containers of the same kinds.

    Raises:
        ValueError: There is no input, or one has another number of parts, or other keys.
        TypeError: An input has a leaf in place of a structure, or one of another kind.

    >>> map_structure_up_to(["a", "b"], len, [[1], [2, [3, 4]]])
    [1, 2]
    """
    if not inputs:
        raise misuse(ValueError, "map_structure_up_to() needs at least one input")
    check_types = kwargs.get("check_types", True)
    columns = [_columns(shallow_tree, each, check_types) for each in inputs]
    return nest.pack_sequence_as(shallow_tree, [func(*parts) for parts in zip(*columns, strict=True)])


def flatten_dict_items(dictionary: Any) -> dict[Any, Any]:
    """Return a dict of leaves for one whose keys and values are structures of the same form.

    Args:
        dictionary: A mapping.

    Raises:
        TypeError: The argument is no mapping.
        ValueError: A key has another form than its value, or occurs twice.

    >>> flatten_dict_items({(4, (5, 6)): ("a", ("b", "c")), 7: "d"})
    {4: 'a', 5: 'b', 6: 'c', 7: 'd'}
    """
    if not isinstance(dictionary, Mapping):
        raise misuse(TypeError, f"flatten_dict_items() takes a dict, not {shown(dictionary)}")
    flat: dict[Any, Any] = {}
    for key, value in dictionary.items():
        nest.assert_same_structure(key, value)
        for each, leaf in zip(nest.flatten(key), nest.flatten(value), strict=True):
            if each in flat:
                raise misuse(ValueError, f"the key {shown(each)} occurs twice in {shown(dictionary)}")
            flat[each] = leaf
    return flat


def _columns(shallow: Any, given: Any, check_types: bool) -> list[Any]:
    try:
        return list(_parts_up_to(shallow, given, check_types))
    except (TypeError, ValueError) as error:
        text = f"{error}\n  asked for: {shown(shallow, 80)}\n  given:     {shown(given, 80)}"
        raise misuse(type(error), text) from None


def _parts_up_to(shallow: Any, given: Any, check_types: bool) -> Iterator[Any]:
    if not nest.is_nested(shallow):
        yield given
        return
    if not nest.is_nested(given):
        raise TypeError(f"{shown(given)} is a leaf in place of the structure {shown(shallow)}")
    if check_types and not nest.same_kind(shallow, given):
        raise TypeError(f"{type(given).__name__} in place of {type(shallow).__name__}")
    if len(shallow) != len(given):
        raise ValueError(f"a structure has {len(given)} parts in place of {len(shallow)}")
    if isinstance(shallow, Mapping) and isinstance(given, Mapping) and set(shallow) != set(given):
        raise ValueError(f"keys {sorted(given)} in place of {sorted(shallow)}")
    for part, other in zip(nest.parts_of(shallow), nest.parts_of(given), strict=True):
        yield from _parts_up_to(part, other, check_types)
