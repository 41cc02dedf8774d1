"""Files from the network, kept in a folder of their own and checked."""

from __future__ import annotations

import hashlib
import tarfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from staticgraph.compiler.graph.boundary import CAUGHT
from staticgraph.compiler.graph.checks.arguments import path_of
from staticgraph.compiler.graph.errors import InvalidFileError, misuse, told
from staticgraph.runtime.disk.atomic import write_file

_CHUNK = 1 << 20
_GROWTH = 64  # times the size of an archive: texts and pictures are not compressed better
_ALWAYS = 1 << 26  # bytes that any archive may hold
# RuntimeError: an encrypted member; OSError: bytes that are not gzip's.
_UNREADABLE: tuple[type[Exception], ...] = (
    *CAUGHT, tarfile.TarError, zipfile.BadZipFile, zlib.error, RuntimeError, EOFError, OSError,
)  # fmt: skip


def get_file(
    fname: str,
    origin: str,
    untar: bool = False,
    md5_hash: str | None = None,
    file_hash: str | None = None,
    cache_subdir: str = "datasets",
    hash_algorithm: str = "auto",
    extract: bool = False,
    archive_format: Any = "auto",
    cache_dir: Any = None,
) -> str:
    """The path of a file that is downloaded from `origin` when it is not there yet, to ~/.keras/datasets.

    A file whose checksum (`file_hash`: SHA-256, or MD5 with 32 digits) is another one is downloaded again,
    and refused if it still differs. `extract` or `untar` unpack archives; members that would lie outside of
    the folder are refused.
    """
    folder = Path(cache_dir or Path.home() / ".keras") / cache_subdir
    wanted = file_hash or md5_hash
    name = path_of(fname, "fname")
    path = folder / (f"{name}.tar.gz" if untar else name)
    if not path.is_file() or (wanted and _digest(path, wanted, hash_algorithm) != wanted):
        folder.mkdir(parents=True, exist_ok=True)
        _download(origin, path)
        if wanted and _digest(path, wanted, hash_algorithm) != wanted:
            path.unlink()
            text = f"the file from {origin} does not have the checksum {wanted}"
            raise misuse(ValueError, text, "it was changed, or the download was cut short")
    if untar:
        if not (folder / name).exists():
            _extract(path, folder)
        return str(folder / name)
    if extract:
        _extract(path, folder)
    return str(path)


def _digest(path: Path, wanted: str, algorithm: str) -> str:
    name = {"auto": "md5" if len(wanted) == 32 else "sha256"}.get(algorithm, algorithm)
    total = hashlib.new(name)
    with open(path, "rb") as file:
        while block := file.read(_CHUNK):
            total.update(block)
    return total.hexdigest()


def _download(origin: str, path: Path) -> None:
    import urllib.error  # a program that asks no server does not wait for them
    import urllib.request

    if not origin.startswith(("https://", "http://", "ftp://", "file://")):
        raise misuse(ValueError, f"get_file(): {origin!r} is not the address of a file")
    print(f"Downloading data from {origin}")
    try:
        with urllib.request.urlopen(origin) as answer:
            write_file(path, _blocks(answer))
    except urllib.error.URLError as error:
        text = f"cannot download {origin}: {error.reason}"
        hint = f"without a network, put the file at {path}"
        raise misuse(OSError, text, hint) from None


def _blocks(answer: Any) -> Iterator[bytes]:
    while block := answer.read(_CHUNK):
        yield block


def _extract(path: Path, folder: Path) -> None:
    """Unpack an archive into a folder, and nowhere else. What is no archive stays as it is.

    Raises:
        InvalidFileError: The archive is damaged.
        ValueError: It has links, claims to be far larger than it is, or has members outside of the folder.
    """
    try:
        if tarfile.is_tarfile(path):
            with tarfile.open(path) as tar:
                # One after the other: to find the next one, a member is decompressed.
                _check_members(path, folder, ((m.name, m.size, m.isfile() or m.isdir()) for m in tar))
                tar.extractall(folder, filter="data")
        elif zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                _check_members(path, folder, ((m.filename, m.file_size, True) for m in archive.infolist()))
                archive.extractall(folder)
    except _UNREADABLE as error:
        if told(error) or getattr(error, "errno", None) is not None:  # a number is the system's
            raise
        text = f"{path} is not an archive that can be unpacked: {error}"
        raise misuse(InvalidFileError, text, "remove it, and let it be downloaded again") from None


def _check_members(archive: Path, folder: Path, members: Iterable[tuple[str, int, bool]]) -> None:
    """Check the names, the sizes and the kinds of the members of an archive."""
    room = _GROWTH * archive.stat().st_size + _ALWAYS
    for name, size, is_plain in members:
        if not is_plain:
            raise misuse(ValueError, f"{archive}: {name} is a link or a device, which is not unpacked")
        if not (folder / name).resolve().is_relative_to(folder.resolve()):
            raise misuse(ValueError, f"{archive}: {name} would be unpacked outside of {folder}")
        room -= size
        if room < 0:
            text = f"{archive} claims more than {_GROWTH} times its size, as an archive that fills disks does"
            raise misuse(ValueError, text, "unpack it by hand if you trust it")
