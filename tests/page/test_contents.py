"""Contents of a page: stages, kernels with their lines and costs, why two are two, and what differs."""

import json

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.stages import STAGES
from tests.viz.graphs import chain, scaled_training, training


def mlp():
    x = sg.placeholder(sg.float32, [64, 32], name="x")
    w = sg.Variable(np.zeros((32, 16), np.float32), name="w")
    return sg.nn.relu(sg.matmul(x, w) + 1.0)


def boxes(stage):
    return [box for sheet in stage["sheets"] for box in sheet["boxes"]]


def leaves(stage):
    return [box for box in boxes(stage) if "inside" not in box]


def test_the_stages_of_a_run():
    data = sg.show(scaled_training()).data
    assert [stage["name"] for stage in data["stages"]] == ["user", "step", "expand", "simplify", "fused"]
    assert json.loads(json.dumps(data)) is not None


def test_passes_that_change_nothing_are_not_shown():
    assert [stage["name"] for stage in sg.show(chain(4)).data["stages"]] == ["user", "step", "fused"]


def test_every_stage_of_the_compiler_is_told():
    told = sg.show(scaled_training()).data["compile"]
    assert [stage["name"] for stage in told] == [stage.name for stage in STAGES]
    by_name = {stage["name"]: stage for stage in told}
    assert all(by_name[name]["changed"] for name in ("capture", "simplify", "print_llvm"))
    assert by_name["loops"]["effect"] == "changed nothing"
    assert by_name["print_cuda"]["effect"] == "did not run"


def test_of_a_whole_graph_only_the_graph_is_shown():
    y = chain(4)
    data = sg.show(y.graph).data
    assert [stage["name"] for stage in data["stages"]] == ["user"]
    assert data["kernels"] == [] and data["memory"] is None


def test_a_kernel_has_its_operations_lines_code_and_cost():
    data = sg.show(mlp()).data
    kernel = next(k for k in data["kernels"] if "matmul" in k["ops"])
    assert {"matmul", "relu"} <= set(kernel["ops"])
    assert any(text.startswith("return sg.nn.relu(") for _, text in kernel["lines"])
    assert 2 * 64 * 32 * 16 <= kernel["flops"] <= 2 * 64 * 32 * 16 + 8 * 64 * 16
    assert kernel["bytes"] >= 4 * (64 * 32 + 32 * 16)
    assert kernel["estimate"] > 0 and kernel["seconds"] is None
    assert kernel["ir"].startswith("kernel ") and "for i0 in 0..64" in kernel["ir"]
    assert kernel["symbols"] and all("define" in data["code"][symbol] for symbol in kernel["symbols"])


def test_every_kernel_can_be_found_in_the_drawing():
    data = sg.show(training()).data
    drawn = [box["kernel"] for box in boxes(data["stages"][-1]) if "kernel" in box]
    assert sorted(drawn) == sorted(kernel["name"] for kernel in data["kernels"])


def test_kernels_of_a_loop_are_found_too():
    x = sg.placeholder(sg.float32, [8], name="x")
    y = sg.while_loop(lambda i, v: i < 5, lambda i, v: (i + 1, sg.tanh(v) * x), (0, x))[1]
    data = sg.show(y).data
    inside = [kernel["name"] for kernel in data["kernels"] if kernel["inside"] == "loop"]
    drawn = {box.get("kernel") for box in boxes(data["stages"][-1])}
    assert inside and set(inside) <= drawn


def test_neighbours_tell_why_they_are_two():
    x = sg.placeholder(sg.float32, [64, 32], name="x")
    w = sg.Variable(np.zeros((32, 32), np.float32), name="w")
    data = sg.show(sg.matmul(sg.tanh(sg.matmul(x, w)), w)).data
    first, second = data["kernels"]
    reason = "a product reads its operands from memory"
    reason += "; a product shares its loops only with arithmetic on its tiles"
    assert first["apart"] == [(second["name"], reason)] and second["apart"] == [(first["name"], reason)]


def test_a_profile_is_shown_and_a_name_that_is_not_there_is_refused():
    name = sg.show(y := mlp()).data["kernels"][0]["name"]
    assert sg.show(y, profile={name: 0.25}).data["kernels"][0]["seconds"] == 0.25
    with pytest.raises(ValueError, match=rf"no kernel has this name[\s\S]*did you mean '{name}'"):
        sg.show(y, profile={name + "x": 1.0})


