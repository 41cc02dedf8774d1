"""`import_graph_def`: names, scopes, what replaces inputs, and what is refused."""

from pathlib import Path

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler import ops
from staticgraph.formats.tf.graph_def import GraphDefError, own_nodes
from staticgraph.formats.tf.messages import GraphDef
from staticgraph.formats.tf.messages.tensors import make_tensor_proto
from staticgraph.formats.tf.messages.types import DataType

FLOAT = DataType.Value("DT_FLOAT")


@pytest.fixture
def graph():
    with sg.Graph().as_default() as graph:
        yield graph


def nodes(*told):
    """A GraphDef of (name, type, inputs, attributes)."""
    made = GraphDef()
    for name, type, inputs, attrs in told:
        node = made.node.add(name=name, op=type)
        node.input.extend(inputs)
        for key, value in attrs.items():
            node.attr[key].CopyFrom(sg.messages.AttrValue(**value))
    return made


def const(name, value):
    return (name, "Const", [], {"dtype": {"type": FLOAT}, "value": {"tensor": make_tensor_proto(value)}})


def unary(name, type, *inputs):
    return (name, type, list(inputs), {"T": {"type": FLOAT}})


EXP = nodes(const("c", 1.0), unary("y", "Exp", "c"))


class TestNames:
    def test_the_scope_is_import(self, graph):
        assert sg.import_graph_def(EXP) is None
        assert [op.name for op in graph.get_operations()] == ["import/c", "import/y"]

    def test_a_second_time_it_is_another(self, graph):
        sg.import_graph_def(EXP)
        [again] = sg.import_graph_def(EXP, return_elements=["y"])
        assert again.name == "import_1/y"

    def test_without_a_scope_names_are_as_they_were(self, graph):
        sg.import_graph_def(EXP, name="")
        assert graph.has_operation("y")
        [again] = sg.import_graph_def(EXP, return_elements=["y:0"], name="")
        assert again.name == "y_1:0"

    def test_an_open_scope_comes_first(self, graph):
        with sg.name_scope("outer"):
            [y] = sg.import_graph_def(EXP, return_elements=["y"], name="inner")
        assert y.name == "outer/inner/y"

    def test_nodes_may_come_in_any_order(self, graph):
        sg.import_graph_def(nodes(unary("y", "Exp", "c"), const("c", 1.0)))
        assert [op.name for op in graph.get_operations()] == ["import/c", "import/y"]


class TestInputMap:
    def test_a_tensor_in_place_of_one(self, graph):
        x = sg.constant(2.0)
        [y] = sg.import_graph_def(EXP, {"c:0": x}, ["y:0"])
        assert y.op.inputs == (x,)

    def test_a_control_dependency(self, graph):
        given = nodes(const("c", 1.0), unary("y", "Exp", "c", "^before"), ("before", "NoOp", [], {}))
        mine = sg.no_op(name="mine")
        [y] = sg.import_graph_def(given, {"^before": mine}, ["y"])
        assert y.control_inputs == [mine]

    def test_names_that_are_not_there(self, graph):
        with pytest.raises(ValueError, match=r"not found in graph_def: \[z:0\]"):
            sg.import_graph_def(EXP, {"z": sg.constant(1.0)})

    def test_return_elements_that_are_not_there(self, graph):
        with pytest.raises(ValueError, match="'yy:0' not found in graph_def; did you mean 'y'"):
            sg.import_graph_def(EXP, return_elements=["yy:0"])


