"""The system's driver for NVIDIA GPUs, where there is one."""

from __future__ import annotations

import ctypes
from functools import cache

NAMES = ("libcuda.so.1", "nvcuda.dll")


@cache
def libcuda() -> ctypes.CDLL | None:
    """The library of the driver; None if there is none."""
    for name in NAMES:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    return None
