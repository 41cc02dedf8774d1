"""Programs on the disk: a second process only loads them, and they do what the compiled ones did."""

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.capture.step import Step
from staticgraph.compiler.capture.step_digest import MOST_DATA, NoDigest, step_digest
from staticgraph.runtime.cpu import jit as cpu_jit
from staticgraph.runtime.cpu.disk import disk_cache as remembered
from staticgraph.runtime.disk import write_behind
from tests.fuzz.programs import Program
from tests.ops.harness import TESTED, Build, dtype_choices, uses
from tests.passes.steps import step_of

KEY_OF = remembered.key_of  # the suite has a way of its own, which remembers nothing


@pytest.fixture(autouse=True)
def disk(tmp_path, monkeypatch) -> Path:
    """An empty folder, and a compiler that nobody changes meanwhile."""
    monkeypatch.setattr(remembered, "key_of", KEY_OF)
    monkeypatch.setattr(remembered, "compiler_version", lambda: "of today")
    monkeypatch.setenv("SG_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def forget(monkeypatch) -> Callable[[], None]:
    """Be as a new process is: with nothing in memory."""

    def forget() -> None:
        for name in ("_OBJECTS", "_MADE"):
            monkeypatch.setattr(cpu_jit, name, {})
        monkeypatch.setattr(cpu_jit, "_LOADED", type(cpu_jit._LOADED)())

    return forget


def training() -> tuple[Any, dict]:
    """Variables that are made by chance and updated in place, dropout, a loop, and a loss."""
    x = sg.placeholder(sg.float32, [None, 4], name="x")
    hidden = sg.nn.dropout(sg.layers.dense(x, 8, sg.nn.relu), keep_prob=0.5, seed=3)
    total = sg.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, sg.tanh(y) + 1.0), [0, hidden])[1]
    loss = sg.reduce_mean(sg.square(sg.layers.dense(total, 2)))
    step = sg.train.AdamOptimizer(0.01).minimize(loss)
    return [loss, step, sg.random_normal([2], seed=5)], {x: np.linspace(-1, 1, 12).reshape(3, 4)}


def answers() -> tuple[Any, dict]:
    """Whole numbers, truth values, an empty array, constants, and a size that a feed tells."""
    n = sg.placeholder(sg.int32, [], name="n")
    real = sg.cast(n, sg.float32)
    found = [sg.range(n) * 3, sg.less(n, 4), sg.zeros([0, 2]), sg.constant([1.5, 2.5]) * real]
    return {"found": found, "sorted": sg.nn.top_k(sg.sin(sg.range(real)), 2)}, {n: 5}


def results(build: Callable[[], tuple[Any, dict]], **options: Any) -> Any:
    """Return the fetched values of three runs, and the variables after them."""
    with sg.Graph().as_default(), sg.Session(**options) as session:
        sg.set_random_seed(7)
        fetches, feeds = build()
        if variables := sg.global_variables():
            session.run(sg.variables_initializer(variables))
        made = [session.run(fetches, feeds) for _ in range(3)]
        write_behind.flush()
        return sg.nest.flatten([made, session.run(variables)] if variables else made)


