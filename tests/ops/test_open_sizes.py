"""Every op on tensors with open sizes: compiled once, it gives what it means at any size, 0 and 1 included.

`open_sizes.json` has the ops that have more than one program for tensors whose first sizes are open, with a
question about a size that had to be answered, or a guard; `open_axes.json` has the same for tensors of which
every size is open. `pytest tests/ops/test_open_sizes.py --update-golden` writes them anew.
"""

from __future__ import annotations

import json
import re
import warnings
from pathlib import Path

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.graph.errors import GraphError, OpError, RuleError, ShapeError
from staticgraph.compiler.graph.opdef import REQUIRED, Effect, Kind, Role
from tests.ops.harness import TESTED, Use, as_tuple, assert_same, dtype_choices, uses

INTERNAL = re.compile(r"^(Type|Attribute|Assertion|Value|Index|Key)Error|Undecided")
TABLES = {
    "first": Path(__file__).with_name("open_sizes.json"),
    "every": Path(__file__).with_name("open_axes.json"),
}
CLOSED: dict[str, dict[str, str]] = {axes: json.loads(table.read_text()) for axes, table in TABLES.items()}


# Operations of known lengths, whose second operand is a table for the length of the first: it cannot be open.
TABLES_OF_LENGTHS = {("rfft_rows", "first"), ("irfft_rows", "first"), ("fft_stage", "first")}


def use_of(op) -> Use | None:
    """Return the first sample with an axis to leave open."""
    found = (use for use in uses(op, next(dtype_choices(op))) if any(a.ndim for a in use.arrays))
    return next(found, None)


def meant(use: Use, arrays):
    """Return the results of the reference, None if it does not take these arrays."""
    defaults = {p.name: p.default for p in use.op.params if p.role in (Role.OPERAND, Role.ATTR)}
    attrs = {**{n: d for n, d in defaults.items() if d is not REQUIRED}, **use.sample.attrs}
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # of means of nothing
            return as_tuple(use.op.reference(*arrays, **attrs))
    except (GraphError, OpError, RuleError, ValueError, IndexError):
        return None


USES = {
    op.name: use
    for op in TESTED
    if op.effect is Effect.PURE and op.reference is not None and (use := use_of(op)) is not None
}


def _twice(a, axis):
    """Twice the numbers along an axis. Other floating ones, or a matrix would have no rank to speak of."""
    more = np.flip(a) if a.dtype.kind == "f" else a
    return np.concatenate([a, more], axis)


def _first(a, axes, count):
    """The first numbers along the open axes."""
    return a[(slice(count),) * (min(a.ndim, 1) if axes == "first" else a.ndim)]


def _cases():
    """Each op with its first sizes open, and with all of them. An op that needs one program for all open
    sizes seldom needs more for some of them: of those, each fourth one is tried. So it is with elementwise
    ops, which use sizes alike.
    """
    for number, (name, use) in enumerate(USES.items()):
        repeats = number % 4 and not any(name in table for table in CLOSED.values())
        marks = [pytest.mark.slow] if repeats else []
        yield pytest.param(name, "first", marks=marks)
        yield pytest.param(name, "every", marks=marks if use.op.kind is Kind.ELEMENTWISE else [])


@pytest.mark.takes_long
@pytest.mark.filterwarnings(
    "ignore::staticgraph.compiler.graph.errors.RecompileWarning"
)  # `squeeze` has one for each axis
@pytest.mark.parametrize(("name", "axes"), [*_cases()])
def test_an_op_takes_any_size(name, axes, request):
    use = USES[name]
    graph = sg.Graph()
    with graph.as_default():
        inputs = [
            sg.placeholder(d, [None, *(a.shape[1:] if axes == "first" else [None] * (a.ndim - 1))])
            if a.ndim
            else sg.placeholder(d, [])
            for a, d in zip(use.arrays, use.dtypes, strict=True)
        ]
        if (name, axes) in TABLES_OF_LENGTHS:
            with pytest.raises(ShapeError, match="must have shape"):
                use.call(inputs)
            return
        outputs = use.call(inputs)
    doubled, wider = ([_twice(a, axis) if a.ndim else a for a in use.arrays] for axis in (0, -1))
    fewer = ([_first(a, axes, count) for a in use.arrays] for count in (0, 1))
    others = [*fewer, *([doubled] if axes == "first" else [wider, doubled])]
    with sg.Session(graph=graph, open_sizes=True) as session:
        for arrays in (use.arrays, *others, use.arrays):
            wanted = meant(use, arrays)
            try:
                results = session.run(list(outputs), dict(zip(inputs, arrays, strict=True)))
            except (OpError, GraphError):
                # A file may hold what the reference lets pass.
                assert wanted is None or arrays is not use.arrays
                continue
            if wanted is not None:
                for result, want, out in zip(results, wanted, outputs, strict=True):
                    assert_same(result, np.asarray(want), out.dtype, str(use))
        programs = [c.programs for c in session._runs.values()]
        why = [text for each in programs for text in each.questions]
        if not why and len(session.compiles) > 1:
            made = [shapes for each in programs for shapes in each._open.programs]
            why = [str(g) for each in made for g in each.shapes.guards]
            assert why or not made  # all sizes are known, as those of the small matrices of `small_cofactors`
            why = why or ["known sizes"]
        assert not any(map(INTERNAL.search, why)), why
    if request.config.getoption("--update-golden"):
        table = {**json.loads(TABLES[axes].read_text()), name: why[0].splitlines()[0] if why else ""}
        kept = {each: text for each, text in sorted(table.items()) if text}
        TABLES[axes].write_text(json.dumps(kept, indent=1) + "\n")
        return
    assert bool(why) == (name in CLOSED[axes]), why
