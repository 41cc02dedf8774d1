"""Entries of a checkpoint from what a `Saver` is told to save: variables, parts of them, lists or a dict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from staticgraph.compiler.graph.errors import misuse, shown
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.compiler.ops.structural import variable_of
from staticgraph.runtime.files.parts import Part, Parts, Saved, operations_of
from staticgraph.state.slices import SaveSliceInfo


def by_key(given: Any) -> dict[str, Saved]:
    """Return variables by their names in checkpoints.

    Args:
        given: A list of variables, or a dict from names to variables. A partitioned variable is one entry,
            and so is a list of its parts in a dict; parts in a list of variables make one entry together.

    Raises:
        TypeError: Something is no variable, or a name is no string.
        ValueError: Two entries have one name, or a variable is in two entries.
    """
    pairs = list(given.items()) if isinstance(given, Mapping) else list(_named(given))
    out: dict[str, Saved] = {}
    seen: set[Operation] = set()
    for key, value in pairs:
        saved = _saved(value)
        name = saved.name if key is None and isinstance(saved, Operation) else key
        if not isinstance(name, str):
            raise misuse(TypeError, f"names in a checkpoint are strings, not {name!r}")
        if name in out:
            raise misuse(ValueError, f"At least two variables have the same name: {name}")
        for op, _ in operations_of({name: saved}):
            if op in seen:
                raise misuse(ValueError, f"The variable {op.name} would be saved under two names")
            seen.add(op)
        out[name] = saved
    return out


def _named(variables: Any) -> Iterator[tuple[str | None, Any]]:
    """Yield the items of a list with their names; None if a name is that of the operation."""
    parts: dict[str, list[Any]] = {}
    for each in variables:
        info = _slice_info(each)
        if _is_partitioned(each):
            yield each.name, each
        elif info is not None:
            parts.setdefault(info.full_name, []).append(each)
        else:
            yield None, each
    yield from parts.items()


def _saved(value: Any) -> Saved:
    if isinstance(value, Parts):
        return value
    if isinstance(value, list | tuple) or _is_partitioned(value):
        return _parts(list(value))
    handle = getattr(value, "handle", value)
    op = variable_of(handle) if isinstance(handle, Tensor) else None
    if op is None:
        hint = "var_list is a list of variables, or a dict of names and variables"
        raise misuse(TypeError, f"a Saver saves variables, not {shown(value)}", hint)
    return op


def _is_partitioned(value: Any) -> bool:
    """Return True for a `PartitionedVariable`, whose class few programs load."""
    return hasattr(value, "_get_variable_list")


def _parts(variables: Sequence[Any]) -> Parts:
    told = [_slice_info(each) for each in variables]
    infos = [info for info in told if info is not None]
    if not infos or len(infos) < len(told) or any(info.full_shape != infos[0].full_shape for info in infos):
        raise misuse(ValueError, f"{shown(variables)}: these are not the parts of one variable")
    boxes = tuple(Part.of(info.full_shape, info.var_offset, info.var_shape) for info in infos)
    return Parts(tuple(each.op for each in variables), boxes)


def _slice_info(value: Any) -> SaveSliceInfo | None:
    found: SaveSliceInfo | None = getattr(value, "_save_slice_info", None)
    return found
