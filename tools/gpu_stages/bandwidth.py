"""Bandwidth of the kernels of whole steps, against what the card can move at best."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import staticgraph as sg
from gpu_stages.ceilings import ceilings
from gpu_stages.setting import Setting, seconds_per_call

# Shares of the ceiling.
POINTWISE, ROWS, COLUMNS, FULL, TRANSPOSED = 0.92, 0.85, 0.80, 0.85, 0.75
READS = frozenset({"sum of all", "sums of columns", "sums of rows"})  # whose ceiling is that of reads
FULL_ELEMENTS, SMALL_ELEMENTS = 1 << 26, 1 << 12  # of float32: 256 MiB


@dataclass(frozen=True, slots=True)
class Case:
    """Computation from a matrix of these sizes, and how often its elements pass, at the least."""

    name: str
    build: Callable[[Any], Any]  # from the variable to what is run
    passes: int
    share: float
    columns: tuple[int, ...] = (1024,)


def run(setting: Setting) -> None:
    """The stage."""
    elements = setting.sized(FULL_ELEMENTS, SMALL_ELEMENTS)
    with setting.driver() as driver:
        copied, read = ceilings(driver, 4 * elements)
    setting.findings.measured("ceiling of copies", copied.best / 1e9, "GB/s", text=copied.text)
    setting.findings.measured("ceiling of reads", read.best / 1e9, "GB/s", text=read.text)
    for case in CASES:
        ceiling = (read if case.name in READS else copied).best
        for columns in case.columns:
            width = min(columns, setting.sized(columns, 64))
            name = f"{case.name}, {elements // width} x {width}"
            if setting.within(name, 3):
                with setting.findings.trying(name):
                    took = _seconds(setting, case, elements // width, width)
                    rate = case.passes * 4 * elements / took
                    share, target = 100 * rate / ceiling, None if setting.small else 100 * case.share
                    text = f"{rate / 1e9:,.0f} GB/s"
                    setting.findings.measured(name, share, "% of the ceiling", target, text=text)


def _seconds(setting: Setting, case: Case, rows: int, columns: int) -> float:
    """Return the time that a run takes the card: nothing is fetched, so that runs follow each other."""
    with sg.Graph().as_default():
        x = sg.Variable(sg.random_uniform([rows, columns], 0.1, 1.0))
        step = case.build(x)
        last = sg.Variable(0.0)
        with setting.session() as session:
            run = session.make_callable(sg.group(step))
            run()
            run()
            return seconds_per_call(run, lambda: session.run(last), budget=0.6)


def _kept(value: Any) -> Any:
    """A value, written to a variable."""
    target = sg.Variable(sg.zeros(value.shape))
    return sg.assign(target, value)


def _adam(x: Any) -> Any:
    gradient = sg.Variable(sg.random_uniform(x.shape, -1.0, 1.0))
    return sg.train.AdamOptimizer(1e-3).apply_gradients([(gradient.read_value(), x)])


def _norm(x: Any) -> Any:
    width = x.shape[-1]
    scale, shift = sg.Variable(sg.ones([width])), sg.Variable(sg.zeros([width]))
    return _kept(sg.nn.layer_normalization(x, shift, scale, variance_epsilon=1e-5))


def _norm_gradient(x: Any) -> Any:
    """By its input alone: reads x and the gradient of what follows, writes the gradient."""
    after = sg.Variable(sg.random_uniform(x.shape, -1.0, 1.0))
    width = x.shape[-1]
    y = sg.nn.layer_normalization(x, sg.zeros([width]), sg.ones([width]), variance_epsilon=1e-5)
    return _kept(sg.gradients(y, x, after.read_value())[0])


def _cross_entropy(x: Any) -> Any:
    """The loss of each row and the gradient by all logits."""
    rows, columns = x.shape.as_list()
    labels = sg.Variable(sg.random_uniform([rows], 0, columns, sg.int32))
    losses = sg.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=x)
    return sg.group(_kept(sg.gradients(losses, x)[0]), _kept(losses))


WIDTHS = (256, 1024, 16384)
CASES = (
    Case("x * 2 + 1", lambda x: _kept(x * 2.0 + 1.0), 2, POINTWISE),
    Case("GELU", lambda x: _kept(0.5 * x * (1 + sg.math.erf(x * 0.70710678))), 2, POINTWISE),
    Case("Adam", _adam, 7, POINTWISE),
    Case("softmax", lambda x: _kept(sg.nn.softmax(x)), 2, ROWS, WIDTHS),
    Case("layer norm", _norm, 2, ROWS, WIDTHS),
    Case("gradient of a layer norm", _norm_gradient, 3, ROWS),
    Case("cross-entropy and its gradient", _cross_entropy, 2, ROWS, WIDTHS),
    Case("sums of rows", lambda x: _kept(sg.reduce_sum(x, 1)), 1, ROWS),
    Case("sums of columns", lambda x: _kept(sg.reduce_sum(x, 0)), 1, COLUMNS, WIDTHS),
    Case("sum of all", lambda x: _kept(sg.reduce_sum(x)), 1, FULL),
    Case("transpose", lambda x: _kept(sg.transpose(x)), 2, TRANSPOSED),
)
