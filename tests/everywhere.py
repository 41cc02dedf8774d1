"""One program in every place where programs run: its results, its errors and its state must be the same.

    def build():
        x = sg.placeholder(sg.float32, [3], name="x")
        w = sg.Variable(2.0, name="w")
        return {"y": x * w, "w": w, "step": w.assign_add(1.0).op}

    check_everywhere(build, {"x": [1, 2, 3]}, {"x": [4, 5, 6]}, expected=[{"y": [2, 4, 6]}, None])

`build` builds the program in an empty default graph and returns its fetches by name: tensors, variables, and
operations, which are run for their effects. Each following mapping is one run: the values of its feeds by the
names of tensors. A place that refuses a program before it runs, such as a file that cannot hold a `py_func`,
is left out of the comparison; `expected` and `places` of the result say what a test relies on.
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import staticgraph as sg
from staticgraph.compiler.graph.errors import (
    FeedError,
    InvalidArgumentError,
    OpError,
    SaveError,
    UnimplementedError,
)
from staticgraph.formats.tf.graph_def.nodes import UnknownOpError
from staticgraph.formats.tf.messages.graph import GraphDef
from staticgraph.runtime.files.loaded import LoadedGraph
from tests.ahead.native import CC, Native, built
from tests.interpreted import compiling, interpreting

Build = Callable[[], Mapping[str, Any]]
Feeds = Mapping[str, Any]
PLACES = ("session", "interpreter", "file", "graph_def", "object")
_RTOL = {"float16": 4e-3, "bfloat16": 4e-2, "float32": 2e-5, "complex64": 2e-5}  # by dtype; 1e-9 for others
_NUMBERS = itertools.count()  # a library is loaded once under a name


@dataclass(frozen=True)
class Outcome:
    """The results of one run by name, or the class of its error; and the variables after it."""

    results: dict[str, np.ndarray] | None
    error: str
    state: dict[str, np.ndarray]
    message: str = ""


class Refused(Exception):
    """A place cannot hold the program. The cause says why."""


def everywhere(
    build: Build, *runs: Feeds, places: Sequence[str] = PLACES
) -> dict[str, list[Outcome] | Refused]:
    """Run a program in several places.

    Args:
        build: Builds the program and returns its fetches by name.
        *runs: The feeds of each run, by name of the tensor. No mapping stands for one run without feeds.
        places: Some of `PLACES`, and "gpu" for the simulator of a CUDA driver.

    Returns:
        For each place the outcomes of all runs, or why the place cannot hold the program.
    """
    found: dict[str, list[Outcome] | Refused] = {}
    for place in places:
        with compiling(), sg.Graph().as_default(), tempfile.TemporaryDirectory() as folder:
            sg.set_random_seed(7)
            try:
                found[place] = list(_PLACES[place](build, runs or ({},), Path(folder)))
            except Refused as refused:
                found[place] = refused
    return found


def check_everywhere(
    build: Build,
    *runs: Feeds,
    places: Sequence[str] = PLACES,
    expected: Sequence[Mapping[str, Any] | type[Exception] | None] = (),
    rtol: float | None = None,
    atol: float = 1e-12,
) -> dict[str, list[Outcome] | Refused]:
    """Run a program in several places and check that all of them agree.

    Args:
        build: Builds the program and returns its fetches by name.
        *runs: The feeds of each run.
        places: The places; the first is what the others are compared with.
        expected: Results of each run by name, those that matter, or the class of its error. None: not known.
        rtol: How much results may differ, relative to the largest number of an array. Default: by dtype.
        atol: How much they may differ besides.

    Returns:
        The outcomes by place.

    Raises:
        AssertionError: Results, errors or state differ.
    """
    found = everywhere(build, *runs, places=places)
    first = found[places[0]]
    assert not isinstance(first, Refused), first.__cause__
    for outcome, wanted in zip(first, expected, strict=False):
        if isinstance(wanted, type):
            assert outcome.error in _names_below(wanted), outcome
        elif wanted is not None:
            assert not outcome.error, outcome
            assert outcome.results is not None
            for name, value in wanted.items():
                _check_alike(f"{places[0]}: {name}", outcome.results[name], value, rtol, atol, typed=False)
    for place, outcomes in found.items():
        if not isinstance(outcomes, Refused):
            for number, (mine, other) in enumerate(zip(first, outcomes, strict=True)):
                check_same(f"run {number}: {places[0]} and {place}", mine, other, rtol, atol)
    return found


def check_same(where: str, mine: Outcome, other: Outcome, rtol: float | None, atol: float) -> None:
    if other.error.startswith("status"):  # an object has numbers for its errors
        assert mine.error, f"{where}: {other.error}, and no error"
    else:
        assert mine.error == other.error, f"{where}: {mine.error or 'no error'}, {other.error or 'no error'}"
    for one, two in ((mine.results or {}, other.results or {}), (mine.state, other.state)):
        assert one.keys() == two.keys(), where
        for name in one:
            _check_alike(f"{where}: {name}", two[name], one[name], rtol, atol)


def _check_alike(
    where: str, found: Any, wanted: Any, rtol: float | None, atol: float, typed: bool = True
) -> None:
    found, wanted = np.asarray(found), np.asarray(wanted)
    assert found.shape == wanted.shape, f"{where}: shapes {found.shape} and {wanted.shape}"
    assert not typed or found.dtype == wanted.dtype, f"{where}: {found.dtype} and {wanted.dtype}"
    if found.dtype.name not in ("bfloat16", "float8_e4m3fn") and found.dtype.kind not in "fc":
        np.testing.assert_array_equal(found, wanted, err_msg=where)
        return
    unit = _RTOL.get(found.dtype.name, 1e-9) if rtol is None else rtol
    wide = np.complex128 if found.dtype.kind == "c" else np.float64
    one, two = found.astype(wide), wanted.astype(wide)
    finite = np.abs(two[np.isfinite(two)])
    scale = float(finite.max(initial=0.0))
    np.testing.assert_allclose(one, two, rtol=unit, atol=atol + unit * scale, err_msg=where)


def _names_below(cls: type[Exception]) -> set[str]:
    return {cls.__name__}.union(*(_names_below(sub) for sub in cls.__subclasses__()))


# Places: each runs the program that `build` builds in the default graph


def in_session(
    build: Build,
    runs: Sequence[Feeds],
    folder: Path | None = None,
    opened: Callable[[sg.Session], Any] = lambda session: None,
) -> Iterator[Outcome]:
    """Run the program that `build` builds in the default graph, in a session, which `opened` is told of."""
    fetches = build()
    with sg.Session() as sess:
        opened(sess)
        sess.run(sg.global_variables_initializer())
        for feeds in runs:
            yield _outcome(lambda feeds=feeds: _named(fetches, sess.run(fetches, _keyed(feeds))), sess)


def _in_interpreter(build: Build, runs: Sequence[Feeds], folder: Path) -> Iterator[Outcome]:
    with interpreting():
        yield from in_session(build, runs, folder)


def _on_gpu(build: Build, runs: Sequence[Feeds], folder: Path) -> Iterator[Outcome]:
    from staticgraph.runtime.gpu.simulator.driver import Simulator
    from tests.gpu.running import SCHEDULES
    from tests.gpu.sessions import on

    with on(Simulator(SCHEDULES[1])):
        yield from in_session(build, runs, folder)


def _in_file(build: Build, runs: Sequence[Feeds], folder: Path) -> Iterator[Outcome]:
    net = _saved(build(), runs, folder)
    call = net.signatures["run"]
    for feeds in runs:
        yield _outcome(lambda feeds=feeds: _listed(call(feeds)), net.session)


def _in_graph_def(build: Build, runs: Sequence[Feeds], folder: Path) -> Iterator[Outcome]:
    fetches, init = build(), sg.global_variables_initializer()
    try:
        text = sg.get_default_graph().as_graph_def().SerializeToString()
    except (OpError, ValueError, TypeError) as error:
        raise Refused from error
    names = {key: getattr(f, "name", None) or f.op.name for key, f in fetches.items()}
    with sg.Graph().as_default():
        sg.set_random_seed(7)
        try:
            sg.import_graph_def(GraphDef.FromString(text), name="")
        except UnknownOpError as error:
            raise Refused from error
        if any(op.definition.name == "foreign" for op in sg.get_default_graph().get_operations()):
            raise Refused from UnimplementedError("a node that holds a Python function must be fed")
        with sg.Session() as sess:
            sess.run(init.name)
            for feeds in runs:
                yield _outcome(lambda feeds=feeds: _named(fetches, sess.run(names, _keyed(feeds))), sess)


def _in_object(build: Build, runs: Sequence[Feeds], folder: Path) -> Iterator[Outcome]:
    if CC is None:
        raise Refused from FileNotFoundError("no C compiler is installed")
    net = _saved(build(), runs, folder)
    shapes = [{name: np.shape(value) for name, value in feeds.items()} for feeds in runs]
    if any(each != shapes[0] for each in shapes):
        raise Refused from ValueError("an object has one shape for each input")
    outputs = list(net.signatures["run"].outputs)
    state = list(net.signatures["state"].outputs) if "state" in net.signatures else []
    try:
        made = built(net, f"everywhere{next(_NUMBERS)}", given=shapes[0])
    except UnimplementedError as error:
        raise Refused from error
    except (InvalidArgumentError, FeedError, ValueError) as error:  # shapes that do not go together
        with net.session.held():
            before = _state(net.session)
        yield from (Outcome(None, type(error).__name__, before) for _ in runs)
        return
    native = Native(made, folder)
    assert native.init() == 0
    for feeds in runs:
        inputs = net.signatures["run"].inputs
        status, results = native.call("run", *(feeds[name] for name in inputs))
        after = dict(zip(state, native("state"), strict=True)) if state else {}
        if status:
            yield Outcome(None, f"status {status}", after)
        else:
            yield Outcome(dict(zip(outputs, results, strict=True)), "", after)


_PLACES: dict[str, Callable[[Build, Sequence[Feeds], Path], Iterator[Outcome]]] = {
    "session": in_session,
    "interpreter": _in_interpreter,
    "file": _in_file,
    "graph_def": _in_graph_def,
    "object": _in_object,
    "gpu": _on_gpu,
}


def _saved(fetches: Mapping[str, Any], runs: Sequence[Feeds], folder: Path) -> LoadedGraph:
    """The program through a file, with fresh variables: a function `run`, and `state` if it has variables."""
    graph = sg.get_default_graph()
    step = [f for f in fetches.values() if isinstance(f, sg.Operation)]
    outputs = {name: f for name, f in fetches.items() if not isinstance(f, sg.Operation)}
    inputs = {name: graph.get_tensor_by_name(_tensor_name(name)) for feeds in runs for name in feeds}
    signature = sg.Signature(outputs or None, inputs, sg.group(*step) if step else None)
    variables = {v.op.name: v.read_value() for v in sg.global_variables()}
    asked = {"run": signature} | ({"state": sg.Signature(variables)} if variables else {})
    with sg.Session() as sess:
        sess.run(sg.global_variables_initializer())
        try:
            sg.save(folder / "program.sg", signatures=asked, session=sess)
        except SaveError as error:
            raise Refused from error
    return sg.load(folder / "program.sg")


def _outcome(run: Callable[[], dict[str, Any]], session: Any) -> Outcome:
    try:
        results = {name: np.array(value) for name, value in run().items() if value is not None}
    except (OpError, ValueError, TypeError, RuntimeError) as raised:
        return Outcome(None, type(raised).__name__, _state(session), str(raised))
    return Outcome(results, "", _state(session))


def _state(session: Any) -> dict[str, np.ndarray]:
    """The values of a session's variables by name."""
    with session.held() as store:
        found = [op for op in session.graph.get_operations() if op.definition.name == "variable"]
        return {op.name: np.array(store.read(op)) for op in found if op in store}


def _named(fetches: Mapping[str, Any], values: Any) -> dict[str, Any]:
    return {name: values[name] for name in fetches}


def _listed(made: Any) -> dict[str, Any]:
    return made if isinstance(made, dict) else {}


def _keyed(feeds: Feeds) -> dict[str, Any]:
    return {_tensor_name(name): value for name, value in feeds.items()}


def _tensor_name(name: str) -> str:
    return name if ":" in name else f"{name}:0"
