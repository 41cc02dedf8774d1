"""`Session.plan`: what a run will do, known before it runs."""

import numpy as np
import pytest

import staticgraph as sg


def network():
    x = sg.placeholder(sg.float32, [None, 20], name="x")
    labels = sg.placeholder(sg.float32, [None, 4], name="labels")
    w = sg.get_variable("w", [20, 4])
    logits = sg.matmul(x, w)
    loss = sg.reduce_mean(sg.nn.softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits))
    step = sg.train.GradientDescentOptimizer(0.1).minimize(loss, name="step")
    return x, labels, w, loss, step


def test_a_plan_of_a_training_step(sess):
    x, labels, w, loss, step = network()
    sess.run(sg.global_variables_initializer())
    before = sess.run(w)
    plan = sess.plan([loss, step], shapes={x: [30, 20], labels: [30, 4]})
    assert (sess.run(w) == before).all()
    products = [k for k in plan.kernels if "matmul" in k.ops]
    assert [k.effort.flops >= 2 * 30 * 20 * 4 for k in products] == [True, True]
    assert plan.flops == sum(k.effort.flops for k in plan.kernels)
    assert plan.bytes == sum(k.effort.bytes for k in plan.kernels)
    assert plan.nanoseconds > 0
    assert plan.memory.feeds == 4 * 30 * (20 + 4)
    assert plan.memory.variables == 4 * 20 * 4
    assert plan.memory.peak >= plan.memory.feeds + plan.memory.variables
    assert len({k.name for k in plan.kernels}) == len(plan.kernels)
    assert all(line.short.startswith("test_plan.py:") for k in plan.kernels for line in k.lines)
    assert {k.symbols for k in plan.kernels}
    executable = sess.executable([loss, step], {x: np.zeros((30, 20)), labels: np.zeros((30, 4))})
    assert plan.memory == executable.compiled.memory


def test_a_plan_compiles_what_the_run_then_uses(sess):
    x = sg.placeholder(sg.float32, [None])
    y = sg.exp(x)
    plan = sess.plan(y, shapes={x: [3]})
    assert [each.what for each in plan.compiles] == ["Exp"]
    sess.run(y, {x: [1, 2, 3]})
    assert len(sess.compiles) == 1
    assert sess.plan(y, {x: [1, 2, 3]}).compiles == ()


def test_what_would_be_compiled_again(sess):
    x, n = sg.placeholder(sg.float32, [None, 3], name="x"), sg.placeholder(sg.int32, [], name="n")
    start, axis = sg.placeholder(sg.float32, None, name="start"), sg.placeholder(sg.int32, [], name="axis")
    v = sg.Variable(start, validate_shape=False, name="v")
    sess.run(v.initializer, {start: [1.0, 2.0]})
    plan = sess.plan(
        sg.reduce_sum(x, axis) + sg.reduce_sum(sg.fill([n], 2.0)) + sg.reduce_sum(v) + start,
        {x: np.ones((5, 3)), n: 7, axis: 1, start: 1.0},
    )
    assert set(plan.recompiled_for) == {
        "another value of axis: shapes depend on it",
        "another shape of start, which is [] here",
        "another shape of the variable v, or whether it has a value",
        "other fetches, or other tensors that are fed; not for other dtypes: values are converted",
    }


def test_what_would_be_compiled_again_for_other_sizes():
    x, y = (sg.placeholder(sg.float32, [None, 3], name=name) for name in "xy")
    total = sg.slice(x + y, [0, 0], [2, 3])
    feeds = {x: np.ones((5, 3)), y: np.ones((5, 3))}
    with sg.Session() as session:
        differ, guards, _ = session.plan(total, feeds).recompiled_for
    assert differ == "sizes that differ along axis 0 of x, axis 0 of y"
    assert guards == "sizes without the guards n0 >= 2 (n0: axis 0 of x)"
    with sg.Session(open_sizes=False) as session:
        assert session.plan(total, feeds).recompiled_for[:2] == (
            "another size of x along axis 0, which is 5 here",
            "another size of y along axis 0, which is 5 here",
        )


def test_why_kernels_are_apart(sess):
    a, b = sg.placeholder(sg.float32, [8, 8]), sg.placeholder(sg.float32, [8, 8])
    plan = sess.plan(sg.matmul(sg.tanh(a), b))
    assert [len(plan.kernels), len(plan.apart)] == [2, 1]
    (pair,) = plan.apart
    assert (pair.maker, pair.reader) == (plan.kernels[0].name, plan.kernels[1].name)
    assert pair.reason.startswith("a product reads its operands from memory")
    assert f"{pair.reader} reads {pair.maker}: " in str(plan)


def test_kernels_of_loops_and_calls_into_numpy(sess):
    x = sg.placeholder(sg.float32, [4, 4])
    y = sg.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, sg.matmul(s, s)), [0, x])[1]
    sizes = sg.placeholder(sg.int32, [2])
    plan = sess.plan([y, sg.broadcast_dynamic_shape(sizes, [3, 1])])
    inside = {k.inside for k in plan.kernels if "matmul" in k.ops}
    assert inside == {"loop"}
    calls = [k for k in plan.kernels if k.effort is None]
    assert len(calls) == 1 and calls[0].nanoseconds is None
    assert "NumPy" in str(plan)


