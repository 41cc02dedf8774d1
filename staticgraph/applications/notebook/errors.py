"""Errors in a notebook: the cell and its line are named as the notebook names them, without our frames."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from staticgraph.building.tracebacks import shorten, told
from staticgraph.compiler.graph.provenance import NAMES_OF_FILES


def install(shell: Any) -> None:
    """Name cells in messages, and cut the frames of errors that `shell` shows.

    A shell that already has its own handling of exceptions keeps it.
    """

    def cell(file: str) -> str | None:
        """`Cell In[3]` for the file name that IPython gives to a cell."""
        found = shell.compile.format_code_name(file)
        return " ".join(found) if found is not None and found[1].startswith("In[") else None

    def show(
        shell: Any,
        kind: type[BaseException],
        error: BaseException,
        frames: TracebackType | None,
        tb_offset: int | None = None,
    ) -> None:
        if told(error):
            shorten(error)
        shell.showtraceback((kind, error, error.__traceback__), tb_offset=tb_offset)

    NAMES_OF_FILES.append(cell)
    if not shell.custom_exceptions:
        shell.set_custom_exc((Exception,), show)
