"""Reports of a session on a GPU: plans, dumps, times, pages, compiles."""

import json
import re
import xml.etree.ElementTree as xml

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.runtime.gpu.meter import measured
from staticgraph.runtime.gpu.simulator.driver import Simulator
from staticgraph.runtime.profiling.step_times import OTHER
from tests.gpu.sessions import check_alike, on
from tests.gpu.test_session import branches, calls_of_numpy, loop_until, loop_with_rows


def training():
    x = sg.placeholder(sg.float32, [None, 12], name="x")
    w = sg.Variable(np.linspace(-1, 1, 12 * 40).reshape(12, 40), dtype=sg.float32)
    loss = sg.reduce_sum(sg.nn.softmax(sg.tanh(sg.matmul(x, w))) ** 2, name="loss")
    return x, [loss, sg.train.MomentumOptimizer(0.1, 0.9).minimize(loss, name="step")]


@pytest.fixture
def sess(host):
    with sg.Graph().as_default(), sg.Session(device="standin") as session:
        yield session


def started(session):
    x, fetches = training()
    session.run(sg.global_variables_initializer())
    return x, fetches


def adds_up(step):
    total = sum(kernel.nanoseconds for kernel in step.kernels)
    return total == pytest.approx(step.nanoseconds, rel=1e-6)


def test_a_plan_tells_the_functions_of_each_launch(sess):
    x, fetches = started(sess)
    plan = sess.plan(fetches, shapes={x: [16, 12]})
    assert plan.flops > 2 * 2 * 16 * 12 * 40 and plan.bytes > 0
    assert plan.nanoseconds is None and "one core" not in str(plan)
    assert plan.memory.feeds == 4 * 16 * 12 and plan.memory.peak > plan.memory.variables
    compiled = sess.executable(fetches, {x: np.ones((16, 12))}).compiled
    functions = {each.name: each for each in compiled.functions}
    for kernel in plan.kernels:
        assert kernel.effort is not None and kernel.nanoseconds is None
        assert all(line.short.startswith("test_seeing.py:") for line in kernel.lines)
        for each in kernel.listings:
            if each.name.startswith("cublas_"):
                assert each.how.startswith("cuBLAS") and "@" in each.text
            else:
                kind, blocks, _, threads = each.how.split()
                function = functions[each.name]
                assert each.text == function.text and each.name.startswith(kind)
                assert int(blocks) > 0 and int(threads) == np.prod(function.block)
    head, *_ = re.findall(r"^kernel .*$", str(plan), re.MULTILINE)
    assert head.split() == ["kernel", "ops", "FLOP", "bytes", "functions", "in", "lines"]
    assert any("×" in line for line in str(plan).splitlines())


def test_products_of_the_library_are_named_as_such(sess):
    a, b = sg.placeholder(sg.float32, [256, 512]), sg.placeholder(sg.float32, [128, 512])
    plan = sess.plan(sg.matmul(a, b, transpose_b=True), shapes={a: [256, 512], b: [128, 512]})
    (listing,) = plan.kernels[0].listings
    assert listing.how == "cuBLAS (256 × 512 × 128)"
    assert re.search(r"\[256, 128\] = \w+\[256, 512\] @ \w+ᵀ\[512, 128\]", listing.text)
    assert listing.how in str(plan)


def test_loops_and_calls_into_numpy_are_in_a_plan(sess):
    x = sg.placeholder(sg.float32, [4, 4])
    y = sg.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, sg.tanh(s @ s)), [0, sg.linalg.sqrtm(x)])[1]
    kernels = sess.plan(y).kernels
    assert [k.ops for k in kernels if k.effort is None] == [("complex_square_root",)]
    assert any(k.inside == "loop" for k in kernels)
    assert all((k.effort is None) == (not k.listings) for k in kernels)


def test_a_dump_has_the_passes_the_kernels_and_the_code(host, tmp_path, capfd):
    with sg.Graph().as_default(), sg.Session(device="standin", dump=str(tmp_path), trace="rules") as session:
        x, fetches = started(session)
        session.run(fetches, {x: np.ones((16, 12))})
        functions = session.executable(fetches, {x: np.ones((16, 12))}).compiled.functions
    folder = max(tmp_path.iterdir())
    names = sorted(path.name for path in folder.iterdir())
    assert names[:3] == ["00-graph.txt", "01-prune.txt", "02-capture.txt"]
    assert {"08-expand.txt", "10-simplify.txt", "15-fuse.txt"} <= {*names}
    assert names[-4:] == ["43-print_cuda.txt", "code.cu", "kernels.txt", "stages.txt"]
    shown = (folder / "stages.txt").read_text().split()
    assert "attention" in shown and "fewer_products" not in shown
    code = (folder / "code.cu").read_text()
    assert '#line 1 "prelude"' in code and len(functions) > 1
    assert all(f.text in code for f in functions)
    assert "matmul" in (folder / "kernels.txt").read_text()
    assert "rule 'self product': multiply -> square" in capfd.readouterr().err


