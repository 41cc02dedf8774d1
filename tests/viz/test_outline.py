"""A training graph as its user thinks of it: the model, and gradients and optimizer beside it."""

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.graph.world import MEMBERSHIP, SingleProcess
from staticgraph.draw.fold import fold
from staticgraph.draw.model import Drawing, Flow, Role
from staticgraph.draw.outline import blocks as once
from staticgraph.draw.outline import outlined
from staticgraph.draw.recorded import recorded
from tests.viz.graphs import arrows, by_title, chain, drawn


def perceptron() -> list:
    x = sg.placeholder(sg.float32, [None, 784], name="x")
    y = sg.placeholder(sg.float32, [None, 10], name="y")
    hidden = sg.layers.dense(x, 128, activation=sg.nn.relu)
    loss = sg.losses.mean_squared_error(y, sg.layers.dense(hidden, 10))
    return [loss, sg.train.AdamOptimizer(0.002).minimize(loss)]


def blocks(count: int, training: bool = False) -> list:
    x = sg.placeholder(sg.float32, [None, 8], name="x")
    for i in range(count):
        with sg.variable_scope(f"block{i}"):
            inner = sg.layers.dense(x, 16, name="up")
            inner = sg.tanh(inner, name="bend")
            x = sg.add(x, sg.layers.dense(inner, 8, name="down"), name="sum")
    loss = sg.reduce_sum(x, name="loss")
    return [loss, sg.train.MomentumOptimizer(0.1, 0.9).minimize(loss)] if training else [loss]


def outline(fetches: list, *opened: str) -> Drawing:
    return outlined(drawn(*fetches), opened)


def test_a_training_graph_is_layers_a_loss_gradients_and_an_optimizer():
    drawing = outline(perceptron())
    boxes = by_title(drawing)
    assert set(boxes) == {"x", "y", "dense", "dense_1", "mean_squared_error", "gradients", "Adam"}
    assert boxes["dense"].lines == ("MatMul, BiasAdd, Relu",)
    assert boxes["dense"].weights == ("kernel 784×128", "bias 128")
    assert boxes["Adam"].role is Role.OPTIMIZER and boxes["Adam"].fetched
    assert boxes["Adam"].lines == ("learning rate 0.002", "changes 4 variables")
    assert drawing.notes == ("102 k parameters",)
    assert {(a, b) for a, b, _ in arrows(drawing)} == {
        ("x", "dense"),
        ("dense", "dense_1"),
        ("dense_1", "mean_squared_error"),
        ("y", "mean_squared_error"),
        ("mean_squared_error", "gradients"),
        ("gradients", "Adam"),
    }


def test_an_exchange_of_several_processes_is_one_box(monkeypatch: pytest.MonkeyPatch):
    world = SingleProcess()
    world.size = 2
    monkeypatch.setattr(MEMBERSHIP, "world", world)
    x = sg.placeholder(sg.float32, [None, 784], name="x")
    loss = sg.reduce_mean(sg.square(sg.layers.dense(sg.layers.dense(x, 3), 2)), name="loss")
    drawing = outline([sg.distribute.Optimizer(sg.train.AdamOptimizer(0.002)).minimize(loss)])
    assert by_title(drawing)["exchange"].lines == ("all_reduce",)
    assert {("gradients", "exchange"), ("exchange", "Adam")} <= {(a, b) for a, b, _ in arrows(drawing)}


def test_a_kernel_that_exchanges_is_told_as_such(monkeypatch: pytest.MonkeyPatch):
    world = SingleProcess()
    world.size = 2
    monkeypatch.setattr(MEMBERSHIP, "world", world)
    total = sg.distribute.all_reduce(sg.placeholder(sg.float32, [4], name="x") * 2)
    told = sg.visualize(total, stage="fused").dot
    assert "exchange with other processes" in told and "call of NumPy" not in told


def test_the_loss_of_all_shards_has_a_name():
    loss = sg.reduce_mean(sg.layers.dense(sg.placeholder(sg.float32, [8, 4]), 3), name="cost")
    opt = sg.distribute.Optimizer(sg.train.AdamOptimizer(0.002), shards=4)
    opt.minimize(loss)
    assert opt.loss.op.name == "shards/loss"


