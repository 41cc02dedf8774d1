"""Profiles: every kernel is timed, nothing else changes, and the times add up."""

import json
import threading
import xml.etree.ElementTree as xml

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.codegen.llvm import clock as llvm_clock
from staticgraph.compiler.codegen.llvm.clock import clock_code, clock_of
from staticgraph.compiler.codegen.native.dispatch_layout import Binding as Word
from staticgraph.runtime.cpu import jit as cpu_jit
from staticgraph.runtime.cpu.fast_path import inline_cache as chain
from staticgraph.runtime.cpu.measurements import meter
from staticgraph.runtime.cpu.measurements.meter import Moment, Scale
from staticgraph.runtime.cpu.objects import ObjectWriter, initialize_all
from staticgraph.runtime.profiling.roofline import roofline
from staticgraph.runtime.profiling.step_times import OTHER
from staticgraph.runtime.profiling.times import Limits
from staticgraph.tf1.drop_in.finder import standing_in
from staticgraph.tf1.timeline import Timeline

LIMITS = Limits(1e11, {"near cache": 1e11, "far cache": 5e10, "memory": 1e10})


@pytest.fixture(params=["native", "python"])
def way(request, monkeypatch):
    """Way of runs: machine code that Python calls, or Python."""
    if request.param == "python":
        monkeypatch.setattr(chain, "native", lambda: None)
    return request.param


def training():
    x = sg.placeholder(sg.float32, [None, 12], name="x")
    w = sg.Variable(np.linspace(-1, 1, 48).reshape(12, 4), dtype=sg.float32)
    loss = sg.reduce_sum(sg.nn.softmax(sg.tanh(sg.matmul(x, w))) ** 2)
    return x, w, [loss, sg.train.MomentumOptimizer(0.1, 0.9).minimize(loss)]


def adds_up(step):
    total = sum(kernel.nanoseconds for kernel in step.kernels)
    return total == pytest.approx(step.nanoseconds * step.threads, rel=1e-6)


def test_every_launch_of_every_run(sess, way, rng):
    x, _, fetches = training()
    batch = rng.normal(size=(6, 12))
    sess.run(sg.global_variables_initializer())
    for _ in range(4):
        sess.run(fetches, {x: batch})
    with sess.profile() as profile:
        for _ in range(5):
            sess.run(fetches, {x: batch})
    (step,) = profile.steps
    assert (step.runs, step.threads) == (5, 1)
    planned = [k.name for k in sess.plan(fetches, {x: batch}).kernels]
    assert [k.name for k in step.kernels if k.kernel is not None] == planned
    assert {k.launches for k in step.kernels if k.kernel is not None} == {5}
    assert all(k.nanoseconds >= 0 for k in step.kernels)
    assert adds_up(step)
    assert profile.seconds.keys() == {k.name for k in step.kernels}


def test_results_are_the_same_and_the_plain_code_comes_back(sess, way, rng):
    x, w, fetches = training()
    batches = rng.normal(size=(9, 6, 12))
    losses = []
    for profiled in (False, True):
        sess.run(sg.global_variables_initializer())
        program = sess.executable(fetches, {x: batches[0]})
        plain, values = program.entry, []
        for number, batch in enumerate(batches):
            if profiled and number == 3:
                with sess.profile():
                    assert program.entry != plain
                    values.append(sess.run(fetches, {x: batch})[0])
                    values.append(sess.run(fetches, {x: batch})[0])
                assert program.entry == plain
                continue
            values.append(sess.run(fetches, {x: batch})[0])
            if number == 3:
                values.append(sess.run(fetches, {x: batch})[0])
        losses.append((values, sess.run(w)))
    assert losses[0][0] == losses[1][0]
    assert (losses[0][1] == losses[1][1]).all()
    assert {binding.words[Word.ENTRY] for binding in program.bindings} <= {plain}


def test_plain_code_reads_no_clock(sess):
    x, _, fetches = training()
    sess.run(sg.global_variables_initializer())
    compiled = sess.executable(fetches, {x: np.ones((2, 12))}).compiled
    assert not any("readcyclecounter" in code.text or "cntvct" in code.text for code in compiled.codes)


def test_each_profile_begins_at_zero(sess):
    x = sg.placeholder(sg.float32, [3])
    y = sg.exp(x)
    for runs in (3, 1, 2):
        with sess.profile() as profile:
            for _ in range(runs):
                sess.run(y, {x: [1, 2, 3]})
        assert [step.runs for step in profile.steps] == [runs]
    with sess.profile() as profile:
        pass
    assert profile.steps == () and profile.seconds == {} and str(profile) == "nothing ran that can be timed"