def test_compiles_are_told(sess):
    x, fetches = started(sess)
    for rows in (4, 4, 6):
        sess.run(fetches, {x: np.ones((rows, 12))})
    (first,) = sess.compiles[1:]
    assert first.functions == first.compiled > 0 and first.symbols == "n0: axis 0 of x"
    assert str(len(sess.compiles)) in str(sess.compiles).splitlines()[0]
    sess.no_compile = True
    sess.run(fetches, {x: np.ones((5, 12))})
    with pytest.raises(sg.errors.NoCompileError):
        sess.run(fetches[0] * 2, {x: np.ones((5, 12))})


@pytest.mark.takes_long
def test_compiles_for_each_size_are_told(host):
    with sg.Graph().as_default(), sg.Session(device="standin", open_sizes=False) as sess:
        x, fetches = started(sess)
        for rows in (4, 4, 6):
            sess.run(fetches, {x: np.ones((rows, 12))})
        second = sess.compiles[2]
        assert second.why == "x is float32[6, 12], was float32[4, 12]"


# Times


@pytest.mark.parametrize("warm", [0, 1, 3])
def test_every_launch_of_every_captured_run_is_timed(sess, warm):
    x, fetches = started(sess)
    batch = np.ones((6, 12))
    for _ in range(warm):
        sess.run(fetches, {x: batch})
    with sess.profile() as profile:
        for _ in range(4):
            sess.run(fetches, {x: batch})
    (step,) = profile.steps
    assert (step.runs, step.threads, step.device) == (4 if warm else 3, 1, "GPU:0")
    planned = [k.name for k in sess.plan(fetches, {x: batch}).kernels]
    assert [k.name for k in step.kernels if k.kernel is not None] == planned
    assert {k.launches for k in step.kernels if k.kernel is not None} == {step.runs}
    assert all(k.nanoseconds > 0 for k in step.kernels)
    assert adds_up(step) and step.note == ""
    others = [k.name for k in step.kernels if k.kernel is None]
    assert others == ["feeds to the GPU", "fetches from the GPU", OTHER]


def test_a_first_run_is_told_to_be_one(sess):
    x, fetches = started(sess)
    with sess.profile() as profile:
        sess.run(fetches, {x: np.ones((6, 12))})
    (step,) = profile.steps
    assert step.runs == 1 and "first run" in str(profile).splitlines()[0]
    assert adds_up(step)


def test_numbers_are_the_same_and_plain_graphs_come_back(host):
    found = []
    for profiled in (False, True):
        driver = Simulator()
        with sg.Graph().as_default(), on(driver), sg.Session() as session:
            x, fetches = started(session)
            values = []
            for number in range(9):
                if profiled and number == 3:
                    with session.profile():
                        values.append(session.run(fetches, {x: np.full((3, 12), number)})[0])
                    continue
                values.append(session.run(fetches, {x: np.full((3, 12), number)})[0])
            marks = driver.counts.marks
            session.run(fetches, {x: np.ones((3, 12))})
            assert driver.counts.marks == marks and (marks > 0) == profiled
            assert driver.counts.replays > 5
            found.append(values)
    assert found[0] == found[1]


@pytest.mark.takes_long
@pytest.mark.parametrize(
    "model", [loop_until, loop_with_rows, branches, calls_of_numpy], ids=lambda model: model.__name__
)
def test_what_the_host_decides_is_the_same_when_it_is_timed(host, model):
    found = []
    for profiled in (False, True):
        with sg.Graph().as_default(), on(Simulator()), sg.Session() as session:
            fetches, feeds = model()
            session.run(sg.global_variables_initializer())
            values = [session.run(fetches, feeds(0))]
            if profiled:
                with session.profile() as profile:
                    values += [session.run(fetches, feeds(number)) for number in range(1, 5)]
                assert all(adds_up(step) for step in profile.steps)
                assert max(step.runs for step in profile.steps) == 4
            else:
                values += [session.run(fetches, feeds(number)) for number in range(1, 5)]
            found.append([*values, session.run(fetches, feeds(5))])
    check_alike(*found, tolerance=0)


def test_loops_branches_and_numpy_are_timed_by_the_host(sess):
    x = sg.placeholder(sg.float32, [4, 4])

    def body(i, s):
        return i + 1, sg.cond(sg.reduce_sum(s) > 1e9, lambda: s, lambda: sg.matmul(s, s))

    def goes_on(i, s):
        return sg.reduce_sum(s) * 0 + sg.cast(i, sg.float32) < 6

    y = sg.while_loop(goes_on, body, [0, sg.linalg.sqrtm(0.0 * x)])[1]
    for _ in range(2):
        sess.run(y, {x: np.eye(4)})
    with sess.profile() as profile:
        for _ in range(3):
            sess.run(y, {x: np.eye(4)})
    (step,) = profile.steps
    launches = {k.name.lstrip("0123456789_"): k.launches for k in step.kernels}
    assert launches["matmul"] == 3 * 6 and launches["complex_square_root"] == 3
    (loop,) = [n for name, n in launches.items() if name.startswith("rounds of the loop at test_seeing.py:")]
    (branch,) = [n for name, n in launches.items() if name.startswith("branch at test_seeing.py:")]
    assert (loop, branch) == (3, 3 * 6)
    assert all(k.nanoseconds >= 0 for k in step.kernels)
    assert sum(k.nanoseconds for k in step.kernels) <= 1.05 * step.nanoseconds


