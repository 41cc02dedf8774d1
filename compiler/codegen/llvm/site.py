"""A place in a function that computes on values of one
dtype: constants and instructions with their types filled in.
"""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import Any

import numpy as np

from staticgraph.compiler.codegen.llvm.text import Emitter, register_type, splat, suffix, vector
from staticgraph.compiler.graph.dtypes import DType, bfloat16, float16
from staticgraph.compiler.support.dataclass import dataclass

_FLAGGED = frozenset({"fadd", "fsub", "fmul", "fdiv"})


def constant(value: Any, dtype: DType) -> str:
    """A number as LLVM spells it."""
    if dtype.is_bool:
        return "true" if value else "false"
    if dtype.is_integer:
        bits = 8 * dtype.size
        wrapped = int(value) % (1 << bits)
        return str(wrapped - (1 << bits) if dtype.kind == "int" and wrapped >> (bits - 1) else wrapped)
    return _floating(struct.pack("d", value), dtype)


@lru_cache(4096)
def _floating(double: bytes, dtype: DType) -> str:
    """The number with these bytes, rounded: by its bytes, since 0.0 and -0.0 are equal."""
    (value,) = struct.unpack("d", double)
    with np.errstate(over="ignore"):
        exact = float(dtype.round(value))
    return f"0x{struct.unpack('Q', struct.pack('d', exact))[0]:016X}"


@dataclass(slots=True)
class Site:
    """A place in a function that computes on values of one dtype, in some lanes."""

    emitter: Emitter
    dtype: DType  # of the operands
    lanes: int

    @property
    def type(self) -> str:
        """The LLVM type of the operands."""
        return register_type(self.dtype, self.lanes)

    @property
    def mask_type(self) -> str:
        return vector("i1", self.lanes)

    @property
    def is_half(self) -> bool:
        return self.dtype is float16 or self.dtype is bfloat16

    def of(self, dtype: DType) -> Site:
        """The same place, for values of another dtype."""
        return Site(self.emitter, dtype, self.lanes)

    def const(self, value: Any) -> str:
        """A constant operand."""
        return splat(register_type(self.dtype), constant(value, self.dtype), self.lanes)

    def value(self, text: str) -> str:
        return self.emitter.value(text)

    def op(self, instruction: str, a: str, b: str) -> str:
        """`fadd contract <16 x float> a, b`."""
        flags = self.emitter.flags if instruction in _FLAGGED else ""
        return self.emitter.value(f"{instruction} {flags}{self.type} {a}, {b}")

    def compare(self, predicate: str, a: str, b: str) -> str:
        kind = "fcmp" if self.dtype.is_floating else "icmp"
        return self.emitter.value(f"{kind} {predicate} {self.type} {a}, {b}")

    def select(self, condition: str, a: str, b: str) -> str:
        kind = self.type
        return self.emitter.value(f"select {self.mask_type} {condition}, {kind} {a}, {kind} {b}")

    def intrinsic(self, name: str, *operands: str) -> str:
        """An intrinsic whose operands and result are all of the type."""
        full = f"llvm.{name}.{suffix(register_type(self.dtype), self.lanes)}"
        return self.emitter.call(self.type, full, *[(self.type, x) for x in operands])
