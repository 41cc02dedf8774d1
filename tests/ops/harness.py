"""The uses of an op that the registry itself describes, and ways to build and compare them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from staticgraph.compiler.graph.builder import Builder, plain
from staticgraph.compiler.graph.dtypes import ANY, DTYPES, DType, as_dtype, float32
from staticgraph.compiler.graph.function import Function, Value
from staticgraph.compiler.graph.opdef import OPS, Effect, OpDef, Param, Role, recording
from staticgraph.compiler.ops.samples import Draw, Range, Sample

TESTED = [op for op in OPS.values() if op.samples is not None]


@dataclass(frozen=True)
class Use:
    """An op on arrays of some dtypes, with attributes."""

    op: OpDef
    sample: Sample
    arrays: tuple[np.ndarray, ...]
    dtypes: tuple[DType, ...]

    def call(self, inputs: Sequence[Any], **operands: Any) -> tuple[Any, ...]:
        """Return the op's results on tensors of the user's graph; `operands` replace those of the sample."""
        return as_tuple(self.op(**self._by_name(inputs), **{**self.sample.attrs, **operands}))

    @property
    def operands(self) -> dict[str, np.ndarray]:
        """The operands of the sample, such as axes, as arrays."""
        params = [p for p in self.op.params if p.role is Role.OPERAND]
        given = {p.name: self.sample.attrs.get(p.name) for p in params}
        return {n: np.asarray(v, None if np.size(v) else np.int32) for n, v in given.items() if v is not None}

    def apply(self, builder: Builder, inputs: Sequence[Value]) -> tuple[Value, ...]:
        """The op on values. A random op gets its counter first, which in the user's graph nobody sees."""
        if self.op.effect is not Effect.RANDOM:
            with recording(builder):
                return self.call(inputs)
        values = self.op.bind((), {**self._by_name(inputs[1:]), **self.sample.attrs})
        attrs = {p.name: plain(values[p.name]) for p in self.op.params if p.role in (Role.OPERAND, Role.ATTR)}
        return as_tuple(builder.apply(self.op, inputs, attrs))

    @property
    def seen(self) -> list[tuple[np.ndarray, DType]]:
        """The arrays that the user's graph sees, with their dtypes."""
        pairs = list(zip(self.arrays, self.dtypes, strict=True))
        return pairs[1:] if self.op.effect is Effect.RANDOM else pairs

    def changes(self, place: int) -> bool:
        """Return True if the input at this place is a variable, which the op gives a new value."""
        return self.op.effect is Effect.WRITE and place < self.op.variables

    def seen_results(self, results: Sequence[Any]) -> Sequence[Any]:
        """The results that the user's graph has: of several variables that change, the first one."""
        return results[:1] if self.op.effect is Effect.WRITE else results

    def _by_name(self, inputs: Sequence[Any]) -> dict[str, Any]:
        rest, named = list(inputs), {}
        for param, count in tensor_params(self.op, len(rest)):
            taken, rest = rest[:count], rest[count:]
            named[param.name] = taken if param.role is Role.TENSORS else taken[0]
        return named

    def __str__(self) -> str:
        return f"{self.op.name}({', '.join(d.name for d in self.dtypes)}; {self.sample})"


@dataclass
class Build:
    """Uses recorded into one Function: to compile them all at once is much faster than one by one."""

    builder: Builder = field(default_factory=Builder)
    params: list[Value] = field(default_factory=list)
    arrays: list[np.ndarray] = field(default_factory=list)

    def add(self, use: Use) -> tuple[tuple[Value, ...], tuple[Value, ...]]:
        """New params for the arrays of `use`, and the op's results on them."""
        inputs = tuple(self.parameter(a, d) for a, d in zip(use.arrays, use.dtypes, strict=True))
        return inputs, use.apply(self.builder, inputs)

    def parameter(self, array: np.ndarray, dtype: DType) -> Value:
        param = self.builder.parameter(f"p{len(self.params)}", dtype, array.shape)
        self.params.append(param)
        self.arrays.append(array)
        return param

    def function(self, results: Sequence[Value]) -> Function:
        return Function(tuple(self.params), tuple(results))

    @property
    def arguments(self) -> dict[Value, np.ndarray]:
        return dict(zip(self.params, self.arrays, strict=True))


