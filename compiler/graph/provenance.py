"""The line of the user's program that made a node.

Taking a `Provenance` costs under a microsecond, since it keeps only the code object and the instruction; the
file is read when a message is printed.
"""

from __future__ import annotations

import itertools
import linecache
import os
import sys
from collections.abc import Callable
from types import CodeType
from typing import TypeVar

import numpy

from staticgraph.compiler.support.dataclass import dataclass, replace

T = TypeVar("T")
_PARENT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
# Installed, this package lies inside staticgraph/; in a checkout the three packages are neighbours.
_FOLDERS = ("",) if os.path.basename(_PARENT) == "staticgraph" else ("compiler", "runtime", "staticgraph")
_CALLERS = ("contextlib.py", "threading.py", os.path.join("concurrent", ""))
# What an import goes through, what starts a program, what calls a function for a thread or a `with`, or NumPy
# (which asks for arrays), is not the user's either.
_OURS = (
    "<frozen importlib",
    "<frozen runpy>",
    *(os.path.join(_PARENT, name, "") for name in _FOLDERS),
    *(os.path.join(os.path.dirname(os.__file__), name) for name in _CALLERS),
    *(os.path.join(folder, "") for folder in numpy.__path__),
)
_is_ours: dict[CodeType, bool] = {}
# What a notebook calls the code of a cell, such as `Cell In[3]`; None for a file. Empty in a script.
NAMES_OF_FILES: list[Callable[[str], str | None]] = []


@dataclass(frozen=True, slots=True)
class Provenance:
    """A place in a user's program."""

    file: str
    function: str
    code: CodeType | None = None
    instruction: int = 0
    # Used if there is no code object: for nodes of a loaded file, or of what is no Python.
    line_number: int = 0
    source: str = ""
    columns: tuple[int, int] = (0, 0)

    @property
    def position(self) -> tuple[int, int, int, int]:
        """Line, last line, first column, end column, from 1, 1, 0, 0."""
        if self.code is None:
            return self.line_number, self.line_number, *self.columns
        found = next(itertools.islice(self.code.co_positions(), self.instruction // 2, None))
        line, end, column, end_column = (0 if n is None else n for n in found)
        return line, end, column, end_column

    @property
    def line(self) -> int:
        return self.position[0]

    @property
    def text(self) -> str:
        """The source line, stripped; empty where the file is not at hand."""
        return self._source.strip()

    @property
    def _source(self) -> str:
        """The source line. A loaded file names a source,
        which must not make us read one of that name here.
        """
        return self.source if self.code is None else linecache.getline(self.file, self.line)

    @property
    def short(self) -> str:
        """`file.py:12`, or `Cell In[3], line 2`."""
        cell = self._cell
        return f"{os.path.basename(self.file)}:{self.line}" if cell is None else f"{cell}, line {self.line}"

    @property
    def _cell(self) -> str | None:
        names = (name_of(self.file) for name_of in NAMES_OF_FILES)
        return next((name for name in names if name is not None), None)

    def __str__(self) -> str:
        line, end, column, end_column = self.position
        out = f"  {self.short}"
        if self._cell is None or self.function != "<module>":
            out += f", in {self.function}"
        text = self._source.rstrip("\n")
        if text.strip():
            out += f"\n    {line} | {text}"
            if line == end and end_column > column:
                # Columns count bytes of UTF-8; the caret line counts characters.
                lead = len(text.encode()[:column].decode(errors="ignore"))
                width = len(text.encode()[column:end_column].decode(errors="ignore"))
                out += f"\n    {' ' * len(str(line))}   {' ' * lead}{'^' * width}"
        return out


def of_derivative(where: Provenance | None) -> Provenance | None:
    """Return the place of an operation for its derivative: another object, which drawings tell it by."""
    return None if where is None else replace(where)


def made_for(where: Provenance | None, make: Callable[[], T]) -> T:
    """Return the result of `make`, with `where` as the user's line.

    The line takes the place of the line that is being carried out: one of a description, or that of an
    operation of which `make` makes the derivative.
    """
    return make()


_MADE_FOR = made_for.__code__


def is_ours(code: CodeType) -> bool:
    """Return True if code belongs to this project, or to a layer between a user's program and the project."""
    ours = _is_ours.get(code)
    if ours is None:
        ours = _is_ours[code] = code.co_filename.startswith(_OURS)
    return ours


def user_frame() -> Provenance | None:
    """The innermost frame outside of this project's own files."""
    frame, known = sys._getframe(1), _is_ours.get
    while frame is not None:
        code = frame.f_code
        if code is _MADE_FOR:
            found: Provenance | None = frame.f_locals["where"]
            return of_derivative(found)
        ours = known(code)
        if ours is None:
            ours = _is_ours[code] = code.co_filename.startswith(_OURS)
        if not ours:
            return Provenance(code.co_filename, code.co_name, code, frame.f_lasti)
        frame = frame.f_back  # type: ignore[assignment]
    return None


def line_of_thread(number: int) -> str:
    """Return the file and the line of the user's program that a thread is at; empty if it is at none."""
    frame = sys._current_frames().get(number)
    while frame is not None and is_ours(frame.f_code):
        frame = frame.f_back
    return "" if frame is None else f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"
