"""Random Functions over the registry: every op that has samples may follow every other.

`random_function(choose, steps)` makes one; `choose(n)` gives a number below n, from hypothesis (which then
shrinks the graph) or from a plain random generator. Values stay where ops are defined and well conditioned:
what an op takes is first limited to the range of its samples, and ops that jump (comparisons, rounding) get
values that were not rounded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.graph.builder import Builder
from staticgraph.compiler.graph.dtypes import ANY, DType, as_dtype, bool_, float32, float64, int32
from staticgraph.compiler.graph.errors import DtypeError
from staticgraph.compiler.graph.function import Function, Value, as_outputs, toposort
from staticgraph.compiler.graph.opdef import OPS, Effect, Kind, OpDef, Role, recording
from staticgraph.compiler.ops.samples import Draw, Range, Sample

Choose = Callable[[int], int]
DTYPES = (float32, float64, int32, bool_)
SIZES = (1, 2, 3, 5, 8, 17, 0)
JUMPS = frozenset(
    [
        "floor",
        "ceil",
        "rint",
        "round",
        "sign",
        "floor_div",
        "floormod",
        "truncatediv",
        "truncatemod",
        "nextafter",
        "bitcast",
        "betainc",
        "zeta",
    ]
)
LIMIT = 4.0  # no value that an op takes is larger
RESULTS = 6
# Bits as numbers may be NaN; vectors of equal eigenvalues or singular values are not the only ones, nor are
# the orthogonal columns that QR makes of columns that depend on each other. For a pseudo-inverse of a matrix
# with such columns the last bit decides whether a singular value is zero.
_OTHER_NUMBERS = ("bitcast", "pseudo_inverse", "qr", "self_adjoint_eig", "square_svd", "svd")
TESTED = [
    op
    for op in OPS.values()
    if op.samples is not None and op.effect is Effect.PURE and op.name not in _OTHER_NUMBERS
]


@dataclass
class Graph:
    """A Function that grows."""

    choose: Choose
    rng: np.random.Generator
    builder: Builder = field(default_factory=Builder)
    params: list[Value] = field(default_factory=list)
    arrays: list[np.ndarray] = field(default_factory=list)
    pool: list[Value] = field(default_factory=list)
    rounded: set[Value] = field(default_factory=set)  # values whose last digits may differ when compiled

    def pick(self, items: Sequence[Any]) -> Any:
        return items[self.choose(len(items))]

    def parameter(self, dtype: DType, array: np.ndarray) -> Value:
        param = self.builder.parameter(f"p{len(self.params)}", dtype, array.shape)
        self.params.append(param)
        self.arrays.append(dtype.round(array))
        return param

    def fresh(self, dtype: DType) -> Value:
        shape = tuple(self.pick(SIZES) for _ in range(self.choose(4)))
        value = self.parameter(dtype, Draw(shape, -3, 3).values(dtype, self.rng))
        self.pool.append(value)
        return value

    def some(self, dtype: DType, exact: bool = False) -> Value:
        """A value made before, or a new parameter."""
        known = [v for v in reversed(self.pool) if v.dtype is dtype and not (exact and v in self.rounded)]
        return self.pick(known[:6]) if known and self.choose(8) else self.fresh(dtype)

    def add(self, results: Any, exact: bool) -> None:
        for value in as_outputs(results):
            if value.size <= 4096:
                self.pool.append(value)
                if not exact and value.dtype.is_floating:
                    self.rounded.add(value)

    def step(self) -> None:
        """One more op."""
        op = self.pick(TESTED)
        letters = {
            v: sorted(op.dtypes.get(v, ANY) & set(DTYPES), key=DTYPES.index) for v in self._letters(op)
        }
        if not all(letters.values()):
            return
        chosen = {v: self.pick(dtypes) for v, dtypes in letters.items()}
        with recording(self.builder), suppress(DtypeError):  # some ops restrict how dtypes go together
            if op.kind is Kind.ELEMENTWISE and isinstance(op.samples, Range):
                self._elementwise(op, op.samples, chosen)
            else:
                self._sampled(op, chosen)

    def _letters(self, op: OpDef) -> list[str]:
        return [p.var for p in op.params if p.role in (Role.TENSOR, Role.TENSORS) and len(p.var) == 1]

    def _elementwise(self, op: OpDef, ranges: Range, dtypes: dict[str, DType]) -> None:
        """An op on values that broadcast, each limited to the range on which the op is tested."""
        params = [p for p in op.params if p.role is Role.TENSOR]
        kinds = [as_dtype(p.var) if len(p.var) > 1 else dtypes[p.var] for p in params]
        attrs = self.pick(ranges.attrs)
        exact = op.name in JUMPS or (
            any(d.is_floating for d in kinds) and not self._result_floats(op, kinds, attrs)
        )
        inputs: list[Value] = []
        for i, dtype in enumerate(kinds):
            value = self.some(dtype, exact)
            if inputs:
                value = self._fitted(value, inputs[0])
            inputs.append(self._limited(value, *ranges.bounds[min(i, len(ranges.bounds) - 1)]))
        moves = op.name in ("maximum", "minimum", "negative", "abs", "select", "relu")
        self.add(op(*inputs, **attrs), moves and not any(v in self.rounded for v in inputs))

    def _result_floats(self, op: OpDef, kinds: list[DType], attrs: dict[str, Any]) -> bool:
        probes = [self.builder.parameter(f"probe {d}", d, ()) for d in kinds]
        return op(*probes, **attrs).dtype.is_floating

    def _fitted(self, value: Value, to: Value) -> Value:
        """`value` in a shape that broadcasts with that of `to`: some trailing axes, some of size one."""
        rank = self.choose(to.rank + 1)
        shape = tuple(n if self.choose(4) else 1 for n in to.shape[to.rank - rank :])
        return self._shaped(value, shape)

    def _shaped(self, value: Value, shape: tuple[int, ...]) -> Value:
        """The elements of `value`, some of them dropped or repeated, in another shape."""
        if value.shape == shape:
            return value
        size = int(np.prod(shape, dtype=np.int64))
        if size == value.size:
            made = ops.reshape(value, shape=shape)
        elif value.size == 0:
            return self.parameter(value.dtype, Draw(shape, -2, 2).values(value.dtype, self.rng))
        else:
            flat = ops.reshape(value, shape=(-1,))
            positions = np.arange(size).reshape(shape) * (1 + self.choose(3)) % value.size
            made = ops.gather(flat, positions.astype(np.int32), axis=0)
        if value in self.rounded:
            self.rounded.add(made)
        return made

    def _limited(self, value: Value, low: float, high: float) -> Value:
        if value.dtype.is_bool:
            return value
        low, high = max(low, -LIMIT), min(high, LIMIT)
        if value.dtype.is_integer:
            low, high = int(np.ceil(low)), int(np.floor(high))
        made = ops.minimum(ops.maximum(value, low), high)
        if value in self.rounded:
            self.rounded.add(made)
        return made

    def _sampled(self, op: OpDef, dtypes: dict[str, DType]) -> None:
        """An op as one of its samples uses it, on values made before where any value will do."""
        samples = op.samples
        if isinstance(samples, Range):
            samples = samples.samples(tuple(p.var if len(p.var) > 1 else "" for p in op.params))
        sample: Sample = self.pick(samples)
        params = [p for p in op.params if p.role in (Role.TENSOR, Role.TENSORS)]
        listed = len(sample.draws) - sum(p.role is Role.TENSOR for p in params)
        named: dict[str, Any] = {}
        draws = list(sample.draws)
        for p in params:
            taken = [
                self._drawn(draws.pop(0), p.var, dtypes)
                for _ in range(listed if p.role is Role.TENSORS else 1)
            ]
            named[p.name] = taken if p.role is Role.TENSORS else taken[0]
        flat = [v for t in named.values() for v in (t if isinstance(t, list) else [t])]
        results = as_outputs(op(**named, **sample.attrs))
        jumps = any(v.dtype.is_floating for v in flat) and not all(r.dtype.is_floating for r in results)
        if jumps and any(v in self.rounded for v in flat):
            return
        moves = op.kind in (Kind.MOVEMENT, Kind.ASSEMBLY)
        self.add(results, moves and not any(v in self.rounded for v in flat))

    def _drawn(self, draw: Draw, var: str, dtypes: dict[str, DType]) -> Value:
        dtype = as_dtype(draw.dtype) if draw.dtype else dtypes[var] if len(var) == 1 else as_dtype(var)
        if draw.dtype or draw.distinct or self.choose(3) == 0:
            return self.parameter(dtype, draw.values(dtype, self.rng))
        return self._limited(self._shaped(self.some(dtype), draw.shape), draw.low, draw.high)


def random_function(choose: Choose, steps: int) -> tuple[Function, list[np.ndarray]]:
    """A Function of up to `steps` ops and what brings values into their shapes and ranges, with arguments.

    Its results are the last values that nothing uses, and one that something uses.
    """
    graph = Graph(choose, np.random.default_rng(choose(1000)))
    graph.fresh(graph.pick(DTYPES))
    for _ in range(steps):
        graph.step()
    used = {v for node in toposort(graph.pool) for v in node.inputs}
    unused = [v for v in graph.pool if v not in used][-RESULTS:]
    return Function(tuple(graph.params), (*unused, graph.pick(graph.pool))), graph.arrays


def widened(function: Function) -> Function:
    """The same Function with float64 in place of float32: what comes out without most rounding."""
    builder = Builder()
    table: dict[Value, Value] = {}
    for node in (*(p.node for p in function.params), *function.nodes):
        if node.outputs and node.outputs[0] in table:
            continue
        if node.op.name == "parameter":
            made: Any = builder.parameter(
                node.attrs["name"], _wide(node.outputs[0].dtype), node.outputs[0].shape
            )
        elif node.op.name == "constant":
            made = builder.constant(node.outputs[0].constant, _wide(node.outputs[0].dtype))
        else:
            attrs = {k: _wide(v) if isinstance(v, DType) else v for k, v in node.attrs.items()}
            made = builder.apply(node.op, [table[v] for v in node.inputs], attrs)
        table.update(zip(node.outputs, as_outputs(made), strict=True))
    return Function(tuple(table[p] for p in function.params), tuple(table[r] for r in function.results))


def _wide(dtype: DType) -> DType:
    return float64 if dtype is float32 else dtype