def test_a_shape_is_not_enough_where_values_matter(sess):
    n = sg.placeholder(sg.int32, [], name="n")
    y = sg.fill([n], 2.0) * sg.cast(n, sg.float32)
    with pytest.raises(sg.errors.InvalidArgumentError, match="shapes depend on the value of n"):
        sess.plan(y, shapes={n: []})
    with pytest.raises(sg.errors.InvalidArgumentError, match="shapes depend on the value of n"):
        sess.plan(y)
    assert len(sess.plan(y, {n: 3}).kernels) == 1
    x = sg.placeholder(sg.float32, [3])
    computed = sg.reduce_sum(sg.py_func(lambda a: a, [x], sg.float32)) * x
    with pytest.raises(sg.errors.InvalidArgumentError, match="the shapes of feeds are not enough"):
        sess.plan(computed, shapes={x: [3]})
    assert sess.plan(computed, {x: [1, 1, 1]}).memory.fetches == 12


@pytest.mark.parametrize("shape", [[2, 5], [2], [None, 4], None])
def test_shapes_that_do_not_fit(sess, shape):
    x = sg.placeholder(sg.float32, [None, 4], name="x")
    with pytest.raises(sg.errors.InvalidArgumentError, match="is no shape of a value for x"):
        sess.plan(x * 2.0, shapes={x: shape})


def test_a_placeholder_of_unknown_size_must_be_given(sess):
    x = sg.placeholder(sg.float32, [None, 4], name="x")
    with pytest.raises(sg.errors.InvalidArgumentError, match="x"):
        sess.plan(x * 2.0)


def test_large_shapes_take_no_memory(sess):
    """A plan for more than a machine could hold: only the program's own arena would be allocated."""
    x = sg.placeholder(sg.float32, [None], name="x")
    plan = sess.plan(sg.reduce_sum(x), shapes={x: [2**38]})
    assert plan.memory.feeds == 2**40


def test_the_table(sess):
    x = sg.placeholder(sg.float32, [None, 3], name="x")
    lines = str(sess.plan(sg.reduce_sum(x, name="total"), shapes={x: [100, 3]})).splitlines()
    assert lines[0].startswith("total: 1 kernel, 300 FLOP, 1.2 KB moved, about ")
    assert lines[2].split() == ["kernel", "ops", "FLOP", "bytes", "time", "in", "lines"]
    assert lines[3].startswith("1_reduce_sum")
    assert "memory: 1.3 KB at most" in lines
    assert lines[-2] == "another program is compiled for:"


def test_a_program_that_came_as_machine_code(sess, tmp_path):
    x = sg.placeholder(sg.float32, [2, 3], name="x")
    sg.save(tmp_path / "net.sg", {"y": sg.exp(x)}, session=sess, kernels=["native"])
    with sg.options(no_compile=True):
        net = sg.load(tmp_path / "net.sg", trusted=True)
    assert net(x=np.zeros((2, 3)))["y"].tolist() == [[1.0] * 3] * 2
    with net.session.profile() as profile:
        net(x=np.zeros((2, 3)))
    assert profile.steps == ()
    assert net.session.no_compile and len(net.session.compiles) == 0
    with pytest.raises(sg.errors.InvalidArgumentError, match="came as machine code"):
        net.session.plan(next(iter(net.signatures.values()))._fetches, shapes={net.inputs["x"]: [2, 3]})


def test_the_stages_of_a_compile_are_told(sess):
    x = sg.placeholder(sg.float32, [None], name="x")
    y = sg.exp(x) * 1.0
    plan = sess.plan(y, {x: [1, 2]})
    runs = {run.name: run for run in plan.stages}
    assert runs["simplify"].effect == "" and runs["loops"].effect == "changed nothing"
    assert runs["print_cuda"].effect == "did not run"
    assert runs["capture"].runs and runs["print_llvm"].seconds > 0
    title, _, *rows = str(plan.stages).splitlines()
    assert "of 45 stages in" in title and len(rows) == 45 and "print_llvm" in str(plan.stages)
    assert not sess.plan(y, {x: [3, 4]}).stages  # nothing was compiled


def test_the_stages_are_traced(capfd):
    with sg.Session(trace="stages") as sess:
        sess.run(sg.exp(sg.placeholder_with_default([1.0], [None])), {})
    told = capfd.readouterr().err
    assert "stages in" in told and "apply rewrite rules until none fits" in told
    rows = {line.split()[1]: line for line in told.splitlines() if line.split()[0].isdigit()}
    assert "did not run" not in rows["capture"] and "did not run" in rows["nan_guard"]


@pytest.mark.parametrize("rows", [1, 4, 1000])
def test_a_plan_tells_the_times_of_the_sizes_at_hand(rows):
    x = sg.placeholder(sg.float32, [None, 64])
    y = sg.tanh(sg.matmul(sg.nn.softmax(x), np.ones((64, 64), np.float32)))
    times = []
    for opened in (True, False):
        with sg.Session(open_sizes=opened) as session:
            plan = session.plan(y, shapes={x: [rows, 64]})
            times.append(plan.nanoseconds)
    assert times[0] == pytest.approx(times[1], rel=0.5)


def test_a_kernel_that_reads_a_part_of_a_tensor_moves_the_bytes_of_that_part():
    """As the optimizer's kernels do, of the gradients that processes exchange together."""
    whole = sg.placeholder("float32", [1 << 20])
    parts = [sg.exp(whole[8:24]) * 2.0, sg.reduce_sum(sg.reshape(whole[1024:2048], [32, 32]), 1)]
    with sg.Session() as sess:
        moved = {sess.plan(part).bytes for part in parts}
    assert moved == {2 * 4 * 16, 4 * (1024 + 32)}