def test_rounds_of_a_captured_loop_are_timed(sess):
    x = sg.placeholder(sg.float32, [4, 4])
    y = sg.while_loop(lambda i, s: i < 5, lambda i, s: (i + 1, sg.tanh(sg.matmul(s, s))), [0, x])[1]
    for _ in range(2):
        sess.run(y, {x: np.eye(4)})
    with sess.profile() as profile:
        sess.run(y, {x: np.eye(4)})
    (step,) = profile.steps
    assert max(k.launches for k in step.kernels) == 5
    assert adds_up(step)


def test_a_run_that_fails_does_not_end_a_profile(host):
    driver = Simulator()
    with sg.Graph().as_default(), on(driver), sg.Session() as session:
        x, fetches = started(session)
        with session.profile() as profile:
            for number in range(5):
                if number == 2:
                    driver.fail("launch")
                    with pytest.raises(RuntimeError, match="fault that was asked for"):
                        session.run(fetches, {x: np.ones((3, 12))})
                else:
                    session.run(fetches, {x: np.ones((3, 12))})
        (step,) = profile.steps
        assert step.runs == 3


def test_a_profile_beside_a_placement_log(host, capfd):
    config = sg.ConfigProto(log_device_placement=True)
    with sg.Graph().as_default(), sg.Session(config=config, device="standin") as session:
        x, fetches = started(session)
        with session.profile() as profile:
            session.run(fetches, {x: np.ones((3, 12))})
        assert profile.steps
    assert "loss: (Sum): /job:localhost/replica:0/task:0/device:GPU:0" in capfd.readouterr().err


def test_the_trace_the_metadata_and_the_drawing(sess, tmp_path):
    x, fetches = started(sess)
    with sess.profile() as profile:
        for _ in range(3):
            sess.run(fetches, {x: np.ones((2, 12))})
    profile.chrome_trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert [e["args"]["name"] for e in events if e["name"] == "thread_name"] == ["/device:GPU:0"]
    whole, *parts = [event for event in events if event["ph"] == "X"]
    assert [part["name"] for part in parts[1:-1]] == [k.name for k in profile.steps[0].kernels if k.kernel]
    assert all(whole["ts"] <= part["ts"] and part["dur"] <= whole["dur"] for part in parts)
    assert [part["ts"] for part in parts] == sorted(part["ts"] for part in parts)
    sess.close()  # what the card can do is measured by a driver of its own
    profile.plot(tmp_path / "roof.svg")
    assert profile.limits.whole == "GPU" and str(profile.limits).startswith("a GPU does ")
    texts = "".join(xml.fromstring((tmp_path / "roof.svg").read_text()).itertext())
    assert "per second and GPU" in texts and "1_" in texts
    assert str(profile.limits) in str(profile)


def test_metadata_of_one_run(sess):
    x, fetches = started(sess)
    options, metadata = sg.RunOptions(trace_level=sg.RunOptions.FULL_TRACE), sg.RunMetadata()
    for _ in range(2):
        sess.run(fetches, {x: np.ones((2, 12))}, options=options, run_metadata=metadata)
    (device,) = metadata.step_stats.dev_stats
    assert device.device.endswith("/device:GPU:0")
    planned = [k.name for k in sess.plan(fetches, {x: np.ones((2, 12))}).kernels]
    assert [node.node_name for node in device.node_stats][1:-1] == planned


def test_limits_of_a_card(one_driver):
    found = measured(one_driver)
    assert found.flops > 0 and found.wide > 0 and found.bandwidth.keys() == found.levels.keys()
    assert all(rate > 0 for rate in found.bandwidth.values())


# Pictures


def test_a_page_shows_the_functions_of_the_card(sess, tmp_path):
    x, fetches = started(sess)
    with sess.profile() as profile:
        for _ in range(2):
            sess.run(fetches, {x: np.ones((32, 12))})
    page = sg.show(fetches, tmp_path / "net.html", {x: [32, 12]}, session=sess, profile=profile)
    assert page.data["language"] == "CUDA C"
    for kernel in page.data["kernels"]:
        assert kernel["estimate"] is None and kernel["seconds"] > 0 and kernel["functions"]
        assert all(name in page.data["code"] for name in kernel["symbols"])
    texts = "".join(page.data["code"].values())
    assert "__global__" in texts and page.data["memory"]["blocks"]
    plain = sg.show(fetches, feeds={x: [32, 12]})
    assert plain.data["language"] == "LLVM" and not plain.data["kernels"][0]["functions"]


def test_a_drawing_of_a_graph_that_runs_on_a_card(sess):
    _, fetches = started(sess)
    assert "<svg" in sg.visualize(fetches, session=sess).svg