def test_gradients_in_a_loop_are_one_box_there():
    w = sg.get_variable("w", [3])

    def body(i, v):
        return i + 1, v - 0.1 * sg.gradients(sg.reduce_sum(sg.square(v), name="loss"), v)[0]

    drawing = outline([sg.while_loop(lambda i, v: i < 5, body, [0, w + 1.0])[1]])
    [box] = [box for box in drawing.boxes if box.role is Role.GRADIENTS]
    assert box.lines == ("of while/loss", "by 1 tensor")
    assert [link.source for link in drawing.links if link.target == box.key] == ["while/loss"]


@pytest.mark.parametrize(
    "make",
    [
        lambda loss: sg.train.AdagradOptimizer(0.1).minimize(loss, sg.train.create_global_step()),
        lambda loss: sg.train.RMSPropOptimizer(0.1).minimize(loss),
        lambda loss: clipped(sg.train.FtrlOptimizer(0.1), loss),
    ],
)
def test_every_optimizer_is_one_box(make):
    x = sg.placeholder(sg.float32, [None, 4], name="x")
    loss = sg.reduce_sum(sg.layers.dense(x, 3), name="loss")
    boxes = outline([make(loss)]).boxes
    [box] = [box for box in boxes if box.role is Role.OPTIMIZER]
    assert "changes 2 variables" in box.lines or "changes 3 variables" in box.lines
    assert not any(box.role is Role.ASSIGN or box.title.endswith("power") for box in boxes)


def clipped(optimizer, loss):
    pairs = optimizer.compute_gradients(loss)
    return optimizer.apply_gradients([(sg.clip_by_value(g, -1.0, 1.0), v) for g, v in pairs])


def test_scopes_are_opened_on_request():
    fetches = perceptron()
    assert Role.ASSIGN in {box.role for box in outline(fetches, "Adam").boxes}
    titles = {box.title for box in outline(fetches, "dense").boxes}
    assert {"MatMul", "BiasAdd", "Relu"} <= titles and "dense" not in titles


def test_equal_blocks_are_drawn_once_with_arrows_to_the_next():
    drawing = outline(blocks(5, training=True))
    around = {drawing.region(box.path[:1]).title for box in drawing.boxes if box.path}
    assert around == {"block0 … block4 × 5"}
    boxes = by_title(drawing)
    assert {"x", "up", "bend", "down", "sum", "loss", "gradients", "Momentum"} == set(boxes)
    assert boxes["up"].parameters == 5 * (8 * 16 + 16)
    titles = {box.key: box.title for box in drawing.boxes}
    again = {(titles[a.source], titles[a.target]) for a in drawing.links if a.flow is Flow.NEXT}
    assert again == {("sum", "up"), ("sum", "sum")}


def test_blocks_that_differ_or_are_few_are_all_drawn():
    assert not outline(blocks(2)).regions
    x = sg.placeholder(sg.float32, [None, 8], name="x")
    for i, size in enumerate((8, 8, 16, 8)):
        with sg.variable_scope(f"layer{i}"):
            x = sg.tanh(sg.layers.dense(x, size))
            x = sg.exp(x)
    assert not outline([x]).regions


def test_equal_layers_in_a_row_are_one_box_that_counts_them():
    x = sg.placeholder(sg.float32, [None, 8], name="x")
    for _ in range(4):
        x = sg.layers.dense(x, 8, activation=sg.nn.relu)
    boxes = by_title(outline([sg.reduce_sum(x)]))
    assert boxes["dense … dense_3"].lines == ("MatMul, BiasAdd, Relu", "4 in a row")


def test_weights_that_two_calls_share_are_told_twice():
    x, z = (sg.placeholder(sg.float32, [None, 4], name=name) for name in "xz")
    layer = sg.layers.Dense(3)
    drawing = outline([layer(x) + layer(z)])
    assert [box.weights for box in drawing.boxes if box.weights] == [
        ("kernel 4×3",),
        ("bias 3",),
        ("kernel 4×3 (shared)",),
        ("bias 3 (shared)",),
    ]
    assert Role.VARIABLE not in {box.role for box in drawing.boxes}


