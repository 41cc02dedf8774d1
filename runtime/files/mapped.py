"""Files that are read where they lie: mapped into memory, and told of in one error where they are damaged."""

from __future__ import annotations

import mmap
import os
import stat
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import TypeVar

from staticgraph.compiler.graph.checks.arguments import path_of
from staticgraph.compiler.graph.errors import DataLossError, InvalidFileError, NotFoundError, misuse

_Made = TypeVar("_Made")


def read_mapped(
    path: str | os.PathLike[str], kind: str, make: Callable[[memoryview], _Made], writable: bool = False
) -> _Made:
    """Map a file, call `make` with its bytes, and return the result.

    Args:
        path: The file.
        kind: The kind of file expected, for messages.
        make: Builds the result from the bytes.
        writable: If True, the bytes can be changed. Changes never reach the file. This process gets its
            own copy of each page that it changes, and shares all other pages with those who map the file.

    Raises:
        NotFoundError: The file does not exist.
        InvalidFileError: The file is invalid, as found by `make` or before. The message names it and `kind`.
    """
    try:
        return make(_mapped(Path(path_of(path, "path")), mmap.ACCESS_COPY if writable else mmap.ACCESS_READ))
    except InvalidFileError as error:
        what = str(error)
    # Outside of the `except` block, so that the new error does not keep the old one's frames and their views.
    hint = "copy it again from where it came, or save it again"
    raise misuse(InvalidFileError, f"{path} is not a usable {kind} file: {what}", hint)


def _mapped(path: Path, access: int) -> memoryview:
    """The file, in memory as far as it is looked at."""
    try:
        status = os.stat(path)
        with open(path, "rb") if stat.S_ISREG(status.st_mode) else nullcontext() as file:
            if file is not None and status.st_size:
                return memoryview(mmap.mmap(file.fileno(), 0, access=access))
    except FileNotFoundError:
        raise misuse(NotFoundError, f"there is no file {path}", _neighbours(path)) from None
    except (OSError, ValueError) as error:
        raise InvalidFileError(f"it cannot be read: {getattr(error, 'strerror', None) or error}") from None
    raise InvalidFileError("it is a folder or a device" if file is None else "it is empty")


def cut_short(view: memoryview) -> Callable[[], DataLossError | None]:
    """Return a function that returns an error if a mapped file has become shorter than it was.

    Whoever reads what is gone is ended by the system.
    """
    found = view.obj

    def look() -> DataLossError | None:
        if isinstance(found, mmap.mmap) and found.size() < len(found):
            sizes = f"from {len(found):,} to {found.size():,} bytes"
            text = f"the file that the weights lie in was cut short, {sizes}"
            hint = "copy the file again from where it came, and load it again"
            return misuse(DataLossError, text, hint)
        return None

    return look


def _neighbours(path: Path) -> str | None:
    """List some files of the same kind in the folder, or say that there is no such folder; else None."""
    if not path.parent.is_dir():
        return f"the folder {path.parent} does not exist either"
    found = sorted(p.name for p in path.parent.glob(f"*{path.suffix}"))[:5] if path.suffix else []
    return f"{path.parent} has {', '.join(found)}" if found else None
