"""Launches touch nothing but what they were given, and read only what was written, as `watching.py` sees.

A sample of the registry and a few programs are here, everything else is with `pytest -m slow`.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.codegen.cuda.function import Parameter, call
from staticgraph.compiler.graph.dtypes import float32
from staticgraph.runtime.gpu.simulator import build
from staticgraph.runtime.gpu.simulator.build import RACES
from tests.gpu import test_session, watching
from tests.gpu.conftest import precompiled
from tests.gpu.running import SCHEDULES
from tests.gpu.sessions import Model, check_alike, draws, played
from tests.gpu.test_registry import check, chosen, together
from tests.gpu.watching import Watching, watched
from tests.ops.harness import TESTED, dtype_choices, uses

pytestmark = pytest.mark.takes_long

SAMPLE = (
    "softmax",
    "reduce_mean",
    "cumsum",
    "scatter_add",
    "matmul",
    "conv2d",
    "transpose",
    "concat",
    "gather",
)
X, Y = Parameter("x", float32), Parameter("y", float32, written=True)
VALUE = 256  # bytes of each value, in a block of memory that has more of them
FAULTS = {
    "y[threadIdx.x] = x[threadIdx.x];": None,
    "y[threadIdx.x + 1] = 1.0f;": "thread 63 of block 0 writes 4 bytes from byte 256 of `y` .*, which",
    "y[threadIdx.x] = x[threadIdx.x + 64];": "thread 0 of block 0 reads 4 bytes from byte 256 of `x`",
    "const_cast<float*>(x)[threadIdx.x] = 1.0f;": "byte 0 of `x` at .*, which are not its own to change",
    "y[threadIdx.x] = 2.0f * y[threadIdx.x];": "reads 4 bytes from byte 0 of `y` at .*, where nobody",
    "atomicAdd(reinterpret_cast<int*>(y), 1);": "changes 4 bytes from byte 0 of `y` at .*, where nobody",
}


@pytest.fixture(scope="module")
def races(host: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The options that find races, with headers that are compiled once."""
    plain = build.OPTIONS[: build.OPTIONS.index("-include")]
    options = tuple(o for o in plain if o not in RACES and not o.startswith("-O"))
    options += ("-Og", *RACES)
    headers = precompiled(host, options, tmp_path_factory.mktemp("races"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build, "OPTIONS", (*options, "-include", str(headers)))
        patch.setattr(watching, "RACES", ())
        yield


def test_an_access_is_held_to_the_bytes_of_the_launch(races: None):
    """The launch has a value to read and one to change."""
    functions = [call("watched", [X, Y], body, (1, 1, 1), (64, 1, 1)).function for body in FAULTS]
    driver = Watching()
    start = driver.allocate(4 * VALUE)
    other = start + 2 * VALUE
    driver.clear(start, 2 * VALUE)
    for message, kernel in zip(FAULTS.values(), driver.load(functions), strict=True):
        driver.told = [(start, start + VALUE)], [(other, other + VALUE)]
        kernel((start, other))
        if message is None:
            driver.synchronize()
            driver.written(other, VALUE).fill(0)
        else:
            with pytest.raises(RuntimeError, match=message):
                driver.synchronize()


def means(rows: int, columns: int) -> Model:
    """A number for each row that is changed where it lies, and what becomes of the row by it."""

    def build() -> tuple[Any, Any]:
        x = sg.placeholder(sg.float32, [rows, columns])
        mean = sg.get_variable("mean", initializer=np.ones(rows, np.float32))
        new = sg.assign(mean, 0.9 * mean + 0.1 * sg.reduce_mean(sg.square(x), 1))
        values = draws(1, rows, columns)
        return [x * sg.rsqrt(new + 1e-3)[:, None]], lambda n: {x: values[n % 4]}

    return build


def codes() -> tuple[Any, Any]:
    """Few short rows, each changed where it lies: some threads of a warp have none."""
    count = sg.get_variable("count", initializer=np.ones(7, np.float32))
    total = sg.get_variable("total", initializer=draws(2, 7, 6)[0])
    book = sg.get_variable("book", initializer=draws(3, 7, 6)[0])
    x = sg.placeholder(sg.float32, [7, 6])
    size = sg.assign(count, 0.9 * count + 0.1)
    whole = sg.reduce_sum(size)
    share = (size + 1e-5) / (whole + 7e-5) * whole
    values = draws(4, 7, 6)
    new = sg.assign(book, sg.assign(total, 0.9 * total + 0.1 * x) / share[:, None])
    return [new], lambda n: {x: values[n % 4]}


PROGRAMS = {
    "short rows": means(3, 6),
    "long rows": means(4, 4000),
    "codes": codes,
    "a loop until": test_session.loop_until,
}
MORE = {
    "rows": means(5, 100),
    **{model.__name__: model for model in (
        test_session.convolutions, test_session.dropout, test_session.recurrent, test_session.loop_with_rows,
    )},
}  # fmt: skip


def check_watched(model: Model) -> None:
    driver = Watching(SCHEDULES[1])

    def in_orders() -> tuple[Any, Any]:
        fetches, feeds = model()

        def given(number: int) -> dict[Any, Any]:
            driver.schedule = SCHEDULES[number % len(SCHEDULES)]
            return feeds(number)

        return fetches, given

    with watched():
        found = played(in_orders, driver, 3)
    assert driver.launches
    check_alike(found, played(model, None, 3), 1e-5)


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_touch_what_is_theirs(races: None, name: str):
    check_watched(PROGRAMS[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", MORE)
def test_more_programs_touch_what_is_theirs(races: None, name: str):
    check_watched(MORE[name])


def test_a_sample_of_the_registry_touches_what_is_its_own(races: None):
    ops = [op for op in TESTED if op.name in SAMPLE]
    assert len(ops) == len(SAMPLE)
    with watched():
        check([use for op in ops for use in islice(uses(op, next(dtype_choices(op))), 1)], Watching())


@pytest.mark.slow
@together
def test_the_registry_touches_what_is_its_own(races: None, ops: Any):
    with watched():
        check([use for op in ops for use in chosen(op)], Watching())
