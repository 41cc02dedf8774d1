"""Each op that requires something of its inputs refuses bad ones on every back end, and nothing changes.

All of them are in one graph, which is compiled once per back end; a run feeds bad numbers to one of them.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.codegen.llvm.c_interface import OUT_OF_RANGE
from staticgraph.compiler.graph.checks.requirements import verify
from staticgraph.compiler.graph.errors import InvalidArgumentError
from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.graph.opdef import OPS, Effect, OpDef
from staticgraph.runtime.gpu.simulator import build as standin
from staticgraph.runtime.gpu.simulator.driver import Simulator
from staticgraph.runtime.interpreter import InterpreterBackend
from tests.ahead.native import Native, built, needs_compiler
from tests.gpu.sessions import on
from tests.ops.harness import Build, Use, dtype_choices, uses

# What is random is drawn anew in each run: its cases are in `cases.py`.
CHECKED = [op for op in OPS.values() if op.requires is not None and op.effect is not Effect.RANDOM]
Run = Callable[[dict[str, np.ndarray]], Any]


@dataclass(frozen=True)
class Bad:
    """A use of an op, and the same arrays with a number in one of them that the op refuses."""

    use: Use
    position: int
    array: np.ndarray

    @property
    def names(self) -> list[str]:
        return [f"{self.use.op.name}_{n}" for n in range(len(self.use.arrays))]

    @property
    def changed(self) -> range:
        """The places of the variables that the op changes."""
        return range(self.use.op.variables if self.use.op.effect is Effect.WRITE else 0)

    @property
    def good(self) -> dict[str, np.ndarray]:
        return dict(zip(self.names, self.use.arrays, strict=True))

    @property
    def bad(self) -> dict[str, np.ndarray]:
        return {self.names[self.position]: self.array}


def refused(use: Use, arrays: tuple[np.ndarray, ...]) -> bool:
    try:
        verify(use.op.requires, arrays, use.sample.attrs)
    except InvalidArgumentError:
        return True
    return False


def put(use: Use, position: int, array: np.ndarray) -> tuple[np.ndarray, ...]:
    return (*use.arrays[:position], array, *use.arrays[position + 1 :])


@cache
def bad(op: OpDef) -> Bad:
    for choice in dtype_choices(op):
        for use in uses(op, choice):
            if op.name == "ascending_places":
                use = replace(use, arrays=(np.sort(use.arrays[0], axis=0),))
            if any(d.is_complex for d in use.dtypes) or refused(use, use.arrays):
                continue
            for position, array in enumerate(use.arrays):
                square = array.dtype.kind == "f" and array.ndim > 1 and array.size
                if square and refused(use, changed := put(use, position, np.zeros_like(array))):
                    return Bad(use, position, changed[position])
                if square and refused(use, changed := put(use, position, np.full_like(array, np.nan))):
                    return Bad(use, position, changed[position])
                for number in (1000, -1000, 0) if array.dtype.kind == "i" and array.size else ():
                    if np.iinfo(array.dtype).min <= number <= np.iinfo(array.dtype).max:
                        worse = array.copy()
                        worse.reshape(-1)[-1] = number
                        if refused(use, put(use, position, worse)):
                            return Bad(use, position, worse)
    raise AssertionError(f"no sample of {op.name} can be made a bad one")


def model() -> tuple[dict[str, Any], dict[str, Any], Any]:
    """All of them in the default graph: results by op, placeholders by name, and a step that counts runs."""
    fed, made = {}, {}
    for op in CHECKED:
        case = bad(op)
        inputs = []
        for name, array, dtype in zip(case.names, case.use.arrays, case.use.dtypes, strict=True):
            inputs.append(sg.placeholder(dtype, array.shape, name=name))
            fed[name] = inputs[-1]
        for place in case.changed:
            del fed[case.names[place]]
            array, dtype = case.use.arrays[place], case.use.dtypes[place]
            inputs[place] = sg.Variable(array, name=f"{op.name}_variable", dtype=dtype)._handle
        made[op.name] = case.use.call(inputs)[0]
    count = sg.Variable(0, name="count")
    return made, fed, sg.assign_add(count, 1)


def good() -> dict[str, np.ndarray]:
    found: dict[str, np.ndarray] = {}
    for op in CHECKED:
        case = bad(op)
        found |= {name: case.good[name] for name in case.names[len(case.changed) :]}
    return found


def _told(op: OpDef) -> str:
    """Return the name in errors of `op`: the compiler makes some ops of another one, which its user knows."""
    return {"range_count": "range"}.get(op.name, op.name)


def check_all(run: Run, state: Callable[[], list[np.ndarray]]) -> None:
    """Each bad number is told by its op, and changes nothing; good ones go on as ever."""
    feeds = good()
    run(feeds)
    for op in CHECKED:
        before = [value.copy() for value in state()]
        with pytest.raises(InvalidArgumentError) as caught:
            run(feeds | bad(op).bad)
        assert re.match(rf"{_told(op)}:\s", str(caught.value)), str(caught.value)
        assert "harness.py" in str(caught.value)  # the line that makes the operation
        for old, new in zip(before, state(), strict=True):
            np.testing.assert_array_equal(old, new)
    run(feeds)


def through(session: Any) -> tuple[Run, Callable[[], list[np.ndarray]]]:
    """The model in the default graph, run by a session."""
    made, fed, step = model()
    session.run(sg.global_variables_initializer())
    fetches = [*made.values(), step]
    return (
        lambda feeds: session.run(fetches, {fed[name]: array for name, array in feeds.items()}),
        lambda: session.run(sg.global_variables()),
    )


@pytest.fixture(scope="module")
def native_code(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The model in a file, with machine code for this processor."""
    path = tmp_path_factory.mktemp("saved") / "net.sg"
    with Graph().as_default(), sg.Session() as session:
        made, fed, step = model()
        session.run(sg.global_variables_initializer())
        signature = sg.Signature(made, [*fed.values()], step.op)
        sg.save(path, signatures={"all": signature}, session=session, kernels=["native"])
    yield path


