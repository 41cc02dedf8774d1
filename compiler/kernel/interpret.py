"""The meaning of a kernel: run it one scalar at a time with NumPy. Slow, and obviously right.

Every operation is the NumPy function of its primitive, on NumPy scalars, rounded to the dtype of its result.
A `Reduce` that `place` has not yet turned into a loop is run as the loop that it stands for.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import DType, bfloat16
from staticgraph.compiler.graph.sizes import evaluate
from staticgraph.compiler.kernel.expr import (
    Const,
    Expr,
    Extent,
    Index,
    Load,
    Local,
    Lookup,
    Reduce,
    Scalar,
    ScalarParameter,
    identity,
)
from staticgraph.compiler.kernel.primitives.functions import PRIMITIVES
from staticgraph.compiler.kernel.stmt import (
    If,
    Kernel,
    Let,
    Loop,
    LoopKind,
    Share,
    Span,
    Stmt,
    Store,
    Update,
    While,
)

Env = dict[Expr, Any]
NO_SIZES: Mapping[str, int] = MappingProxyType({})


def interpret(
    kernel: Kernel,
    arrays: dict[str, np.ndarray],
    backwards: bool = False,
    sizes: Mapping[str, int] = NO_SIZES,
) -> None:
    """Run `kernel` on C-contiguous `arrays`, one for each argument and shared buffer by name; the written
    ones change.

    Local buffers begin with values that no result should show. An array may have any shape with as many
    elements as the buffer. `backwards` runs the loops that may run in any order, SIMD and PARALLEL ones, from
    the last iteration to the first. `sizes`: the values of the symbols in open sizes.

    >>> from staticgraph.compiler.graph.dtypes import float32
    >>> from staticgraph.compiler.kernel.stmt import Buffer
    >>> i = Index("i", 3)
    >>> double = Store("y", (i,), Load("x", (i,), float32) * 2.0)
    >>> buffers = {"x": Buffer(float32, (3,)), "y": Buffer(float32, (3,), written=True)}
    >>> y = np.zeros(3, np.float32)
    >>> kernel = Kernel("double", buffers, (Loop(i, (double,)),))
    >>> interpret(kernel, {"x": np.arange(3, dtype=np.float32), "y": y})
    >>> y
    array([0., 2., 4.], dtype=float32)
    """
    views = {}
    for name, buffer in (kernel.arguments | kernel.shared).items():
        if not arrays[name].flags.c_contiguous:
            raise ValueError(f"the array of the buffer {name!r} is not contiguous")
        views[name] = arrays[name].reshape([evaluate(n, sizes) for n in buffer.shape])
    for name, buffer in kernel.locals.items():
        unknown = math.nan if buffer.dtype.is_floating else 77
        views[name] = np.full([evaluate(n, sizes) for n in buffer.shape], unknown).astype(buffer.dtype.numpy)
    with np.errstate(all="ignore"):
        _Run(views, backwards, sizes).block(kernel.body, {})


class _Run:
    def __init__(self, arrays: dict[str, np.ndarray], backwards: bool, sizes: Mapping[str, int]) -> None:
        self.arrays = arrays
        self.sizes = sizes
        self.backwards = backwards

    def block(self, body: tuple[Stmt, ...], env: Env) -> None:
        """Run `body`. Locals that it defines end with it; updates of others stay in `env`."""
        mine: list[Expr] = []
        for stmt in body:
            match stmt:
                case Loop(index, inside, kind, share):
                    extent = max(evaluate(index.extent, self.sizes), 0)
                    order = range(extent)
                    match share:
                        case Share(part, count):
                            known = replace(share, count=evaluate(count, self.sizes))
                            order = range(*known.bounds(int(self.value(part, env)), extent))
                        case Span(start, stop):
                            first, after = (int(self.value(e, env)) for e in (start, stop))
                            order = range(max(first, 0), min(after, extent))
                    for i in reversed(order) if self.backwards and kind is not LoopKind.SERIAL else order:
                        env[index] = np.int64(i)
                        self.block(inside, env)
                    env.pop(index, None)
                case Let(local, value):
                    env[local] = self.value(value, env)
                    mine.append(local)
                case Update(local, value):
                    env[local] = self.value(value, env)
                case Store(buffer, at, value):
                    result = self.value(value, env)
                    self.arrays[buffer][self.position(buffer, at, env)] = result
                case While(condition, inside):
                    while self.value(condition, env):
                        self.block(inside, env)
                case If(condition, inside):
                    if self.value(condition, env):
                        self.block(inside, env)
        for ended in mine:
            del env[ended]

    def position(self, buffer: str, at: tuple[Expr, ...], env: Env) -> tuple[int, ...]:
        found = tuple(int(self.value(a, env)) for a in at)
        if any(not 0 <= i < n for i, n in zip(found, self.arrays[buffer].shape, strict=True)):
            raise IndexError(f"{buffer}{list(found)} is outside its shape {list(self.arrays[buffer].shape)}")
        return found

    def value(self, expr: Expr, env: Env, seen: Env | None = None) -> Any:
        """The value of `expr` where its indices and locals have the values in `env`."""
        seen = {} if seen is None else seen
        if expr not in seen:
            seen[expr] = self.compute(expr, env, seen)
        return seen[expr]

    def compute(self, expr: Expr, env: Env, seen: Env) -> Any:
        match expr:
            case ScalarParameter(buffer):
                return self.arrays[buffer][()]
            case Const(value, dtype):
                return dtype.round(value)[()]
            case Index() | Local():
                return env[expr]
            case Extent(size):
                return np.int64(evaluate(size, self.sizes))
            case Load(buffer, at):
                return self.arrays[buffer][self.position(buffer, at, env)]
            case Reduce(axes, combine, value):
                total = self.value(identity(combine, value.dtype), env)
                ranges = [range(evaluate(a.extent, self.sizes)) for a in axes]
                for point in itertools.product(*ranges):
                    inside = env | dict(zip(axes, map(np.int64, point), strict=True))
                    total = apply(combine, (total, self.value(value, inside)), (), expr.dtype)
                return total
            case Lookup(table, index, dtype):
                return dtype.round(table[int(self.value(index, env, seen)) % len(table)])[()]
            case Scalar(op, args, dtype):
                return apply(
                    op, tuple(self.value(a, env, seen) for a in args), tuple(a.dtype for a in args), dtype
                )
        raise TypeError(f"not an expression: {expr!r}")


def apply(op: str, values: tuple[Any, ...], sources: tuple[DType, ...], dtype: DType) -> Any:
    """A scalar operation on NumPy scalars. `sources` are
    the dtypes of the operands, `dtype` that of the result.
    """
    if op == "bitcast":
        return _bitcast(values[0], sources[0], dtype)
    result = values[0] if op == "cast" else PRIMITIVES[op].numpy(*values)
    return dtype.round(result)[()]


def _bitcast(value: Any, source: DType, dtype: DType) -> Any:
    """The bits of `value` as another dtype. A bfloat16 is carried as a float32 whose lower half is zero."""
    if source is bfloat16:
        value = (np.float32(value).view(np.uint32) >> 16).astype(np.uint16)
    if dtype is bfloat16:
        return (np.uint32(np.asarray(value).view(np.uint16)) << np.uint32(16)).view(np.float32)
    return np.asarray(value).view(dtype.numpy)[()]
