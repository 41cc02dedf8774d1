"""Tensors whose bytes lie in files beside the model."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import IO

from staticgraph.formats.onnx.errors import OnnxError
from staticgraph.formats.onnx.proto import TensorProto


class Beside:
    """Reads parts of files in the folder of a model, and below it, and of no others."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.resolve()

    def __call__(self, tensor: TensorProto) -> bytes:
        """The bytes of a tensor. OnnxError if they are not where it says."""
        told = {entry.key: entry.value for entry in tensor.external_data}
        what = f"tensor {tensor.name!r}"
        path = self._path(told.get("location", ""), what)
        try:
            with open(path, "rb", opener=_open) as file:
                return _part(file, told, f"{what} in {path.name!r}")
        except OnnxError:
            raise
        except OSError as error:
            why = error.strerror or error
            raise OnnxError(f"{what} lies in {path.name!r}, which cannot be read: {why}") from None

    def _path(self, location: str, what: str) -> Path:
        """Return the path of a file that a model names.

        Raises:
            OnnxError: If the file is not in the folder of the model, or a part of the path is a link.
        """
        wanted = self._folder / location
        inside = (
            location and not Path(location).is_absolute() and "\\" not in location and "\0" not in location
        )
        if not inside or ".." in Path(location).parts or wanted.resolve() != wanted:
            raise OnnxError(f"{what} lies in {location!r}, which is not a file in the folder of the model")
        return wanted


def _open(path: str, flags: int) -> int:
    """Open a file, but no link, and without waiting for someone to write into it."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))


def _part(file: IO[bytes], told: dict[str, str], what: str) -> bytes:
    """The bytes that an offset and a length tell."""
    status = os.fstat(file.fileno())
    if not stat.S_ISREG(status.st_mode):
        raise OnnxError(f"{what}: that is no plain file")
    offset = _number(told.get("offset", "0"), what)
    length = _number(told["length"], what) if "length" in told else status.st_size - offset
    if not 0 <= length <= status.st_size - offset:
        raise OnnxError(f"{what} needs {length} bytes at {offset}, and the file has {status.st_size}")
    file.seek(offset)
    return file.read(length)


def _number(text: str, what: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise OnnxError(f"{what} has {text!r} where a number of bytes should be")
    return int(text)
