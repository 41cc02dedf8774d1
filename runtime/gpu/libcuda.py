"""The system's driver for NVIDIA GPUs. Every session asks for it, most in vain: this file imports nothing."""

from __future__ import annotations

import ctypes
import os
from functools import cache

_NAME = "nvcuda.dll" if os.name == "nt" else "libcuda.so.1"


@cache
def libcuda() -> ctypes.CDLL | None:
    """Return the library of the driver, or None if there is none."""
    try:
        return ctypes.CDLL(_NAME)
    except OSError:
        return None
