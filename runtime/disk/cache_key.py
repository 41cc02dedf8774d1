"""The user's secret key, by which the cache tells its own entries from everybody else's.

It lies in the folder of the cache, in a file that only the user may read. The first of several processes
makes it: the file gets its name when it is whole, and only if no other process was faster.
"""

from __future__ import annotations

import os
import secrets

from staticgraph.runtime.disk import temporary
from staticgraph.runtime.disk.private_folder import PrivateFolder, Untrusted, is_secret

NAME = ".staticgraph-key"
_SIZE = 32  # bytes
_known: dict[tuple[int, int], bytes] = {}  # by folder


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
    key = _known.get(folder.identity)
    if key is None:
        key = _read(folder)
        if key is None and make:
            _make(folder)
            key = _read(folder)
        if key is not None:
            _known[folder.identity] = key
    return key


def _read(folder: PrivateFolder) -> bytes | None:
    try:
        descriptor, about = folder.open(NAME)
    except FileNotFoundError:
        return None
    try:
        if not is_secret(about) or about.st_size != _SIZE:
            raise Untrusted(f"{NAME} in it is not a key that only you can read")
        return os.read(descriptor, _SIZE)
    finally:
        os.close(descriptor)


def _make(folder: PrivateFolder) -> None:
    """Make a key, unless another process is faster."""
    part, descriptor = temporary.begin(folder.name(NAME), 0o600, folder.descriptor)
    at = folder.descriptor
    try:
        try:
            temporary.write(descriptor, secrets.token_bytes(_SIZE))
            os.fsync(descriptor)  # after a power cut there is no empty key
            if at is not None:  # while it is locked: nobody may take it for abandoned
                os.link(part, NAME, src_dir_fd=at, dst_dir_fd=at, follow_symlinks=False)
        finally:
            os.close(descriptor)
        if at is None:
            os.rename(part, folder.name(NAME))  # Windows never replaces a file by this
    except FileExistsError:
        pass
    finally:
        temporary.remove(part, at)