def test_programs_that_are_compiled_meanwhile(sess):
    x = sg.placeholder(sg.float32, [None])
    y = sg.exp(x, name="y")
    sess.run(y, {x: [1.0]})
    with sess.profile() as profile:
        for size in (1, 2, 2):
            sess.run(y, {x: np.ones(size)})
    assert sorted((step.what, step.runs) for step in profile.steps) == [("y", 1), ("y", 2)]


def test_rounds_of_loops_and_branches(sess):
    x = sg.placeholder(sg.float32, [4, 4])

    def body(i, s):
        return i + 1, sg.cond(sg.reduce_sum(s) > 1e9, lambda: s, lambda: sg.matmul(s, s))

    y = sg.while_loop(lambda i, s: i < 6, body, [0, x])[1]
    for _ in range(2):
        sess.run(y, {x: np.eye(4)})
    with sess.profile() as profile:
        for _ in range(3):
            sess.run(y, {x: np.eye(4)})
    (step,) = profile.steps
    launches = {k.name.lstrip("0123456789_"): k.launches for k in step.kernels}
    assert launches["matmul"] == 3 * 6
    assert [
        n for name, n in launches.items() if name.startswith("rounds of the loop at test_profile.py:")
    ] == [3]
    assert [n for name, n in launches.items() if name.startswith("branch at test_profile.py:")] == [3 * 6]
    assert adds_up(step)