def test_what_many_read_has_stubs():
    flag = sg.placeholder(sg.float32, [], name="training")
    y = sg.placeholder(sg.float32, [None], name="y")
    for operation in (sg.add, sg.multiply, sg.subtract, sg.maximum, sg.minimum, sg.divide):
        y = operation(y, flag)
    stubs = [box for box in outline([y]).boxes if box.role is Role.STUB]
    assert len(stubs) == 6 and {box.title for box in stubs} == {"training"}


def test_an_arrow_tells_a_shape_where_it_changes():
    x = sg.placeholder(sg.float32, [None, 4], name="x")
    y = sg.reduce_sum(sg.exp(sg.tanh(x, name="a"), name="b"), 1, name="c")
    assert arrows(outline([sg.negative(y, name="d")])) == {
        ("x", "a", "?×4 f32"),
        ("a", "b", ""),
        ("b", "c", ""),
        ("c", "d", "? f32"),
    }


def test_batch_normalization_is_a_box_though_it_assigns():
    x = sg.placeholder(sg.float32, [None, 4, 4, 3], name="x")
    y = sg.layers.batch_normalization(x, training=True, name="norm")
    updates = sg.get_collection(sg.GraphKeys.UPDATE_OPS)
    with sg.control_dependencies(updates):
        step = sg.train.GradientDescentOptimizer(0.1).minimize(sg.reduce_sum(y, name="loss"))
    boxes = by_title(outline([step]))
    assert set(boxes) == {"x", "norm", "loss", "gradients", "GradientDescent"}
    assert len(boxes["norm"].weights) == 4


def test_pictures_of_all_kinds_can_be_made_of_an_outline():
    for fetches in (perceptron(), blocks(4, training=True)):
        folded = fold(outline(fetches), most=100)
        keys = {box.key for box in folded.boxes}
        assert all({link.source, link.target} <= keys for link in folded.links)
        assert sg.visualize(fetches).svg.count("<g") > len(folded.boxes)
    assert sg.visualize(fetches, max_nodes=None).boxes > sg.visualize(fetches).boxes
    assert np.all([box.title for box in folded.boxes])


def test_a_layer_tells_its_operations_by_their_whole_names():
    x = sg.placeholder(sg.float32, [None, 8, 8, 1], name="x")
    boxes = by_title(outline([sg.layers.conv2d(x, 4, 3, activation=sg.nn.relu, name="conv")]))
    assert boxes["conv"].lines == ("Conv2D, BiasAdd, Relu",)


def test_a_whole_graph_is_drawn_as_what_is_trained_in_it():
    loss = perceptron()[0]
    sg.global_variables_initializer()
    sg.train.Saver()
    boxes = by_title(outlined(recorded(loss.graph, None, ())))
    assert set(boxes) == {"x", "y", "dense", "dense_1", "mean_squared_error", "gradients", "Adam"}
    assert boxes["dense"].weights == ("kernel 784×128", "bias 128")


def test_a_layer_is_drawn_beside_the_start_of_its_variables():
    x = sg.placeholder(sg.float32, [None, 4], name="x")
    y = sg.layers.dense(x, 3, name="dense")
    boxes = by_title(outline([y, sg.global_variables_initializer()]))
    assert {"x", "dense"} <= set(boxes)
    assert boxes["dense"].weights == ("kernel 4×3", "bias 3")


def test_a_chain_of_operations_is_not_gone_through_from_each_of_them(monkeypatch: pytest.MonkeyPatch):
    compared = 0

    class Look:
        __hash__ = None

        def __eq__(self, other: object) -> bool:
            nonlocal compared
            compared += 1
            return True

    monkeypatch.setattr(once, "_look", lambda *_: Look())
    assert len(outline([chain(300)]).boxes) == 301
    assert compared == 0