class TestRefused:
    @pytest.mark.parametrize(
        ("given", "text"),
        [
            (nodes(("a", "Tanhh", [], {})), "node 'a' is of type 'Tanhh'.*the nearest is Tanh"),
            (nodes(("a", "Enter", [], {})), "node 'a' .Enter. has 0 inputs, and not 1"),
            (nodes(const("a", 1.0), unary("b", "Enter", "a")), "the loop of node 'b' has 0 conditions"),
            (nodes(const("a", 1.0), unary("b", "Exit", "a")), "node 'b' is an Exit and in no loop"),
            (nodes(const("a", 1.0), unary("b", "Merge", "a", "a")), "node 'b' .Merge. cannot be imported"),
            (nodes(("a", "PartitionedCall", [], {})), "the GraphDef has no function ''"),
            (nodes(("a", "sg.no_such", [], {})), "node 'a' is of type 'sg.no_such'"),
            (nodes(("a", "sg.nothing", [], {})), "node 'a' is of type 'sg.nothing'"),
            (nodes(const("a", 1.0), const("a", 1.0)), "two nodes of the GraphDef are called 'a'"),
            (nodes(unary("a", "Exp", "b")), "node 'a' has the input 'b', and the GraphDef has no such node"),
            (nodes(unary("a", "Exp", "b"), unary("b", "Exp", "a")), "node 'a' of the GraphDef needs itself"),
            (nodes(const("a", 1.0), unary("b", "Exp", "a:7")), "it needs output 7 of 'a', which has 1 here"),
            (nodes(const("a", 1.0), unary("b", "Exp", "a:x")), "'a:x' is not the name of an input"),
            (nodes(const("a", 1.0), unary("b", "Exp")), "it has 0 inputs, which are not those of Exp: x"),
            (nodes(const("a", 1.0), ("b", "Exp", ["a"], {})), "it has no attribute 'T'"),
            (nodes(const("a", 1.0), ("b", "Exp", ["a"], {"T": {"i": 3}})), "'T' cannot be read:\\sit holds"),
            (nodes(const("a", 1.0), ("b", "Exp", ["a"], {"T": {"type": 2}})), "x is float32, and must be fl"),
            (nodes(const("a b", 1.0)), "'a b' is not a valid operation name"),
            (nodes(const("a", 1.0), unary("p", "Switch", "a", "a")), "node 'p' .Switch. cannot be imported"),
        ],
    )
    def test_with_the_name_of_the_node(self, graph, given, text):
        with pytest.raises(GraphDefError, match=text):
            sg.import_graph_def(given)

    def test_what_is_no_graph_def(self, graph):
        with pytest.raises(TypeError, match=r"graph_def must be a GraphDef proto"):
            sg.import_graph_def("graph.pb")

    def test_nothing_is_made_where_a_type_is_unknown(self, graph):
        with pytest.raises(GraphDefError):
            sg.import_graph_def(nodes(const("c", 1.0), ("a", "Tanhh", ["c"], {})))
        assert graph.get_operations() == []

    def test_a_file_to_write_to(self, graph):
        text = ("s", "Const", [], {"dtype": {"type": 7}, "value": {"tensor": make_tensor_proto("text")}})
        line = ("p", "PrintV2", ["s"], {"output_stream": {"s": b"file:///etc/passwd"}})
        with pytest.raises(GraphDefError, match="only write to stdout and stderr"):
            sg.import_graph_def(nodes(text, line))


class TestMemory:
    def test_one_value_for_many_places_stays_one(self, graph):
        proto = make_tensor_proto(1.0, shape=[1 << 14, 1 << 14])
        given = nodes(("big", "Const", [], {"dtype": {"type": FLOAT}, "value": {"tensor": proto}}))
        [big] = sg.import_graph_def(given, return_elements=["big:0"])
        assert big.shape.as_list() == [1 << 14, 1 << 14]
        assert all(
            op.attrs["value"].array.nbytes < 100 for op in graph.get_operations() if op.type == "Const"
        )

    def test_a_deep_chain(self, graph):
        chain = [const("n0", 1.0), *(unary(f"n{i}", "Neg", f"n{i - 1}") for i in range(1, 3000))]
        sg.import_graph_def(nodes(*reversed(chain)))
        assert len(graph.get_operations()) == 3000


class TestLoopsAndBranches:
    def test_they_come_back(self, graph):
        x = sg.placeholder(sg.float32, [3], name="x")
        _, total = sg.while_loop(
            lambda i, t: i < 3, lambda i, t: (i + 1, sg.cond(t[0] > 4.0, lambda: t, lambda: t * 2.0)), (0, x)
        )
        y = sg.multiply(total, 1.0, name="y")
        (slope,) = sg.gradients(y, x)
        feeds = np.array([1.0, 2.0, 3.0], np.float32)
        with sg.Session() as sess:
            expected = sess.run([y, slope], {"x:0": feeds})
        with sg.Graph().as_default() as again, sg.Session(graph=again) as sess:
            sg.import_graph_def(graph.as_graph_def(), name="")
            found = sess.run(["y:0", slope.name], {"x:0": feeds})
        np.testing.assert_array_equal(found, expected)

    def test_a_region_that_is_nobodys(self, graph):
        given = nodes((*const("a", 1.0)[:3], {**const("a", 1.0)[3], "_region": {"i": 5}}))
        with pytest.raises(GraphDefError, match="is in region 5"):
            sg.import_graph_def(given)


