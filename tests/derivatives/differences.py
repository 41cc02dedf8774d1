"""First and second derivatives beside differences of the NumPy meaning of a function.

A derivative is compared along a random direction of all its variables at once: of the inputs, and for second
derivatives also of the weights of the results, so that mixed derivatives count too. A point at which the
function has a kink, a jump or no value is left out: there the differences of both sides, or of two steps, are
not the same, or are not finite.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import staticgraph as sg
from staticgraph.compiler.autodiff.reverse import vjp
from staticgraph.compiler.capture.capture import capture
from staticgraph.compiler.capture.step import CaptureRequest, Step
from staticgraph.compiler.graph.builder import Builder
from staticgraph.compiler.graph.dtypes import DType, as_dtype, complex64, complex128, float32, float64
from staticgraph.compiler.graph.errors import RuleError
from staticgraph.compiler.graph.function import Function, Value
from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.graph.interpret import interpret
from staticgraph.compiler.graph.opdef import recording

COMPARED = (float32, float64, complex64, complex128)


@dataclass(frozen=True)
class Fineness:
    """The step of differences, and what they may be off, in parts of the derivative and of the function."""

    step: float
    tolerance: float


_FINE, _COARSE = Fineness(2e-5, 2e-6), Fineness(1 / 16, 2e-3)  # the coarse one is for float32


@dataclass
class Outcome:
    """Outcome of comparing derivatives: the number of each order that agree, and what is wrong."""

    compared: dict[int, int] = field(default_factory=lambda: {1: 0, 2: 0})
    refused: int = 0
    wrong: list[str] = field(default_factory=list)

    def add(self, other: Outcome) -> None:
        """Count what `other` has counted, too."""
        for order, count in other.compared.items():
            self.compared[order] += count
        self.refused += other.refused
        self.wrong += other.wrong


class Level:
    """Values that are weighted and summed, and the derivatives of the sum by each variable.

    All are keys that `compute(keys, point)` gives arrays for; weights and variables are keys of points, too.
    """

    def __init__(
        self,
        compute: Callable[[Sequence[Any], Mapping[Any, np.ndarray]], Sequence[np.ndarray]],
        values: Sequence[Any],
        weights: Sequence[Any],
        slopes: Sequence[tuple[Any, Any]],
    ) -> None:
        self.compute, self.values, self.weights = compute, values, weights
        self.variables, self.derivatives = [x for x, _ in slopes], [g for _, g in slopes]


def check(
    function: Callable[..., Sequence[Value]],
    arrays: Sequence[np.ndarray],
    what: str,
    varied: tuple[Collection[int] | None, Collection[int] | None] = (None, None),
    by_element: bool = False,
) -> Outcome:
    """Compare the derivatives of a function of values by its inputs.

    Args:
        function: The results of the inputs, recorded by ops.
        arrays: The point, one array per input.
        what: How a wrong derivative is called.
        varied: The inputs that derivatives of the first and of the second order are taken by; None: by all.
        by_element: Compare for each element of the results; they depend on the same elements of the inputs.
    """
    build, levels = Builder(), []
    inputs = [build.parameter(f"x{i}", as_dtype(a.dtype), a.shape) for i, a in enumerate(arrays)]
    with recording(build):
        made = [y for y in function(*inputs) if y.dtype in COMPARED]

    def compute(values: Sequence[Value], at: Mapping[Value, np.ndarray]) -> Sequence[np.ndarray]:
        return interpret(Function(tuple(at), tuple(values)), at)

    weights: list[Value] = []
    for order, allowed in enumerate(varied):
        xs = [x for i, x in enumerate(inputs) if x.dtype in COMPARED and (allowed is None or i in allowed)]
        xs += weights
        if not made or not xs:
            break
        weights = [build.parameter(f"w{order}_{i}", y.dtype, y.shape) for i, y in enumerate(made)]
        found = zip(xs, vjp(build, made, weights, xs), strict=True)
        slopes = [(x, g) for x, g in found if g is not None and x.size]
        levels.append(Level(compute, made, weights, slopes))
        made = [g for _, g in slopes]
    fine = _fineness(v.dtype for level in levels for v in (*level.values, *inputs))
    return _compared(levels, dict(zip(inputs, arrays, strict=True)), what, fine, by_element)


def check_public(function: Callable[..., Any], arrays: Sequence[np.ndarray], what: str) -> Outcome:
    """Compare the derivatives, as `sg.gradients` gives them, of a function of tensors."""
    with Graph().as_default() as graph:
        inputs = [sg.placeholder(as_dtype(a.dtype), a.shape) for a in arrays]
        result = function(*inputs)
        made = [y for y in (result if isinstance(result, list | tuple) else [result]) if y.dtype in COMPARED]
        xs, weights = [x for x in inputs if x.dtype in COMPARED], []
        stages: list[tuple[list[Any], list[Any], list[tuple[Any, Any]]]] = []
        for _ in (1, 2):
            variables = [*xs, *weights]
            weights = [sg.placeholder(y.dtype, y.shape) for y in made]
            found = zip(variables, sg.gradients(made, variables, grad_ys=weights), strict=True)
            slopes = [(x, sg.convert_to_tensor(g)) for x, g in found if g is not None]
            stages.append((made, weights, slopes))
            made = [g for _, g in slopes]
            if not made:
                break
        feeds = [*inputs, *(w for _, ws, _ in stages for w in ws)]
        fetches = list(dict.fromkeys(t for ys, _, slopes in stages for t in (*ys, *(g for _, g in slopes))))
        compute = _by_meaning(graph, fetches, feeds)
        fine = _fineness(t.dtype for op in graph.get_operations() for t in op.outputs)
        levels = [Level(compute, *stage) for stage in stages]
        return _compared(levels, dict(zip(inputs, arrays, strict=True)), what, fine, False)


def _by_meaning(graph: Graph, fetches: Sequence[Any], feeds: Sequence[Any]) -> Callable[..., Any]:
    """Compute tensors uncompiled, or by a session if their shapes depend on what is fed."""
    if not all(t.type.is_static for t in feeds):
        return _by_session(graph)
    step = capture(CaptureRequest(graph, fetches, (), {t: t.type for t in feeds}))
    if not isinstance(step, Step):
        return _by_session(graph)
    value = dict(zip(fetches, step.function.results, strict=False))
    param = dict(zip(step.feeds, step.function.params, strict=False))

    def compute(wanted: Sequence[Any], at: Mapping[Any, np.ndarray]) -> Sequence[np.ndarray]:
        given = {param[t]: a for t, a in at.items()}
        return interpret(Function(tuple(given), tuple(value[t] for t in wanted)), given)

    return compute


def _by_session(graph: Graph) -> Callable[..., Any]:
    session = sg.Session(graph=graph)

    def compute(wanted: Sequence[Any], at: Mapping[Any, np.ndarray]) -> Sequence[np.ndarray]:
        return session.run(list(wanted), dict(at))

    return compute


def drawn(shape: Sequence[int], dtype: DType, rng: np.random.Generator) -> np.ndarray:
    """Random numbers away from 0."""
    imaginary = 1j * rng.uniform(0.5, 1.5, shape) if dtype.is_complex else 0.0
    return dtype.round(rng.uniform(0.5, 1.5, shape) + imaginary)


def _fineness(dtypes: Iterable[DType]) -> Fineness:
    return _COARSE if {float32, complex64} & set(dtypes) else _FINE


def _compared(
    levels: Sequence[Level], at: Mapping[Any, np.ndarray], what: str, fine: Fineness, by_element: bool
) -> Outcome:
    rng, outcome, here = np.random.default_rng(0), Outcome(), dict(at)
    for order, level in enumerate(levels, 1):
        if not level.variables:
            break
        try:
            shapes = [y.shape for y in level.compute(level.values, here)]
            for weight, shape in zip(level.weights, shapes, strict=True):
                here[weight] = drawn(shape, weight.dtype, rng)
            direction = {x: drawn(here[x].shape, x.dtype, rng) for x in level.variables}
            count, fault = _Line(level, here, direction, by_element, fine).compare()
        except RuleError:  # LAPACK finds a matrix singular: there is no derivative of this order
            outcome.refused += 1
            break
        outcome.compared[order] += count
        outcome.wrong += [f"{what}: derivative {order} is {fault}"] if fault else []
    return outcome


class _Line:
    """The weighted sum of some values, along a line through a point."""

    def __init__(
        self,
        level: Level,
        at: Mapping[Any, np.ndarray],
        direction: Mapping[Any, np.ndarray],
        by_element: bool,
        fine: Fineness,
    ) -> None:
        self.level, self.at, self.direction, self.by_element, self.fine = (
            level,
            at,
            direction,
            by_element,
            fine,
        )

    def value(self, step: float) -> np.ndarray:
        """The sum at a place on the line."""
        moved = {x: self.at[x] + step * u for x, u in self.direction.items()}
        made = self.level.compute(self.level.values, {**self.at, **moved})
        return self._total([self.at[w] for w in self.level.weights], made)

    def compare(self) -> tuple[int, str]:
        """The number of places with a derivative, and what is wrong at the first that has another one."""
        wanted, most, smooth = self._differences()
        slopes = self.level.compute(self.level.derivatives, self.at)
        for x, slope in zip(self.level.variables, slopes, strict=True):
            assert (slope.dtype, slope.shape) == (self.at[x].dtype, self.at[x].shape), slope.shape
        found = self._total([self.direction[x] for x in self.level.variables], slopes)
        with np.errstate(all="ignore"):
            wrong = smooth & ~(np.abs(found - wanted) <= most)
        if not wrong.any():
            return int(smooth.sum()), ""
        place = tuple(int(i) for i in np.argwhere(wrong)[0])
        point = [a[place] if a.shape == wrong.shape else a for a in self.at.values()]
        shown = ", ".join(np.array2string(np.asarray(a), precision=4, threshold=12) for a in point)
        return int(smooth.sum()), f"{found[place]:.9g}, differences give {wanted[place]:.9g}, at {shown}"

    def _differences(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The derivative along the line, what it may be off, and if there is one."""
        h = self.fine.step
        before2, before, here, after, after2 = (self.value(h * n) for n in (-2, -1, 0, 1, 2))
        with np.errstate(all="ignore"):
            right = (4 * after - after2 - 3 * here) / (2 * h)
            left = (3 * here - 4 * before + before2) / (2 * h)
            near, far = (after - before) / (2 * h), (after2 - before2) / (4 * h)
            slope, change = (right + left) / 2, np.abs(near - far)
            most = self.fine.tolerance * (1 + np.abs(slope) + np.abs(here))
            smooth = (np.abs(right - left) <= most) & (change <= 100 * most)
            return slope, most + change, smooth & np.isfinite(here) & np.isfinite(slope)

    def _total(self, weights: Sequence[np.ndarray], values: Sequence[np.ndarray]) -> np.ndarray:
        """The sum of the real parts of products, of everything or element by element."""
        with np.errstate(all="ignore"):
            products = [np.real(np.conj(w) * v) for w, v in zip(weights, values, strict=True)]
            return np.asarray(sum(p if self.by_element else p.sum() for p in products))