def test_kernels_of_equal_convolutions_have_the_times_and_lines_of_each(sess):
    """Which are loops over the images, made by the compiler, with one body."""
    x, w = sg.placeholder(sg.float32, [16, 16, 16, 32]), sg.placeholder(sg.float32, [3, 3, 32, 32])
    first = sg.nn.conv2d(x, w, 1, "SAME")
    second = sg.nn.conv2d(first, w, 1, "SAME")
    fed = {x: np.ones(x.shape), w: np.zeros(w.shape)}
    sess.run(second, fed)
    with sess.profile() as profile:
        sess.run(second, fed)
    (step,) = profile.steps
    inside = [k for k in step.kernels if k.kernel is not None and k.kernel.inside == "loop"]
    rounds = [k for k in step.kernels if k.name.startswith("rounds of the loop")]
    assert len(rounds) == 2 and len(inside) > 2 and len(inside) % 2 == 0
    lines = [first.op.where.line, second.op.where.line]
    assert [k.kernel.places for k in inside] == [
        f"test_profile.py:{line}" for line in lines for _ in range(len(inside) // 2)
    ]
    assert len({k.launches for k in inside}) == 1
    assert adds_up(step)


def test_several_threads(sess, rng):
    x = sg.placeholder(sg.float32, [None, 256])
    w = sg.Variable(rng.normal(size=(256, 256)), dtype=sg.float32)
    y = sg.reduce_sum(sg.tanh(sg.matmul(sg.tanh(sg.matmul(x, w)), w)), axis=1)
    sess.run(sg.global_variables_initializer())
    batch = rng.normal(size=(512, 256)).astype(np.float32)
    with sg.options(threads=2):
        plain = sess.run(y, {x: batch})
        with sess.profile() as profile:
            for _ in range(8):
                timed = sess.run(y, {x: batch})
    assert (timed == plain).all()
    (step,) = profile.steps
    assert step.runs == 8 and 1 <= step.threads <= 2
    assert {k.launches for k in step.kernels if k.kernel is not None} == {8}
    assert sum(k.nanoseconds for k in step.kernels) >= 0.999 * step.nanoseconds * step.threads
    whole = step.events[0]
    for event in step.events[1:]:
        assert whole.start <= event.start
        assert event.start - whole.start + event.nanoseconds <= whole.nanoseconds + 1
        assert 0 <= event.thread < step.threads


def test_calls_into_numpy_and_runs_that_fail(sess):
    x = sg.placeholder(sg.int32, [2])
    y = sg.broadcast_dynamic_shape(x, [3, 1]) * 2
    plain = sess.executable(y, {x: [3, 2]}).entry
    with sess.profile() as profile:
        sess.run(y, {x: [3, 2]})
        with pytest.raises(sg.errors.OpError):
            sess.run(y, {x: [2, 2]})
        sess.run(y, {x: [3, 2]})
    (step,) = profile.steps
    assert next(k.launches for k in step.kernels if k.kernel is not None and k.kernel.effort is None) >= 2
    assert sess.executable(y, {x: [3, 2]}).entry == plain


def test_an_exception_ends_a_profile(sess):
    y = sg.placeholder_with_default(1.0, []) * 2.0
    plain = sess.executable(y).entry
    with pytest.raises(KeyError), sess.profile():
        raise KeyError
    assert sess.executable(y).entry == plain
    with sess.profile():
        pass


def test_one_profile_at_a_time(sess):
    y = sg.placeholder_with_default(1.0, []) * 2.0
    options = sg.RunOptions(trace_level=sg.RunOptions.FULL_TRACE)
    with sess.profile() as outer:
        with pytest.raises(sg.errors.FailedPreconditionError, match="being taken already"), sess.profile():
            pass
        with pytest.raises(sg.errors.FailedPreconditionError, match="being taken already"):
            sess.run(y, options=options, run_metadata=sg.RunMetadata())
        sess.run(y)
    assert [step.runs for step in outer.steps] == [1]


def test_metadata_of_one_run(sess):
    x, _, fetches = training()
    sess.run(sg.global_variables_initializer())
    options, metadata = sg.RunOptions(trace_level=sg.RunOptions.FULL_TRACE), sg.RunMetadata()
    for _ in range(2):  # what a run reports takes the place of what was there
        loss, _ = sess.run(fetches, {x: np.ones((2, 12))}, options=options, run_metadata=metadata)
    assert loss > 0
    (device,) = metadata.step_stats.dev_stats
    assert device.device.endswith("/device:CPU:0")
    names = [k.name for k in sess.plan(fetches, {x: np.ones((2, 12))}).kernels]
    assert [node.node_name for node in device.node_stats] == names
    for node in device.node_stats:
        assert node.all_start_nanos // 1000 == node.all_start_micros
        assert node.all_end_rel_nanos >= 1 and node.all_end_rel_micros >= 1
        assert f"{node.node_name} = " in node.timeline_label and "test_profile.py:" in node.timeline_label
    untouched = sg.RunMetadata()
    sess.run(fetches, {x: np.ones((2, 12))}, options=sg.RunOptions(), run_metadata=untouched)
    assert not untouched.step_stats.dev_stats


def test_a_traced_run_may_have_a_time_limit(sess):
    forever = sg.while_loop(lambda i: i >= 0, lambda i: i * 1, [sg.placeholder_with_default(1, [])])
    options = sg.RunOptions(trace_level=sg.RunOptions.FULL_TRACE, timeout_in_ms=1)
    with pytest.raises(sg.errors.DeadlineExceededError):
        sess.run(forever, options=options, run_metadata=sg.RunMetadata())
    assert sess.run(sg.constant(2.0) * sg.placeholder_with_default(1.0, [])) == 2.0


def test_a_timeline(sess):
    metadata = sg.RunMetadata()
    device = metadata.step_stats.dev_stats.add(device="/device:CPU:0")
    device.node_stats.add(
        node_name="m",
        timeline_label="m = MatMul(x, w)",
        all_start_micros=5,
        all_end_rel_micros=7,
        thread_id=2,
    )
    device.node_stats.add(node_name="odd", timeline_label="nothing known")
    text = Timeline(metadata.step_stats, graph=sess.graph).generate_chrome_trace_format(show_memory=True)
    head, first, second = json.loads(text)["traceEvents"]
    assert head["args"] == {"name": "/device:CPU:0 Compute"}
    assert first == {
        "ph": "X",
        "cat": "Op",
        "name": "MatMul",
        "pid": 0,
        "tid": 2,
        "ts": 5,
        "dur": 7,
        "args": {"name": "m", "op": "MatMul", "input0": "x", "input1": "w"},
    }
    assert second["args"] == {"name": "odd", "op": "unknown"}
    analysis = Timeline(metadata.step_stats).analyze_step_stats()
    assert json.loads(analysis.chrome_trace.format_to_string())["traceEvents"][1:] == [first, second]
    assert analysis.allocator_maximums == {}


def profiled(sess):
    x, _, fetches = training()
    sess.run(sg.global_variables_initializer())
    with sess.profile() as profile:
        for _ in range(3):
            sess.run(fetches, {x: np.ones((2, 12))})
    return profile


def test_a_chrome_trace(sess, tmp_path):
    profile = profiled(sess)
    profile.chrome_trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    regions = [event for event in events if event["ph"] == "X"]
    assert len(regions) == len(profile.steps[0].events)
    whole, *parts = regions
    for part in parts:
        assert whole["ts"] - 1 <= part["ts"] and part["ts"] + part["dur"] <= whole["ts"] + whole["dur"] + 1
        assert set(part["args"]) == {"ops", "lines", "FLOP", "bytes"}


def test_the_table(sess):
    (step,) = profiled(sess).steps
    lines = step.table(LIMITS).splitlines()
    assert lines[0].endswith("for each of 3 runs") and lines[0].startswith(step.what)
    assert lines[1].split() == [
        "kernel",
        "time",
        "share",
        "launches",
        "FLOP/s",
        "bytes/s",
        "limit",
        "of",
        "limit",
        "lines",
    ]
    assert len(lines) == 2 + len(step.kernels)
    assert sum(OTHER in line for line in lines) == 1
    assert all("test_profile.py:" in line for line in lines[2:] if OTHER not in line)


def test_a_roofline(sess):
    profile = profiled(sess)
    root = xml.fromstring(roofline(profile.steps, LIMITS))
    dots = [element for element in root.iter() if element.tag.endswith("circle")]
    counted = [k for k in profile.steps[0].kernels if k.flops_per_second > 0]
    assert len(dots) == len(counted) >= 2
    for dot in dots:
        assert 0 <= float(dot.get("cx")) <= 760 and 0 <= float(dot.get("cy")) <= 440
    assert len([e for e in root.iter() if e.tag.endswith("polyline")]) == 3


def test_a_roofline_of_nothing():
    assert xml.fromstring(roofline((), LIMITS)).tag.endswith("svg")


def test_what_limits_a_kernel(sess):
    a, b = sg.placeholder(sg.float32, [256, 256]), sg.placeholder(sg.float64, [4000])
    product = sess.plan(sg.matmul(a, a)).kernels[0]
    bound = LIMITS.bound(product)
    assert (bound.by, bound.nanoseconds) == ("arithmetic", pytest.approx(2 * 256**3 / 100))
    small = sess.plan(b + 1.0).kernels[0]
    assert LIMITS.bound(small).by == "near cache"
    assert LIMITS.bound(small).nanoseconds == pytest.approx(64000 / 100)


def test_measured_limits():
    from staticgraph.runtime.cpu.measurements.limits import limits
    from staticgraph.runtime.profiling.times import LEVELS

    found = limits()
    assert found is limits()
    assert found.flops > 0 and found.bandwidth.keys() == LEVELS.keys() and min(found.bandwidth.values()) > 0


@pytest.mark.parametrize("triple", [None, "riscv64-unknown-linux-gnu"])
def test_clocks_go_forward(triple, monkeypatch):
    """The clock of this processor, and the one of those of which nothing is known."""
    clock = clock_of(triple or cpu_jit.host().triple)
    code = clock_code(clock)
    library = cpu_jit.load([code], verify=True)
    monkeypatch.setattr(
        meter, "_counter", lambda: meter.ctypes.CFUNCTYPE(meter.ctypes.c_int64)(library[code.name])
    )
    scale = Scale.since(Moment.now())
    looks = [meter._counter()() for _ in range(100)]
    assert looks == sorted(looks) and scale.rate > 0
    assert scale.duration(scale.rate * 50) == pytest.approx(50)
    assert scale.time(scale.start.ticks) == scale.start.nanoseconds


TRIPLES = [
    "x86_64-pc-windows-msvc",
    "aarch64-unknown-linux-gnu",
    "arm64-apple-darwin",
    "riscv64-unknown-linux-gnu",
]


@pytest.mark.parametrize("triple", TRIPLES)
def test_other_processors_have_clocks(triple):
    initialize_all()
    code = clock_code(clock_of(triple))
    text = "\n".join([f'target triple = "{triple}"', *code.needs, code.text])
    assert ObjectWriter(triple, "", "", linked=True).write(text)
    assert llvm_clock.ENTRY_WORDS > llvm_clock.THREAD


def test_profiles_while_another_thread_runs(sess):
    x = sg.placeholder(sg.float32, [None])
    total = sg.Variable(0.0)
    step = sg.assign_add(total, sg.reduce_sum(sg.exp(x * 0.0)))
    sess.run(total.initializer)
    count, batch, failures = 400, np.ones(8, np.float32), []

    def work():
        try:
            for _ in range(count):
                sess.run(step, {x: batch})
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    profiles = []
    while not profiles or thread.is_alive():
        with sess.profile() as profile:
            sess.run(step, {x: batch})
        profiles.append(profile)
    thread.join()
    assert not failures
    assert all(step.runs >= 1 for profile in profiles for step in profile.steps)
    assert sess.run(total) == 8 * (count + len(profiles))


def test_a_script_of_tf1():
    with standing_in():
        import tensorflow as tf
        from tensorflow.python.client import timeline

        metadata = tf.RunMetadata()
        with tf.Session() as sess:
            y = tf.nn.softmax(tf.placeholder_with_default(tf.zeros([3, 4]), [None, 4]))
            options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
            sess.run(y, options=options, run_metadata=metadata)
        made = timeline.Timeline(metadata.step_stats)
        trace = json.loads(made.generate_chrome_trace_format(show_memory=True))
    assert [event["ph"] for event in trace["traceEvents"]] == ["M", "X"]


def test_a_file_that_cannot_be_written_is_one_clear_error(tmp_path):
    x = sg.placeholder(sg.float32, [3], name="x")
    y = sg.tanh(x)
    with sg.Session() as sess:
        with sess.profile() as profile:
            sess.run(y, {x: [1, 2, 3]})
        for write in (profile.plot, profile.chrome_trace):
            with pytest.raises(sg.errors.SaveError, match="does not exist"):
                write(tmp_path / "nowhere" / "file")
