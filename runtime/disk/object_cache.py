"""Object code on disk, so that a program compiles once and not in every process.

Entries are executed. So the folder must be the user's alone (`private_folder`), and each entry is
authenticated with the user's key: one that was changed, moved, cut short or brought from
elsewhere is a miss. A folder that is not private is not used, and a warning says so once.

An entry is a file named by a hash of everything that decides its content:

    mark (16 bytes)   code (32 bytes, BLAKE2b of name and data under the key)   data

It is written to a temporary name and renamed, so readers never see half of one. A folder that cannot be
written is not an error: the cache only saves time. It is bounded: now and then a process that writes removes
what has not been used for the longest time, of the files that the cache has made.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import secrets
import sys
import time
import warnings
from collections.abc import Callable
from hmac import compare_digest
from pathlib import Path

from staticgraph.compiler.graph.errors import layout
from staticgraph.runtime.disk import write_behind
from staticgraph.runtime.disk.atomic import (
    LOCKS,
    begin_temporary,
    remove_abandoned,
    remove_temporary,
    write_all,
)
from staticgraph.runtime.disk.private_folder import PrivateFolder, Untrusted, is_secret, private_folder
from staticgraph.runtime.switches import cache_folder

KEY_FILE = ".staticgraph-key"
_KEY_SIZE = 32  # bytes
_keys: dict[tuple[int, int], bytes] = {}  # by folder


def key_of(folder: PrivateFolder, make: bool = False) -> bytes | None:
    """Return the key of a folder.

    Args:
        folder: The folder of the cache.
        make: Make a key if there is none.

    Returns:
        32 bytes; None if there is no key and none is to be made.

    Raises:
        OSError: The key cannot be made.
        Untrusted: Somebody else may know the key, or have put it there.
    """
    key = _keys.get(folder.identity)
    if key is None:
        key = _read_key(folder)
        if key is None and make:
            _make_key(folder)
            key = _read_key(folder)
        if key is not None:
            _keys[folder.identity] = key
    return key


def _read_key(folder: PrivateFolder) -> bytes | None:
    try:
        descriptor, about = folder.open(KEY_FILE)
    except FileNotFoundError:
        return None
    try:
        if not is_secret(about) or about.st_size != _KEY_SIZE:
            raise Untrusted(f"{KEY_FILE} in it is not a key that only you can read")
        return os.read(descriptor, _KEY_SIZE)
    finally:
        os.close(descriptor)


def _make_key(folder: PrivateFolder) -> None:
    """Make a key, unless another process is faster."""
    part, descriptor = begin_temporary(folder.name(KEY_FILE), 0o600, folder.descriptor)
    at = folder.descriptor
    try:
        try:
            write_all(descriptor, secrets.token_bytes(_KEY_SIZE))
            os.fsync(descriptor)  # after a power cut there is no empty key
            if at is not None:  # while it is locked: nobody may take it for abandoned
                os.link(part, KEY_FILE, src_dir_fd=at, dst_dir_fd=at, follow_symlinks=False)
        finally:
            os.close(descriptor)
        if at is None:
            os.rename(part, folder.name(KEY_FILE))  # Windows never replaces a file by this
    except FileExistsError:
        pass
    finally:
        remove_temporary(part, at)


LIMIT = 256 << 20  # bytes in the folder
_MARK = bytes.fromhex("7367636163686532d0a4f1537c1be689")  # begins each entry, and nothing else
_CODE = 32  # bytes of the authentication code
_LOOK_EVERY = 16 << 20  # bytes written by this process between two looks at the size of the folder
_DAY = 86_400.0  # seconds: how exactly the time of the last use is kept
_ENTRY = re.compile(r"(?:[0-9a-z]{1,8}-)?[0-9a-f]{32,40}\.entry")
_EARLIER = re.compile(r"(?:[0-9a-z]{1,8}-)?[0-9a-f]{32,40}")  # entries of versions without a key
_EARLIER_DIGEST = 16
# Bytes that may be written until then. Any number at first: processes that write little share the looks.
_to_look = int.from_bytes(os.urandom(4)) % _LOOK_EVERY
_refused: set[Path] = set()  # folders that the user was told of
_swept: set[tuple[int, int]] = set()  # folders that this process has looked for abandoned files in


def file_name(key: str) -> str:
    """Return the name of the file with the object stored under `key`."""
    return f"{key}.entry"


def read(key: str) -> bytes | None:
    """The object stored under `key`, or None."""
    where = cache_folder()
    if where is None:
        return None
    found = write_behind.waiting(where, key)
    if found is not None:
        return found
    try:
        with private_folder(where) as place:
            return _read(place, key)
    except OSError:
        return None
    except Untrusted as reason:
        _refuse(where, reason)
        return None


def write(key: str, data: bytes) -> None:
    """Store an object under `key`, if possible."""
    where = cache_folder()
    if where is not None and _is_made(where):
        _write_to(where, key, data)


def write_later(key: str, data: Callable[[], bytes]) -> None:
    """Store an object under `key`, if possible, when what is going on has come to a rest.

    A folder that is removed before that is not made again.
    """
    where = cache_folder()
    if where is not None and (write_behind.waits_for(where) or _is_made(where)):
        write_behind.add(where, key, data, _write_to)


def _is_made(where: Path) -> bool:
    """Make a folder if there is none, and return if it can be used."""
    try:
        with private_folder(where, make=True):
            return True
    except OSError:
        pass
    except Untrusted as reason:
        _refuse(where, reason)
    return False


def _write_to(where: Path, key: str, data: bytes) -> None:
    """Store an object in a folder that is there."""
    try:
        with private_folder(where) as place:
            _write(place, key, data)
            _look(place, len(data))
    except OSError:
        pass
    except Untrusted as reason:
        _refuse(where, reason)


def entries(where: Path) -> list[int]:
    """Return the size of each entry in the folder at `where`.

    Raises:
        OSError: There is no such folder.
        Untrusted: The folder is not used, since it is not the user's alone.
    """
    with private_folder(where) as place:
        key_of(place)
        return [about.st_size for name, about in _files(place) if _ENTRY.fullmatch(name)]


def prune(where: Path, limit: int) -> None:
    """Remove entries, those that were used last the longest time ago, until three quarters of `limit` bytes
    are left; nothing if there are fewer than `limit`. Files that the cache has not made are left alone.
    """
    with private_folder(where) as place:
        _prune(place, limit)


def _read(place: PrivateFolder, key: str) -> bytes | None:
    secret = key_of(place)
    if secret is None:
        return None
    name = file_name(key)
    try:
        descriptor, about = place.open(name)
    except Untrusted:  # a link or a pipe in the place of an entry: writing one replaces it
        return None
    with open(descriptor, "rb", buffering=0) as file:
        entry = file.read() if about.st_size <= LIMIT else b""
        data = memoryview(entry)[len(_MARK) + _CODE :]
        code = entry[len(_MARK) : len(_MARK) + _CODE]
        if not data or not compare_digest(code, _code(secret, key, data)):
            return None
        if about.st_mtime < time.time() - _DAY:
            with contextlib.suppress(OSError):
                os.utime(descriptor if os.utime in os.supports_fd else place.name(name))
    return bytes(data)


def _write(place: PrivateFolder, key: str, data: bytes) -> None:
    secret = key_of(place, make=True)
    assert secret is not None
    if place.identity not in _swept:
        _swept.add(place.identity)
        remove_abandoned(str(place.path) if place.descriptor is None else place.descriptor)
    name = place.name(file_name(key))
    part, descriptor = begin_temporary(name, 0o600, place.descriptor)
    try:
        try:
            write_all(descriptor, _MARK + _code(secret, key, data))
            write_all(descriptor, data)
            if LOCKS:
                os.replace(part, name, src_dir_fd=place.descriptor, dst_dir_fd=place.descriptor)
        finally:
            os.close(descriptor)
        if not LOCKS:
            os.replace(part, name)
    except BaseException:
        remove_temporary(part, place.descriptor)
        raise


def _look(place: PrivateFolder, written: int) -> None:
    """See to it that the folder stays within the limit, from time to time."""
    global _to_look
    _to_look -= written
    if _to_look < 0:
        _to_look = _LOOK_EVERY
        _prune(place, LIMIT)


def _prune(place: PrivateFolder, limit: int) -> None:
    found = [
        (about.st_mtime, about.st_size, name)
        for name, about in _files(place)
        if _ENTRY.fullmatch(name) or _EARLIER.fullmatch(name)
    ]
    size = sum(size for _, size, _ in found)
    if size <= limit:
        return
    for _, length, name in sorted(found):
        if size <= limit * 3 // 4:
            break
        if _is_ours(place, name):
            remove_temporary(place.name(name), place.descriptor)
            size -= length


def _files(place: PrivateFolder) -> list[tuple[str, os.stat_result]]:
    found = []
    with os.scandir(place.path if place.descriptor is None else place.descriptor) as all_files:
        for entry in all_files:
            with contextlib.suppress(OSError):  # another process may have removed it
                if entry.is_file(follow_symlinks=False):
                    found.append((entry.name, entry.stat(follow_symlinks=False)))
    return found


def _is_ours(place: PrivateFolder, name: str) -> bool:
    """Return if the cache has made a file, now or in a version without a key."""
    try:
        descriptor, _ = place.open(name)
    except (OSError, Untrusted):
        return False
    with open(descriptor, "rb", buffering=0) as file:
        if _ENTRY.fullmatch(name):
            return file.read(len(_MARK)) == _MARK
        entry = file.read()
        checked = hashlib.blake2b(f"{name}\n".encode() + entry[_EARLIER_DIGEST:], digest_size=_EARLIER_DIGEST)
        return checked.digest() == entry[:_EARLIER_DIGEST]


def _code(secret: bytes, key: str, data: bytes | memoryview) -> bytes:
    """The authentication code of an entry under its own name: one that was moved to another is refused."""
    code = hashlib.blake2b(f"{key}\n".encode(), digest_size=_CODE, key=secret)
    code.update(data)
    return code.digest()


def _refuse(where: Path, reason: Untrusted) -> None:
    """Tell the user once that a folder is not used."""
    if where not in _refused:
        _refused.add(where)
        text = layout(f"the cache of compiled code in {where} is not used: {reason}", hint=reason.hint)
        try:
            warnings.warn(text, RuntimeWarning, stacklevel=3)
        except RuntimeWarning:  # where warnings are errors: a run does not fail because it has no cache
            print(text, file=sys.stderr)
