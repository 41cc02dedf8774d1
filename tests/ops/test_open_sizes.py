"""Every op on tensors with open first sizes: compiled once, it gives what it means at any size.

`open_sizes.json` has the ops that are compiled for the sizes at hand after all, and the question about a size
that had to be answered. `pytest tests/ops/test_open_sizes.py --update-golden` writes it anew.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.graph.errors import GraphError, OpError, RuleError
from staticgraph.compiler.graph.opdef import REQUIRED, Effect, Role
from tests.ops.harness import TESTED, Use, as_tuple, assert_same, dtype_choices, uses

TABLE = Path(__file__).with_name("open_sizes.json")
INTERNAL = re.compile(r"^(Type|Attribute|Assertion|Value|Index|Key)Error|Undecided")
CLOSED: dict[str, str] = json.loads(TABLE.read_text())


def use_of(op) -> Use | None:
    """Return the first sample with an axis to leave open."""
    found = (use for use in uses(op, next(dtype_choices(op))) if any(a.ndim for a in use.arrays))
    return next(found, None)


def meant(use: Use, arrays):
    """Return the results of the reference, None if it does not take these arrays."""
    defaults = {p.name: p.default for p in use.op.params if p.role in (Role.OPERAND, Role.ATTR)}
    attrs = {**{n: d for n, d in defaults.items() if d is not REQUIRED}, **use.sample.attrs}
    try:
        with np.errstate(all="ignore"):
            return as_tuple(use.op.reference(*arrays, **attrs))
    except (GraphError, OpError, RuleError, ValueError, IndexError):
        return None


USES = {
    op.name: use
    for op in TESTED
    if op.effect is Effect.PURE and op.reference is not None and (use := use_of(op)) is not None
}


@pytest.mark.parametrize("name", USES)
def test_an_op_takes_any_first_size(name, request):
    use = USES[name]
    graph = sg.Graph()
    with graph.as_default():
        inputs = [
            sg.placeholder(d, [None, *a.shape[1:]] if a.ndim else [])
            for a, d in zip(use.arrays, use.dtypes, strict=True)
        ]
        outputs = use.call(inputs)
    doubled = [np.concatenate([a, a]) if a.ndim else a for a in use.arrays]
    with sg.Session(graph=graph, open_sizes=True) as session:
        for arrays in (use.arrays, doubled, use.arrays):
            wanted = meant(use, arrays)
            try:
                results = session.run(list(outputs), dict(zip(inputs, arrays, strict=True)))
            except OpError:
                assert wanted is None or arrays is doubled  # a file may hold what the reference lets pass
                continue
            if wanted is not None:
                for result, want, out in zip(results, wanted, outputs, strict=True):
                    assert_same(result, np.asarray(want), out.dtype, str(use))
        why = [text for c in session._runs.values() for text in c.programs.specializer.closing]
        assert why or len(session.compiles) <= 1
        assert not any(map(INTERNAL.search, why)), why
    if request.config.getoption("--update-golden"):
        table = {**json.loads(TABLE.read_text()), name: why[0] if why else ""}
        kept = {each: text for each, text in sorted(table.items()) if text}
        TABLE.write_text(json.dumps(kept, indent=1) + "\n")
        return
    assert bool(why) == (name in CLOSED), why