def test_the_profile_of_a_program_with_open_sizes_and_checks_is_shown():
    """Its names of kernels were refused: it has one that looks at labels, and a bias is in another kernel."""
    x, y = sg.placeholder(sg.float32, [None, 8]), sg.placeholder(sg.int64, [None])
    hidden = sg.layers.dense(x, 16, activation=sg.nn.relu)
    loss = sg.losses.sparse_softmax_cross_entropy(y, sg.layers.dense(hidden, 10))
    step = sg.train.AdamOptimizer().minimize(loss)
    feeds = {x: np.ones((4, 8), np.float32), y: np.array([1, 2, 3, 4])}
    with sg.Session() as session:
        session.run(sg.global_variables_initializer())
        with session.profile() as profile:
            session.run(step, feeds)
        data = sg.show(step, feeds=feeds, session=session, profile=profile).data
    assert len(data["kernels"]) > 5 and all(kernel["seconds"] > 0 for kernel in data["kernels"])


def test_the_profile_of_a_session_is_shown():
    """Its loops, and the time between kernels, are none of the page's kernels."""
    x = sg.placeholder(sg.float32, [4], name="x")
    _, y = sg.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, sg.tanh(y)), (0, sg.exp(x)))
    with sg.Session() as sess:
        with sess.profile() as profile:
            sess.run(y, {x: [1, 2, 3, 4]})
        kernels = sg.show(y, profile=profile, session=sess).data["kernels"]
    assert any("loop" in name for name in profile.seconds)
    measured = [kernel["name"] for kernel in kernels if kernel["seconds"]]
    assert measured and set(measured) <= profile.seconds.keys()


def test_what_is_no_profile():
    with pytest.raises(TypeError, match="show: profile is int"):
        sg.show(mlp(), profile=3)


def test_what_a_pass_leaves_alone_is_the_same_box_before_and_after():
    x = sg.placeholder(sg.float32, [4], name="x")
    stages = {s["name"]: s for s in sg.show(sg.tanh(sg.exp(x) - 1.0)).data["stages"]}
    same = {name: {b["same"][0]: b["title"] for b in leaves(stages[name])} for name in ("step", "simplify")}
    fresh = [title for key, title in same["simplify"].items() if key not in same["step"]]
    gone = [title for key, title in same["step"].items() if key not in same["simplify"]]
    assert fresh == ["expm1"] and sorted(gone) == ["exp", "subtract"]


def test_boxes_of_the_user_and_of_the_compiler_are_matched_by_line():
    user, step = sg.show(mlp()).data["stages"][:2]
    named = ("relu", "matmul")
    lines = [{b["same"][1] for b in leaves(s) if b["title"].lower() in named} for s in (user, step)]
    assert lines[0] == lines[1] and len(lines[0]) == 2


def test_assumed_sizes_are_told():
    x = sg.placeholder(sg.float32, [None, 3], name="x")
    assert "unknown sizes taken as 32: x" in sg.show(x * 2.0).data["stages"][-1]["notes"]
    assert sg.show(x * 2.0, feeds={x: (7, 3)}).data["stages"][-1]["notes"] == ()


def test_programs_of_a_session_tell_their_open_sizes_and_the_guard_that_failed():
    x, y = (sg.placeholder(sg.float32, [None, 2], name=name) for name in "xy")
    total = sg.add(x, y, name="total")
    assert sg.show(total).data["programs"] == []
    with sg.Session(open_sizes=True, device="cpu") as session:
        session.run(x * 2.0, {x: np.ones((3, 2))})
        for rows, others in ((3, 3), (5, 5), (1, 4)):
            session.run(total, {x: np.ones((rows, 2)), y: np.ones((others, 2))})
        one, two = sg.show(total, session=session).data["programs"]
        assert len(sg.show(total.graph, session=session).data["programs"]) == 3
    assert (one["what"], one["symbols"], one["guards"], one["failed"]) == (
        "total",
        ["n0: axis 0 of x"],
        [],
        "",
    )
    assert two["symbols"] == ["n1: axis 0 of y"] and two["guards"] == ["n1 != 1"]
    assert two["failed"] == session.compiles[-1].failed == "the guard that axis 0 of y goes with axis 0 of x"
    assert two["place"].startswith("test_contents.py:")


def test_boxes_of_two_calls_of_one_function_are_told_apart():
    def layer(x):
        return sg.tanh(x * 2.0)

    y = layer(layer(sg.placeholder(sg.float32, [4], name="x")))
    stages = {stage["name"]: stage for stage in sg.show(y).data["stages"]}
    (user,) = (
        {b["title"].lower(): b for b in leaves(stages[name]) if "tanh" in b["title"].lower()}
        for name in ("user",)
    )
    assert len({box["place"] for box in user.values()}) == 1
    made = [box["made"] for box in user.values()]
    assert len(set(made)) == 2
    assert sorted(made) == sorted(b["made"] for b in leaves(stages["step"]) if b["title"] == "tanh")
