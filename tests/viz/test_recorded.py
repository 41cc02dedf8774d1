"""The graph as it was built: what has a box, and what its box and arrows say."""

import numpy as np

import staticgraph as sg
from staticgraph.draw.model import Flow, Role
from staticgraph.draw.recorded import recorded
from tests.viz.graphs import arrows, by_title, drawn, layer, training


def test_a_layer_shows_roles_scopes_types_and_arrows():
    drawing = drawn(layer())
    boxes = by_title(drawing)
    assert {title: (box.role, box.path) for title, box in boxes.items()} == {
        "x": (Role.INPUT, ()),
        "W": (Role.VARIABLE, ("layer",)),
        "b": (Role.VARIABLE, ("layer",)),
        "MatMul": (Role.OP, ("layer",)),
        "add": (Role.OP, ("layer",)),
        "y": (Role.OP, ("layer",)),
    }
    assert boxes["x"].lines == ("?×64 f32",) and boxes["W"].lines == ("64×10 f32",)
    assert boxes["y"].lines == ("Relu",) and boxes["MatMul"].lines == ()  # the name tells the type
    assert [title for title, box in boxes.items() if box.fetched] == ["y"]
    assert arrows(drawing) == {
        ("x", "MatMul", "?×64 f32"),
        ("W", "MatMul", "64×10 f32"),
        ("MatMul", "add", "?×10 f32"),
        ("b", "add", "10 f32"),
        ("add", "y", "?×10 f32"),
    }


def test_tooltips_tell_name_type_and_the_users_line():
    text = by_title(drawn(layer()))["MatMul"].tooltip
    assert "layer/MatMul (MatMul)" in text and "layer/MatMul:0: float32[?, 10]" in text
    assert "graphs.py:" in text and "in layer" in text
    assert 'return sg.nn.relu(sg.matmul(x, w) + b, name="y")' in text


def test_small_constants_and_operands_are_in_the_label_and_large_ones_have_a_box():
    x = sg.placeholder(sg.float32, [2, 3], name="x")
    table = sg.constant(np.arange(60, dtype=np.float32).reshape(3, 20), name="table")
    drawing = drawn(sg.transpose(sg.matmul(x * 2.0, table), [1, 0], name="t"))
    boxes = by_title(drawing)
    assert boxes["t"].lines == ("Transpose, perm = [1, 0]",)
    assert boxes["mul"].lines == ("y = 2",)
    assert boxes["table"].role is Role.CONSTANT and boxes["table"].lines == ("3×20 f32",)
    assert set(boxes) == {"x", "table", "mul", "MatMul", "t"}


def test_a_training_step_shows_gradients_as_one_box_and_what_is_assigned():
    drawing = drawn(*training())
    gradients = [box for box in drawing.boxes if box.role is Role.GRADIENTS]
    assert [(box.title, box.lines) for box in gradients] == [("gradients", ("of loss", "by 2 tensors"))]
    assigned = {box.lines[-1] for box in drawing.boxes if box.role is Role.ASSIGN}
    assert assigned == {"→ layer/W, lr = 0.5", "→ layer/b, lr = 0.5"}
    assert not any(link.flow is Flow.REFERENCE for link in drawing.links)  # the labels say it
    assert any(link.flow is Flow.CONTROL for link in drawing.links)


def test_derivatives_of_a_file_and_of_derivatives_are_boxes(tmp_path):
    x = sg.placeholder(sg.float32, [None, 3], name="x")
    with sg.name_scope("penalty"):
        [slope] = sg.gradients(sg.reduce_sum(sg.tanh(x), name="loss"), [x])
    [again] = sg.gradients(slope * slope, [x])
    sg.save(tmp_path / "net.sg", {"slope": slope, "again": again})
    graph = sg.load(tmp_path / "net.sg").graph
    outputs = [graph.get_operation_by_name(t.op.name) for t in (slope, again)]
    for drawing in (drawn(slope, again), recorded(graph, outputs, outputs)):
        gradients = [box for box in drawing.boxes if box.role is Role.GRADIENTS]
        assert [(box.path, box.title, box.lines, box.fetched) for box in gradients] == [
            (("penalty",), "gradients", ("of penalty/loss", "by 1 tensor"), True),
            ((), "gradients", ("of mul", "by 1 tensor"), True),
        ]


def test_a_variable_that_is_only_assigned_is_linked_to_what_changes_it():
    counter = sg.Variable(0.0, name="counter")
    drawing = drawn(sg.assign_add(counter, 1.0, name="up"))
    assert [(link.source, link.target, link.flow) for link in drawing.links] == [
        ("counter", "up", Flow.REFERENCE)
    ]


def test_a_variables_reads_and_initialiser_are_in_its_box():
    w = sg.get_variable("w", [3], initializer=sg.random_normal_initializer())
    whole = sg.get_default_graph()
    init = sg.global_variables_initializer()
    drawing = drawn(init, w * 2.0)
    assert {box.title for box in drawing.boxes} == {"w", "mul", init.name}
    assert len(whole.get_operations()) > 3 * len(drawing.boxes)
    assert ("w", init.name, "") in arrows(drawing)


def test_slots_of_an_optimizer_are_drawn_in_its_scope():
    loss = sg.reduce_mean(layer(), name="loss")
    drawing = drawn(sg.train.MomentumOptimizer(0.1, 0.9).minimize(loss))
    slots = {box.title: box.path[0] for box in drawing.boxes if box.title.endswith("/Momentum")}
    assert slots == {"W/Momentum": "Momentum", "b/Momentum": "Momentum"}


def test_random_operations_and_control_dependencies_are_marked():
    noise = sg.random_uniform([3], name="noise")
    with sg.control_dependencies([noise]):
        after = sg.no_op(name="after")
    drawing = drawn(after)
    assert Role.RANDOM in {box.role for box in drawing.boxes}
    assert [box.title for box in drawing.boxes if box.role is Role.CONTROL] == ["after"]
    assert [link.target for link in drawing.links if link.flow is Flow.CONTROL] == ["after"]
