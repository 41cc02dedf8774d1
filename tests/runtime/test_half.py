"""Conversions of float16 that processors without instructions for them use: NumPy's, bit by bit."""

import ctypes

import numpy as np
import pytest

from staticgraph.compiler.codegen.llvm.text import Code
from staticgraph.runtime.cpu import half
from staticgraph.runtime.cpu import jit as cpu_jit

TYPES = {np.float16: "half", np.float32: "float", np.float64: "double"}


def converted(symbol: str, values: np.ndarray, to: type) -> np.ndarray:
    """`values` given to the function one by one."""
    source, target = TYPES[values.dtype.type], TYPES[to]
    name = f"use_{symbol}"
    text = f"""
define void @{name}(ptr %from, ptr %to) nounwind {{
  %x = load {source}, ptr %from
  %y = call {target} @{symbol}({source} %x)
  store {target} %y, ptr %to
  ret void
}}
"""
    library = cpu_jit.load([Code(name, text, (*half.CODE.needs, half.CODE.text))], verify=True)
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(library[name])
    out = np.empty(len(values), to)
    for i in range(len(values)):
        call(values.ctypes.data + i * values.itemsize, out.ctypes.data + i * out.itemsize)
    return out


def everything() -> np.ndarray:
    return np.arange(1 << 16, dtype=np.uint16).view(np.float16)


def same(a: np.ndarray, b: np.ndarray) -> None:
    assert a.dtype == b.dtype
    np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(np.signbit(a), np.signbit(b))


def test_every_number_is_extended():
    numbers = everything()
    same(converted("__extendhfsf2", numbers, np.float32), numbers.astype(np.float32))


@pytest.mark.takes_long
@pytest.mark.parametrize(("symbol", "wide"), [("__truncsfhf2", np.float32), ("__truncdfhf2", np.float64)])
def test_what_is_between_two_numbers_is_rounded(symbol: str, wide: type):
    exact = np.sort(everything()[:0x7C01].astype(wide))
    halfway = (exact[:-2] + exact[1:-1]) / 2
    near = [np.nextafter(halfway, wide(0)), halfway, np.nextafter(halfway, wide(np.inf))]
    numbers = np.concatenate([*near, exact, [65519, 65520, 65535, 1e30, np.nan, np.finfo(wide).tiny]])
    numbers = np.concatenate([numbers, -numbers]).astype(wide)
    with np.errstate(over="ignore", under="ignore"):
        same(converted(symbol, numbers, np.float16), numbers.astype(np.float16))