def changed_nodes(given, draw):
    """A GraphDef of which a few nodes have other inputs or another type."""
    nodes = list(given.node)
    for _ in range(draw.integers(1, 4)):
        node, other = (nodes[at] for at in draw.integers(0, len(nodes), 2))
        match draw.integers(4):
            case 0 if node.input:
                node.input[int(draw.integers(len(node.input)))] = other.name
            case 1:
                node.op = other.op
            case 2 if node.input:
                del node.input[int(draw.integers(len(node.input)))]
            case 3 if other.input:
                node.input.append(other.input[0])
    return given


class TestStructures:
    def test_names_are_those_of_the_nodes(self, graph):
        with sg.Graph().as_default() as other:
            _, y = sg.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * 2.0), (0, 1.0))
            sg.cond(y > 2.0, lambda: y, lambda: -y)
        sg.import_graph_def(other.as_graph_def())
        for name in ("while/Merge", "while/Identity_1", "while/mul", "while/Exit_1", "cond/Neg"):
            assert graph.has_operation(f"import/{name}")

    @pytest.mark.takes_long
    @pytest.mark.parametrize("name", ["loops", "branches", "functional_loops", "functional_branches"])
    def test_random_changes_of_nodes_are_errors_or_graphs(self, name):
        data = (Path(__file__).parent / "data" / "tf" / f"{name}.pb").read_bytes()
        draw, refused = np.random.default_rng(0), 0
        for _ in range(25):
            given = changed_nodes(GraphDef.FromString(data), draw)
            with sg.Graph().as_default():
                try:
                    sg.import_graph_def(given)
                except GraphDefError as error:
                    refused += bool(str(error))
        assert refused > 5

    def test_a_function_that_calls_itself(self, graph):
        given = nodes(const("x", 1.0), ("y", "f", ["x"], {}))
        function = given.library.function.add()
        function.signature.name = "f"
        function.signature.input_arg.add(name="a", type=FLOAT)
        function.signature.output_arg.add(name="b", type=FLOAT)
        function.node_def.add(name="again", op="f", input=["a"])
        function.ret["b"] = "again:b:0"
        with pytest.raises(GraphDefError, match="call one another too deeply"):
            sg.import_graph_def(given)

    def test_functions_that_call_one_another_very_often(self, graph):
        """Twelve functions, each of which calls the next three times: half a million nodes."""
        given = nodes(const("x", 1.0), ("y", "f0", ["x"], {}))
        for i in range(13):
            function = given.library.function.add()
            function.signature.name = f"f{i}"
            function.signature.input_arg.add(name="a", type=FLOAT)
            function.signature.output_arg.add(name="b", type=FLOAT)
            for each in range(3):
                function.node_def.add(name=f"n{each}", op=f"f{i + 1}", input=["a"])
            function.ret["b"] = "n0:b:0" if i < 12 else "a"
        given.library.function[12].ClearField("node_def")
        with pytest.raises(GraphDefError, match="call one another too often"):
            sg.import_graph_def(given)
        assert len(graph.get_operations()) < 8_000

    def test_a_call_with_attributes_of_its_own(self, graph):
        given = nodes(const("x", 2.0), ("y", "f", ["x"], {"T": {"type": FLOAT}}))
        function = given.library.function.add()
        function.signature.name = "f"
        function.signature.input_arg.add(name="a", type_attr="T")
        function.signature.output_arg.add(name="b", type_attr="T")
        node = function.node_def.add(name="square", op="Square", input=["a"])
        node.attr["T"].placeholder = "T"
        function.ret["b"] = "square:y:0"
        [y] = sg.import_graph_def(given, return_elements=["y:0"])
        with sg.Session() as sess:
            assert sess.run(y) == 4.0

    def test_a_type_that_is_unknown_inside_a_function(self, graph):
        given = nodes(const("x", 2.0), ("y", "f", ["x"], {}))
        function = given.library.function.add()
        function.signature.name = "f"
        function.signature.input_arg.add(name="a", type=FLOAT)
        function.node_def.add(name="odd", op="Tanhh", input=["a"])
        with pytest.raises(GraphDefError, match="node 'y/odd' is of type 'Tanhh'"):
            sg.import_graph_def(given)


