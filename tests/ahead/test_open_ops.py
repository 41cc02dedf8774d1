"""Every op that can leave its first size open: in a file with machine code, and as an object for C.

Both give the bits of a session with open sizes, at any size. The arrays of the object end at pages without
access.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.graph.errors import GraphError, OpError, UnimplementedError
from tests.ahead.native import Native, built, needs_compiler
from tests.ops.test_open_sizes import CLOSED, USES

pytestmark = [pytest.mark.slow, needs_compiler]
REFUSED = (GraphError, OpError)


def outcome(run: Any) -> list[bytes] | None:
    """The bits that a run gives, None if it is refused."""
    try:
        found = run()
    except REFUSED:
        return None
    return None if found is None else [np.asarray(each).tobytes() for each in found]


@pytest.mark.parametrize("name", [name for name in USES if name not in CLOSED["first"]])
def test_an_op_in_a_file_and_as_an_object(name: str, tmp_path: Path):
    use = USES[name]
    arrays = {f"x{n}": a for n, a in enumerate(use.arrays)}
    inputs = {
        label: sg.placeholder(dtype, [None, *a.shape[1:]] if a.ndim else [], name=label)
        for (label, a), dtype in zip(arrays.items(), use.dtypes, strict=True)
    }
    outputs = {f"y{n}": tensor for n, tensor in enumerate(use.call([*inputs.values()]))}
    path = tmp_path / "op.sg"
    sg.save(path, signatures={"run": sg.Signature(outputs, inputs)}, kernels=["native"])
    with sg.options(open_sizes=True):
        session = sg.load(path)
    loaded = sg.load(path, trusted=True)
    [code] = sg.inspect(path).kernels.values()
    loaded.session.no_compile = bool(code.programs)  # else it is done in Python, at least in part
    try:
        native = Native(built(session), tmp_path)
        assert native.init() == 0
    except UnimplementedError:
        native = None
    for count in (None, 1, 0):
        given = {label: a[:count] if a.ndim else a for label, a in arrays.items()}
        wanted = outcome(lambda given=given: session(given).values())
        assert outcome(lambda given=given: loaded(given).values()) == wanted
        if native is not None:
            taken = [given[a.name] for a in native.function("run").inputs]
            status, results = native.call("run", *taken)
            assert (None if status else [each.tobytes() for each in results]) == wanted
