"""A plugin of pytest: native support code comes from the library that sanitizers.py made."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from typing import Any

from staticgraph.compiler.codegen.llvm.text import Code
from staticgraph.runtime.cpu import jit, pool
from staticgraph.runtime.cpu.fast_path import dispatch
from tests.codegen.sanitizers import LIBRARY

_LIBRARY = ctypes.CDLL(os.environ[LIBRARY])
_compiled = jit.load


def _load(codes: Sequence[Code], **options: Any) -> jit.Library:
    if not all(hasattr(_LIBRARY, code.name) for code in codes):
        return _compiled(codes, **options)
    addresses = {c.name: ctypes.cast(getattr(_LIBRARY, c.name), ctypes.c_void_p).value for c in codes}
    return jit.Library({name: address or 0 for name, address in addresses.items()}, ())


jit.load = pool.load = dispatch.load = _load
