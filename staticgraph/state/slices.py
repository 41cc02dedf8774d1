"""`SaveSliceInfo`: the part that a variable is of a larger one, which checkpoints hold as a whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from staticgraph.runtime.files.parts import Part

__all__ = ["SaveSliceInfo"]


class SaveSliceInfo:
    """The place of a variable in a larger one, under whose name a `Saver` saves it.

    Args:
        full_name: The name of the larger variable.
        full_shape: Its sizes.
        var_offset: Where the part begins along each axis.
        var_shape: The sizes of the part.
        save_slice_info_def: A message that tells all of these instead.
        import_scope: A name scope put before the name in the message.

    >>> import staticgraph as sg
    >>> sg.Variable.SaveSliceInfo("table", [10, 3], [4, 0], [6, 3]).spec
    '10 3 4,6:0,3'
    """

    def __init__(
        self,
        full_name: str | None = None,
        full_shape: Sequence[int] | None = None,
        var_offset: Sequence[int] | None = None,
        var_shape: Sequence[int] | None = None,
        save_slice_info_def: Any = None,
        import_scope: str | None = None,
    ) -> None:
        if (told := save_slice_info_def) is not None:
            full_name = f"{import_scope}/{told.full_name}" if import_scope else told.full_name
            full_shape, var_offset, var_shape = told.full_shape, told.var_offset, told.var_shape
        self.full_name: str = full_name or ""
        self.full_shape, self.var_offset, self.var_shape = (
            [int(size) for size in given or ()] for given in (full_shape, var_offset, var_shape)
        )

    @property
    def spec(self) -> str:
        """The place as text: the full sizes, then a begin and a length for each axis."""
        return Part.of(self.full_shape, self.var_offset, self.var_shape).spec


def place_slot(slot: Any, primary: Any) -> None:
    """Make a slot of an optimizer the part of a larger slot, if `primary`, its variable, is a part too."""
    whole: SaveSliceInfo | None = getattr(primary, "_save_slice_info", None)
    if whole is not None:
        name = slot.op.name.removeprefix(f"{primary.op.name}/")
        place = SaveSliceInfo(
            f"{whole.full_name}/{name}", whole.full_shape, whole.var_offset, whole.var_shape
        )
        slot._set_save_slice_info(place)


def even_slices(sizes: Sequence[int], axis: int, count: int) -> Iterator[tuple[list[int], list[int]]]:
    """Yield offset and sizes of each of `count` slices along `axis`; the first ones may be longer by one."""
    shortest, longer = divmod(sizes[axis], count)
    offset = [0] * len(sizes)
    for at in range(count):
        part = list(sizes)
        part[axis] = shortest + (at < longer)
        yield list(offset), part
        offset[axis] += part[axis]