def test_there_are_ops_that_require_something():
    assert {"gather", "scatter_nd", "floor_div", "pow", "sparse_softmax_cross_entropy"} < {
        op.name for op in CHECKED
    }


@pytest.mark.parametrize("op", CHECKED, ids=lambda op: op.name)
def test_the_meaning_raises(op):
    case = bad(op)
    attrs = Build().add(case.use)[1][0].node.attrs
    arrays = [*case.use.arrays]
    op.reference(*arrays, **attrs)
    arrays[case.position] = case.array
    with pytest.raises(InvalidArgumentError, match=rf"^{_told(op)}:\s"):
        op.reference(*arrays, **attrs)


@pytest.mark.takes_long
def test_on_the_processor():
    with sg.Session() as session:
        check_all(*through(session))


def test_when_interpreted():
    with sg.Session() as session:
        session.backend = InterpreterBackend()
        check_all(*through(session))


def test_without_checks_nothing_is_refused():
    with sg.Session(check_bounds=False) as session:
        run, _ = through(session)
        feeds = good()
        for op in CHECKED:
            feeds |= bad(op).bad
        run(feeds)


@pytest.mark.parametrize("trusted", [False, True], ids=["compiled again", "machine code"])
def test_of_a_loaded_file(native_code, trusted):
    net = sg.load(native_code, trusted=trusted)
    signature = net.signatures["all"]
    check_all(lambda feeds: signature(**feeds), lambda: [np.asarray(v) for v in net.variables.values()])


@pytest.fixture
def _standin_compiler() -> None:
    try:
        standin.host_compiler()
    except standin.BuildError as error:
        pytest.skip(str(error))


@pytest.mark.takes_long
def test_on_a_gpu(_standin_compiler):
    with on(Simulator()), sg.Session() as session:
        check_all(*through(session))


@pytest.mark.takes_long
@needs_compiler
def test_compiled_ahead(native_code, tmp_path):
    net = sg.load(native_code)
    made = built(net)
    assert f"#define NET_OUT_OF_RANGE {OUT_OF_RANGE} " in made.header
    native = Native(made, tmp_path)
    assert native.init() == 0
    (function,) = made.interface.functions
    feeds = good()
    labels = [name for name, _ in sorted(((a.name, a) for a in function.inputs), key=lambda each: each[0])]
    assert sorted(feeds) == labels
    native("all", *(feeds[a.name] for a in function.inputs))
    for op in CHECKED:
        state = native.state.raw[: made.interface.size - made.interface.workspace]
        status, _ = native.call("all", *((feeds | bad(op).bad)[a.name] for a in function.inputs))
        assert status == OUT_OF_RANGE, op
        assert native.state.raw[: len(state)] == state, op
    native("all", *(feeds[a.name] for a in function.inputs))
