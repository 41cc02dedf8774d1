"""Slots: variables that belong to another one, such as a momentum or an average."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from staticgraph.state.scopes import variable_scope
from staticgraph.state.variables import SaveSliceInfo, Variable


def make_slot(primary: Any, initial: Any, name: str) -> Variable:
    """Return a new slot.

    Args:
        primary: The variable, or tensor, that it belongs to.
        initial: The first value: a tensor, or a function that makes one.
        name: The last part of the slot's name, which begins with that of `primary`.

    Returns:
        A variable that is not trainable.
    """
    with slot_scope(primary, name) as make:
        return make(initial)


@contextmanager
def slot_scope(primary: Any, name: str) -> Iterator[Callable[[Any], Variable]]:
    """Variable scope of a new slot, for a first value that belongs to it. Yields the function that makes the
    slot of its first value.
    """
    with variable_scope(None, f"{primary.op.name}/{name}") as scope:

        def make(initial: Any) -> Variable:
            slot = Variable(initial, trainable=False, name=f"{scope.name}/")
            _place(slot, primary)
            return slot

        yield make


def _place(slot: Any, primary: Any) -> None:
    """Make a slot the part of a larger slot, if `primary` is a part of a variable."""
    whole: SaveSliceInfo | None = getattr(primary, "_save_slice_info", None)
    if whole is not None:
        name = slot.op.name.removeprefix(f"{primary.op.name}/")
        place = SaveSliceInfo(
            f"{whole.full_name}/{name}", whole.full_shape, whole.var_offset, whole.var_shape
        )
        slot._set_save_slice_info(place)
