"""The system's driver for NVIDIA GPUs.

Each session on a machine asks for it, most of them in vain: it lies outside of `gpu/`, which they need not import.
"""

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