class TestLargeConstants:
    """Values that are not written out: the last that is listed stands in all other places."""

    @pytest.mark.parametrize("listed", [[], [2.5], [1.5, -1.0, 2.5]])
    def test_few_values_fill_a_large_shape(self, graph, listed):
        given = nodes(("c", "Const", [], {"dtype": {"type": FLOAT}}))
        tensor = given.node[0].attr["value"].tensor
        tensor.dtype, tensor.float_val[:] = FLOAT, listed
        tensor.tensor_shape.dim.add(size=2)
        tensor.tensor_shape.dim.add(size=100_000)
        [c] = sg.import_graph_def(given, return_elements=["c:0"], name="")
        want = np.full(200_000, [0.0, *listed][-1], np.float32)
        want[: len(listed)] = listed
        with sg.Session() as sess:
            np.testing.assert_array_equal(sess.run(c), want.reshape(2, -1))

    @pytest.mark.parametrize("size", [100_000, 2**40])
    def test_too_few_bytes_are_no_constant(self, graph, size):
        """Before, the bytes of one value filled a large shape."""
        given = nodes(("c", "Const", [], {"dtype": {"type": FLOAT}}))
        tensor = given.node[0].attr["value"].tensor
        tensor.dtype, tensor.tensor_content = FLOAT, b"abcd"
        tensor.tensor_shape.dim.add(size=size)
        with pytest.raises(GraphDefError, match=r"4 bytes are no float32|cannot be made"):
            sg.import_graph_def(given)


class TestWhatTensorFlowHasNot:
    def test_nodes_of_our_own_are_told_with_their_reasons(self, graph):
        x = sg.placeholder(sg.float32, [2, 3], name="x")
        sg.gradients(sg.reduce_sum(sg.gather(x, [0], axis=1)), x, name="slope")
        sg.gradients(sg.reduce_sum(sg.gather(x, [0]) * x), x, name="other")
        why = "GatherV2 (GatherV2) gathers along an axis that is not the first"
        assert own_nodes(graph) == {"slope/GatherV2_grad/GatherGradV2": why}

    def test_they_come_back(self, graph):
        x = sg.placeholder(sg.float32, [2, 3], name="x")
        (slope,) = sg.gradients(sg.reduce_sum(sg.gather(x, [0], axis=1) ** 2.0), x)
        with sg.Graph().as_default(), sg.Session() as sess:
            sg.import_graph_def(graph.as_graph_def(), name="")
            assert sess.run(slope.name, {"x:0": np.ones((2, 3))}).tolist() == [[2.0, 0.0, 0.0]] * 2

    def test_arrays_of_loops_that_are_of_our_own_type(self, graph):
        """Whose rows have no shape before the first is written."""
        x = sg.placeholder(sg.float32, [3], name="x")
        array = sg.TensorArray(sg.float32, size=2)
        _, array = sg.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, a.write(i, 2.0 * x)), (0, array))
        array.stack(name="rows")
        tripled = sg.custom_gradient(lambda row: (row + 0.0, lambda dy: 3.0 * dy))
        sg.map_fn(tripled, x)  # TensorFlow has no loop with such a body
        with sg.Graph().as_default(), sg.Session() as sess:
            sg.import_graph_def(graph.as_graph_def(), name="")
            assert sess.run("rows:0", {"x:0": [1, 2, 3]}).tolist() == [[2.0, 4.0, 6.0]] * 2

    def test_nodes_with_effects_keep_the_order_of_the_file(self, graph):
        """Of two writes the first one needs a node further down, and is read first all the same."""
        v = sg.get_variable("v", initializer=[1.0, 2.0])
        sg.identity(sg.assign_add(v, v * 2.0, name="first"), name="one")
        sg.assign(v, sg.stack([v[1], v[0]]), name="second")
        told = graph.as_graph_def()
        late = [node for node in told.node if node.name.startswith("mul")]
        rest = [node for node in told.node if node not in late]
        del told.node[:]
        told.node.extend([*rest, *late])
        with sg.Graph().as_default() as again:
            sg.import_graph_def(told, name="")
            names = [op.name for op in again.get_operations()]
        assert names.index("first") < names.index("second")

    def test_nodes_with_effects_keep_their_order_around_a_branch(self, graph):
        v = sg.get_variable("v", initializer=[1.0, 2.0])
        sg.identity(sg.assign_add(v, v), name="one")
        flag = sg.placeholder_with_default(True, [])
        with sg.control_dependencies([sg.assign(v, v * 3.0)]):
            two = sg.identity(v, name="two")
        sg.identity(sg.cond(flag, lambda: sg.assign_add(v, two), lambda: sg.identity(two)), name="three")
        sg.identity(sg.assign_add(v, v), name="four")
        told = graph.as_graph_def()
        names = ["one:0", "two:0", "three:0", "four:0"]
        with sg.Graph().as_default(), sg.Session() as sess:
            sg.import_graph_def(told, name="")
            sess.run("v/Assign")
            assert [found[0] for found in sess.run(names)] == [2.0, 6.0, 12.0, 24.0]


