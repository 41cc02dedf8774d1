"""Groups of operations that shall be on one device, as TensorFlow's ops_test has them."""

import pytest

import staticgraph as sg


def groups(tensor):
    return [group.decode().removeprefix("loc:@") for group in tensor.op.colocation_groups()]


def test_groups_of_contexts():
    a, b = sg.constant(1.0, name="a"), sg.constant(2.0, name="b")
    with sg.colocate_with(a):
        in_a = sg.constant(3.0, name="in_a")
        with sg.colocate_with(in_a.op):
            again = sg.constant(3.0)
        with sg.colocate_with(b):
            both = sg.constant(3.0)
        with sg.colocate_with(b, ignore_existing=True):
            in_b = sg.constant(3.0)
        with sg.colocate_with(None, ignore_existing=True):
            alone = sg.constant(4.0, name="alone")
    assert [*map(groups, (a, in_a, again, both, in_b, alone))] == [
        ["a"], ["a"], ["a"], ["a", "b"], ["b"], ["alone"]
    ]  # fmt: skip
    assert in_a.op.get_attr("_class") == [b"loc:@a"]
    with pytest.raises(ValueError, match="_class"):
        alone.op.get_attr("_class")
    with pytest.raises(ValueError, match="op is None"), sg.colocate_with(None):
        pass


def test_a_variable_joins_a_group():
    a = sg.Variable([2.0], name="a")
    with sg.colocate_with(a):
        b = sg.Variable([3.0], name="b")
    assert b.op.colocation_groups() == [b"loc:@a"]


def test_colocation_is_stronger_than_a_device():
    with sg.device("/cpu:0"):
        with sg.device("/device:GPU:0"):
            a = sg.constant(1.0)
        with sg.colocate_with(a), sg.device("/cpu:0"):
            b = sg.constant(2.0)
        c = sg.constant(3.0)
    assert [t.device for t in (a, b, c)] == ["/device:GPU:0", "/device:GPU:0", "/device:CPU:0"]


def test_a_graph_def_has_the_groups():
    with sg.Graph().as_default() as graph:
        a = sg.constant(1.0, name="a")
        with sg.colocate_with(a):
            sg.constant(2.0, name="b")
    nodes = {node.name: node for node in graph.as_graph_def().node}
    assert list(nodes["b"].attr["_class"].list.s) == [b"loc:@a"]
    assert "_class" not in nodes["a"].attr
    with sg.Graph().as_default(), sg.Session() as sess:
        assert sess.run(sg.import_graph_def(graph.as_graph_def(), return_elements=["b:0"])) == [2.0]


def test_gradients_join_the_groups_of_their_operations():
    w, x = sg.constant([[1.0]]), sg.constant([[1.0, 2.0]])
    with sg.device("/device:GPU:0"):
        y = sg.matmul(w, x, name="y")
    (together,) = sg.gradients(y, [w], colocate_gradients_with_ops=True)
    (alone,) = sg.gradients(y, [w])
    assert groups(together) == groups(y) == ["y"] != groups(alone)
    assert together.device == y.device != alone.device
    v = sg.Variable(2.0)
    loss = sg.square(v, name="loss")
    optimizer = sg.train.GradientDescentOptimizer(0.1)
    [(gradient, _)] = optimizer.compute_gradients(loss, [v], colocate_gradients_with_ops=True)
    assert groups(gradient) == ["loss"]