def as_tuple(made: Any) -> tuple[Any, ...]:
    return made if isinstance(made, tuple) else (made,)


def tensor_params(op: OpDef, count: int) -> list[tuple[Param, int]]:
    """The parameters that take tensors, and how many of `count` tensors each takes."""
    params = [p for p in op.params if p.role in (Role.TENSOR, Role.TENSORS)]
    listed = count - sum(p.role is Role.TENSOR for p in params)
    return [(p, listed if p.role is Role.TENSORS else 1) for p in params]


def dtype_choices(op: OpDef) -> Iterator[dict[str, DType]]:
    """Dtypes by letter: T takes all that are allowed and others follow it; those that cannot go alone."""
    letters = {p.var for p in op.params if p.role in (Role.TENSOR, Role.TENSORS) and len(p.var) == 1}
    allowed = {v: sorted(op.dtypes.get(v, ANY), key=list(DTYPES.values()).index) for v in sorted(letters)}
    usual = {v: float32 if float32 in ds else ds[0] for v, ds in allowed.items()}
    leader = "T" if "T" in allowed else next(iter(allowed), None)
    yield usual
    for letter, dtypes in allowed.items():
        if letter == leader or usual[letter] is not usual[leader]:
            for dtype in dtypes:
                if dtype is not usual[letter]:
                    follow = {v: dtype for v, ds in allowed.items() if letter == leader and dtype in ds}
                    yield usual | follow | {letter: dtype}


def uses(op: OpDef, choice: dict[str, DType]) -> list[Use]:
    """A use per sample, with the same numbers in every run."""
    samples = op.samples
    if isinstance(samples, Range):
        fixed = tuple(p.var if len(p.var) > 1 else "" for p in op.params if p.role is Role.TENSOR)
        samples = samples.samples(fixed)
    return [_use(op, sample, choice, seed) for seed, sample in enumerate(samples)]


def _use(op: OpDef, sample: Sample, choice: dict[str, DType], seed: int) -> Use:
    rng = np.random.default_rng([seed, *op.name.encode()])
    hidden = ["uint64"] if op.effect is Effect.RANDOM else []  # the counter
    seen = tensor_params(op, len(sample.draws) - len(hidden))
    letters = hidden + [p.var for p, count in seen for _ in range(count)]
    dtypes = [_dtype(draw, var, choice) for draw, var in zip(sample.draws, letters, strict=True)]
    arrays = [d.round(draw.values(d, rng)) for draw, d in zip(sample.draws, dtypes, strict=True)]
    return Use(op, sample, tuple(arrays), tuple(dtypes))


def _dtype(draw: Draw, var: str, choice: dict[str, DType]) -> DType:
    return as_dtype(draw.dtype) if draw.dtype else choice[var] if len(var) == 1 else as_dtype(var)


# What rounding each step of a formula may change, against the meaning, which may round only once.
TOLERANCE = {"float16": 8e-3, "bfloat16": 6e-2, "float32": 4e-6, "complex64": 4e-6}


def assert_same(actual: Any, wanted: Any, dtype: DType, what: str, times: int = 1) -> None:
    """Equal types, shapes and, up to rounding, numbers. `times`: how much more rounding may change."""
    actual, wanted = np.asarray(actual), np.asarray(wanted)
    assert (actual.dtype, actual.shape) == (wanted.dtype, wanted.shape), what
    if dtype.is_differentiable:
        rtol = times * TOLERANCE.get(dtype.name, 1e-12)
        wide = np.complex128 if dtype.is_complex else np.float64
        scale = np.abs(wanted[np.isfinite(wanted)]).max(initial=0)
        atol = rtol * float(scale)
        np.testing.assert_allclose(actual.astype(wide), wanted.astype(wide), rtol, atol, err_msg=what)
    else:
        np.testing.assert_array_equal(actual, wanted, err_msg=what)