class TestMany:
    def test_random_changes_of_bytes_are_errors_or_graphs(self):
        data = EXP.SerializeToString()
        with sg.Graph().as_default() as graph:
            a = sg.while_loop(lambda i: i < 3, lambda i: i + 1, [sg.constant(0)])
            sg.cast(a, sg.float32)
            data += graph.as_graph_def().SerializeToString()
        draw = np.random.default_rng(0)
        for _ in range(300):
            changed = bytearray(data)
            for at in draw.integers(0, len(data), 3):
                changed[at] = draw.integers(0, 256)
            try:
                given = GraphDef.FromString(bytes(changed))
            except sg.messages.DecodeError:
                continue
            with sg.Graph().as_default():
                try:
                    sg.import_graph_def(given)
                except GraphDefError as error:
                    assert str(error)


def repeated(*sizes):
    """A GraphDef of one constant of that shape, whose message holds one number."""
    one = make_tensor_proto(np.float32(1.0))
    for size in sizes:
        one.tensor_shape.dim.add(size=size)
    return nodes(("large", "Const", [], {"dtype": {"type": FLOAT}, "value": {"tensor": one}}))


@pytest.mark.parametrize("sizes", [(1 << 62, 4), (1 << 32, 1 << 32)])
def test_a_constant_of_more_elements_than_any_memory_holds_is_refused(graph, sizes):
    with pytest.raises(GraphDefError, match="needs more memory than there are addresses"):
        sg.import_graph_def(repeated(*sizes))


def test_a_size_of_a_constant_beyond_32_bits_is_kept(graph):
    (made,) = sg.import_graph_def(repeated(1 << 33), return_elements=["large:0"])
    assert made.shape.as_list() == [1 << 33]


@pytest.mark.parametrize("key", ["x:0", b"x:0", "x", b"x"])
def test_what_an_input_becomes_is_told_by_text_or_bytes(key):
    with sg.Graph().as_default() as graph:
        sg.identity(sg.placeholder(sg.float32, [], name="x"), name="y")
    with sg.Graph().as_default(), sg.Session() as sess:
        (y,) = sg.import_graph_def(graph.as_graph_def(), {key: sg.constant(3.0)}, ["y:0"])
        assert sess.run(y) == 3
        for wrong in ([sg.constant(3.0)], {3: sg.constant(3.0)}):
            with pytest.raises(TypeError, match="input_map must be a dictionary mapping strings to Tensor"):
                sg.import_graph_def(graph.as_graph_def(), wrong)


def test_sums_of_a_known_number_of_segments_are_those_of_unsorted_ids(graph):
    """TensorFlow's op of sorted ids is not told how many there are."""
    data, ids = sg.constant(np.ones((3, 2), np.float32)), sg.constant([0, 0, 2])
    count = sg.placeholder(sg.int32, [], name="count")
    ops.segment_sum(data, ids, num_segments=count, name="known")
    ops.segment_sum(data, ids, name="told")
    assert own_nodes(graph) == {}
    types = {node.name: node.op for node in graph.as_graph_def().node}
    assert (types["known"], types["told"]) == ("UnsortedSegmentSum", "SegmentSum")
    with sg.Graph().as_default(), sg.Session() as sess:
        made = sg.import_graph_def(graph.as_graph_def(), return_elements=["known:0", "told:0"])
        known, told = sess.run(made, {"import/count:0": 4})
    assert known[:, 0].tolist() == [2, 0, 1, 0] and told[:, 0].tolist() == [2, 0, 1]


def test_a_product_is_read_as_one_though_averages_that_decay_are_written_as_such(graph):
    x = sg.constant([2.0, 3.0])
    ops.decayed(x, 0.5, name="decayed")
    assert [node.op for node in graph.as_graph_def().node if node.name == "decayed"] == ["Mul"]
    with sg.Graph().as_default():
        (made,) = sg.import_graph_def(graph.as_graph_def(), return_elements=["decayed"])
        assert made.definition.name == "multiply"