@pytest.mark.parametrize("build", [training, answers])
def test_what_was_compiled_once_is_only_loaded(build, compiled, forget):
    forget()  # what other tests have compiled is not on this disk
    first = results(build)
    assert compiled
    compiled.clear()
    forget()
    again = results(build)
    assert not compiled
    for a, b in zip(first, again, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.takes_long
@pytest.mark.parametrize("seed", range(25))
def test_random_programs(seed, compiled):
    def build() -> tuple[Any, dict]:
        program = Program(Random(seed))
        for _ in range(12):
            program.step()
        return program.fetches(), program.feeds

    first = results(build)
    count = len(compiled)
    again = results(build)
    assert len(compiled) == count > 0
    for a, b in zip(first, again, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.takes_long
@pytest.mark.parametrize("op", [pytest.param(op, id=op.name) for op in TESTED])
def test_no_two_steps_have_one_digest(op):
    """Every sample counts in the usual dtypes, and the first one in others."""
    seen: dict[str, str] = {}
    for number, choice in enumerate(dtype_choices(op)):
        for use in uses(op, choice)[: 1 if number else None]:
            digests = set()
            for _ in range(2):
                build = Build()
                _, found = build.add(use)
                step = Step(build.function(found), (), (), (), (), len(found), ())
                try:
                    digests.add(step_digest(step))
                except NoDigest:
                    digests.add("")
            assert len(digests) == 1
            # Nodes are interned: of the same op with the same attributes and types there is one.
            told = repr([(n.op.name, n.attrs, [v.type for v in n.outputs]) for n in step.function.nodes])
            digest = digests.pop()
            assert digest == "" or seen.setdefault(digest, told) == told


def digest_of(fetches: Any, feeds: dict | None = None, **options: Any) -> str:
    fetches = fetches if isinstance(fetches, list) else [fetches]
    settings = sg.Session(**options).settings
    key = KEY_OF(step_of(fetches, feeds or {}), settings)
    assert key is not None
    return key


def test_whatever_decides_a_program_decides_its_key():
    x = sg.placeholder(sg.float32, [None, 3], name="x")
    v, w = sg.Variable([1.0, 2.0, 3.0], name="v"), sg.Variable([1.0, 2.0, 3.0], name="w")
    y, z = sg.reduce_sum(x * v, 1), sg.reduce_max(x, 1)
    small, large = {x: np.ones((2, 3))}, {x: np.ones((4, 3))}
    loops = [sg.while_loop(lambda i, n=n: i < n, lambda i: i + 1, [0]) for n in (3, 4)]
    keys = [
        digest_of(y, small),
        digest_of(y, large),
        digest_of([y, z], small),
        digest_of([z, y], small),
        digest_of([y, v.assign(v * 2.0)], small),
        digest_of([y, w.assign(v * 2.0)], small),
        digest_of(y + 1.0, small),
        digest_of(y + 2.0, small),
        digest_of(y + [1.0, 2.0], small),
        digest_of(sg.reduce_sum(x * v, 0), small),
        *map(digest_of, loops),
        digest_of(y, small, memory_limit=10**9),
        digest_of(y, small, passes="-fuse"),
        digest_of(y, small, math="fast"),
    ]
    assert len(set(keys)) == len(keys)
    assert keys[0] == digest_of(y, small) and keys[-3] == digest_of(y, small, memory_limit=10**9)


def test_another_version_compiles_anew(compiled, monkeypatch):
    results(answers)
    count = len(compiled)
    monkeypatch.setattr(remembered, "compiler_version", lambda: "of tomorrow")
    results(answers)
    assert len(compiled) == 2 * count
    monkeypatch.setattr(remembered, "compiler_version", lambda: None)  # as without sources
    results(answers)
    results(answers)
    assert len(compiled) == 4 * count


def test_code_that_is_gone_is_compiled_anew(disk, compiled, forget):
    forget()
    first = results(answers)
    entries = [path for path in disk.iterdir() if b'"codes"' not in path.read_bytes()]
    assert len(entries) < len([*disk.iterdir()])
    entries[0].unlink()
    forget()
    count = len(compiled)
    for a, b in zip(first, results(answers), strict=True):
        np.testing.assert_array_equal(a, b)
    assert count < len(compiled) <= 2 * count


def test_damaged_entries_are_compiled_anew(disk, compiled, forget):
    first = results(answers)
    for path in disk.iterdir():
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes(data)
    forget()
    count = len(compiled)
    for a, b in zip(first, results(answers), strict=True):
        np.testing.assert_array_equal(a, b)
    assert len(compiled) == 2 * count


def test_plans_and_profiles_know_the_kernels(compiled):
    def looked_at() -> tuple[str, int]:
        with sg.Graph().as_default(), sg.Session() as session:
            x = sg.placeholder(sg.float32, [64, 64], name="x")
            y = sg.nn.softmax(sg.matmul(x, x) + 1.0)
            session.run(y, {x: np.ones((64, 64))})
            with session.profile() as profile:
                session.run(y, {x: np.ones((64, 64))})
            return str(session.plan(y, {x: np.ones((64, 64))})), len(profile.steps[0].kernels)

    first = looked_at()
    compiled.clear()
    plan, kernels = looked_at()
    assert plan == first[0] and kernels == first[1] > 1
    assert len(compiled) == 1  # when it was asked for


def test_the_ledger_says_that_code_came_from_the_disk(forget):
    def origins() -> tuple[int, int, int]:
        with sg.Graph().as_default(), sg.Session() as session:
            session.run(sg.sin(sg.constant([1.0, 2.0]) * sg.random_uniform([2])))
            (entry,) = session.compiles
            return entry.compiled, entry.from_memory, entry.from_disk

    forget()
    assert origins()[0] > 0
    forget()
    compiled, _, from_disk = origins()
    assert compiled == 0 < from_disk


def test_what_is_dumped_or_guarded_is_compiled(tmp_path, compiled):
    results(answers)
    for options in ({"dump": str(tmp_path / "dump")}, {"check_nan": True}, {"trace": "rules"}):
        count = len(compiled)
        results(answers, **options)
        assert len(compiled) > count
    assert [*(tmp_path / "dump").iterdir()]


def test_steps_that_call_python_or_hold_much_are_compiled(compiled):
    def calling() -> tuple[Any, dict]:
        sizes = sg.random_uniform([2], 1, 2, sg.int32)
        return sg.broadcast_dynamic_shape(sizes, [3, 1]), {}

    def large() -> tuple[Any, dict]:
        return sg.constant(np.arange(MOST_DATA // 4 + 1, dtype=np.float32)) + 1.0, {}

    for build in (calling, large):
        results(build)
        count = len(compiled)
        results(build)
        assert len(compiled) > count


@pytest.mark.takes_long
def test_a_long_step_that_is_only_loaded_stops_too(compiled, forget):
    m = sg.placeholder(sg.float32, [700, 700], name="m")
    z = m
    for _ in range(30):
        z = sg.matmul(z, m)
    fetch, feeds = sg.reduce_sum(z), {m: np.eye(700, dtype=np.float32)}
    for _ in range(2):
        forget()
        with sg.Session() as session:
            assert session.executable(fetch, feeds).prepared.program.may_stop
            with pytest.raises(sg.errors.DeadlineExceededError):
                session.run(fetch, feeds, timeout=0.01)
            assert session.run(fetch, feeds) == 700
    assert len(compiled) == 1
