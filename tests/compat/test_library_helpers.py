"""Names beyond the public ones that libraries on top of TensorFlow use. Values are those of TF 1.15."""

import inspect

import numpy as np
import pytest

import staticgraph.compat.tf1 as tf
from staticgraph.formats.tf.meta_graph import collections
from staticgraph.runtime import fetches
from staticgraph.tf1.compat.building import proto_functions

SaverDef = tf.core.protobuf.saver_pb2.SaverDef
nest = tf.contrib.framework.nest
ops = tf.python.framework.ops


@pytest.fixture(autouse=True)
def empty_graph():
    tf.reset_default_graph()


def test_internal_modules_show_those_that_they_import():
    assert tf.python.ops.rnn.rnn_cell_impl.LSTMCell is tf.nn.rnn_cell.LSTMCell
    assert tf.python.ops.rnn.ops.name_scope is tf.name_scope
    with pytest.raises(AttributeError, match="not supported"):
        _ = tf.python.ops.rnn.no_such_module


def test_names_with_and_without_a_scope():
    assert [ops.strip_name_scope(name, "a") for name in ("a/b:0", "^a/b", "loc:@a/b", b"a/b", "ab/c", 5)] == [
        "b:0",
        "^b",
        "loc:@b",
        "b",
        "ab/c",
        5,
    ]
    assert [ops.prepend_name_scope(name, "a/") for name in ("b:0", "^b", "loc:@b", 5)] == [
        "a/b:0",
        "^a/b",
        "loc:@a/b",
        5,
    ]
    assert ops.strip_name_scope("a/b", None) == ops.prepend_name_scope("a/b", "") == "a/b"


def test_helpers_of_cells_and_initializers():
    zeros = tf.python.ops.rnn_cell_impl._zero_state_tensors([3, (tf.TensorShape([2, 2]),)], 4, tf.float32)
    assert [each.shape.as_list() for each in nest.flatten(zeros)] == [[4, 3], [4, 2, 2]]
    check = tf.python.ops.init_ops._assert_float_dtype
    assert check(tf.float64) is tf.float64
    for dtype in (tf.int32, tf.complex64):
        with pytest.raises(ValueError, match="Expected floating point type"):
            check(dtype)
    assert tf.python.ops.variable_scope.variable is tf.Variable
    assert not tf.python.eager.context.in_eager_mode()


def test_argument_specs():
    assert tf.python.util.tf_inspect.getargspec(lambda a, b=1, *c, **d: a) == (["a", "b"], "c", "d", (1,))
    assert tf.python.util.tf_inspect.signature is inspect.signature


def test_a_pure_scope_opens_no_scope_of_names():
    scope = tf.python.ops.variable_scope._pure_variable_scope
    with tf.name_scope("n"), scope("p") as opened:
        assert (opened.name, opened.original_name_scope, tf.constant(1).name) == ("p", "p", "n/Const:0")
        v = tf.get_variable("v", [1])
    with scope(opened, reuse=True), scope("q", old_name_scope="old/", reuse=tf.AUTO_REUSE) as inner:
        assert (inner.name, inner.original_name_scope) == ("p/q", "old/")
    with scope("p", reuse=True):
        assert tf.get_variable("v", [1]) is v


def test_resources_that_are_shared():
    resources = tf.python.ops.resources
    assert resources.initialize_resources(resources.shared_resources()).name == "init"


def test_operators_can_be_overloaded():
    class Box:
        def __init__(self, value):
            self.value = value

    assert {"__add__", "__rmul__", "__getitem__", "__neg__", "__lt__"} <= tf.Tensor.OVERLOADABLE_OPERATORS
    for name in tf.Tensor.OVERLOADABLE_OPERATORS:
        method = getattr(tf.Tensor, name)
        setattr(Box, name, lambda self, *rest, method=method: method(self.value, *rest))
    with tf.Session() as sess:
        assert sess.run([Box(tf.constant(3.0)) * 2.0, 2.0 - Box(tf.constant(3.0))]) == [6.0, -1.0]


def test_eager_names_that_need_no_eager_execution():
    assert tf.contrib.eager.defun(lambda x: x + 1)(tf.constant(1)).dtype is tf.int32
    assert not tf.contrib.eager.in_eager_mode()
    with pytest.raises(AttributeError, match="left out on purpose"):
        _ = tf.contrib.eager.implicit_gradients


def test_an_events_writer(tmp_path):
    writer = tf.pywrap_tensorflow.EventsWriter(str(tmp_path / "train").encode())
    assert writer.InitWithSuffix(".v2")
    writer.WriteEvent(tf.Event(step=3, summary=tf.Summary(value=[{"tag": "loss", "simple_value": 0.5}])))
    assert writer.Flush() and writer.Close()
    path = writer.FileName().decode()
    assert path.startswith(f"{tmp_path}/train.out.tfevents.") and path.endswith(".v2")
    assert [event.step for event in tf.train.summary_iterator(path)] == [0, 3]


class TestPartialStructures:
    def test_parts_up_to_a_structure(self):
        assert nest.flatten_up_to({"a": 0, "b": [0]}, {"b": [(1, 2)], "a": 3}) == [3, (1, 2)]
        assert nest.flatten_up_to(0, [1, 2]) == [[1, 2]]
        assert nest.map_structure_up_to(["x", "y"], lambda a, b: (a, b), [1, [2]], [3, 4]) == [
            (1, 3),
            ([2], 4),
        ]
        assert tf.python.util.nest.flatten_up_to is nest.flatten_up_to

    @pytest.mark.parametrize(
        ("shallow", "given", "error"),
        [
            ([0, 0], [1], ValueError),
            ([0, [0]], [1, 2], TypeError),
            ([0], (1,), TypeError),
            ({"a": 0}, {"b": 0}, ValueError),
        ],
    )
    def test_structures_that_do_not_fit(self, shallow, given, error):
        with pytest.raises(error, match="asked for"):
            nest.assert_shallow_structure(shallow, given)

    def test_types_that_need_not_fit(self):
        nest.assert_shallow_structure([0], (1,), check_types=False)

    def test_dicts_of_structures(self):
        assert nest.flatten_dict_items({(4, (5,)): ("a", ("b",)), 6: "c"}) == {4: "a", 5: "b", 6: "c"}
        with pytest.raises(TypeError, match="takes a dict"):
            nest.flatten_dict_items([1])
        with pytest.raises(ValueError, match="occurs twice"):
            nest.flatten_dict_items({(1, 2): (3, 4), 1: 5})


class TestCreators:
    def test_each_scope_asks_the_one_around_it(self):
        seen = []

        def creator(tag):
            def create(next_creator, **kwargs):
                seen.append((tag, kwargs["name"], kwargs["trainable"], kwargs["validate_shape"]))
                return next_creator(**kwargs)

            return create

        with tf.variable_creator_scope(creator("outer")), tf.variable_creator_scope(creator("inner")):
            v = tf.Variable(1.0, name="v")
            with tf.variable_scope("s", reuse=tf.AUTO_REUSE):
                assert tf.get_variable("w", [2]) is tf.get_variable("w", [2])
        tf.Variable(2.0)
        assert v.name == "v:0"
        assert seen == [
            ("inner", "v", None, True),
            ("outer", "v", None, True),
            ("inner", "s/w", True, True),
            ("outer", "s/w", True, True),
        ]

    def test_a_creator_changes_what_is_made(self):
        def change(next_creator, **kwargs):
            return next_creator(**{**kwargs, "trainable": False, "name": "other"})

        with tf.variable_creator_scope(change):
            assert tf.Variable(1.0, name="v").name == "other:0"
            assert tf.get_variable("w", [1]).name == "other_1:0"
        assert tf.trainable_variables() == []

    def test_a_creator_may_give_something_else(self):
        with tf.variable_creator_scope(lambda next_creator, **kwargs: 7):
            assert (tf.Variable(1.0), tf.get_variable("w", [3])) == (7, 7)

    def test_what_is_no_creator(self):
        with pytest.raises(TypeError, match="must be a function"), tf.variable_creator_scope(3):
            pass


class TestRunConversions:
    @pytest.fixture(autouse=True)
    def registered_for_one_test(self):
        yield
        fetches.CONVERSIONS.clear()

    def test_objects_of_a_class_are_fetched_and_fed(self):
        class Random:
            def __init__(self, tensor):
                self.tensor = tensor

        class Derived(Random):
            pass

        register = tf.python.client.session.register_session_run_conversion_functions
        register(
            Random, lambda r: ([r.tensor, [r.tensor + 1.0]], tuple), lambda r, value: [(r.tensor, value)]
        )
        x = tf.placeholder(tf.float32, [])
        with tf.Session() as sess:
            for value in (3.0, 4.0, 5.0):
                expected = (value, [value + 1.0])
                assert sess.run([Random(x), {"a": Derived(x)}], {Random(x): value}) == [
                    expected,
                    {"a": expected},
                ]
        register(Derived, lambda r: ([r.tensor], lambda values: "derived"))
        with tf.Session() as sess:
            assert sess.run([Derived(x), Random(x)], {x: 1.0}) == ["derived", (1.0, [2.0])]
        with pytest.raises(ValueError, match="registered already"):
            register(Random, lambda r: ([r.tensor], tuple))
        with pytest.raises(TypeError, match="must be a function"):
            register(int, 3)


def test_a_collection_of_messages(monkeypatch):
    monkeypatch.setattr(collections, "PROTO_FUNCTIONS", {})
    monkeypatch.setattr(proto_functions, "PROTO_FUNCTIONS", collections.PROTO_FUNCTIONS)
    ops.register_proto_function(
        "notes",
        SaverDef,
        lambda note, export_scope=None: SaverDef(filename_tensor_name=note),
        lambda told, import_scope=None: f"{import_scope}|{told.filename_tensor_name}",
    )
    tf.constant(1.0, name="c")
    tf.add_to_collection("notes", "first")
    told = tf.train.export_meta_graph()
    with tf.Graph().as_default():
        tf.train.import_meta_graph(told, import_scope="s")
        assert tf.get_collection("notes") == ["s|first"]
    with pytest.raises(KeyError, match="registered already"):
        ops.register_proto_function("notes")


def test_values_of_a_checkpoint_in_a_run(tmp_path):
    tf.Variable(np.arange(12.0, dtype=np.float32).reshape(4, 3), name="v")
    tf.Variable(2.5, name="n")
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        path = tf.train.Saver().save(sess, str(tmp_path / "model"))
    restore = tf.python.ops.io_ops.restore_v2
    (number,) = restore(path, ["n"], [""], [tf.float32])
    whole, part = restore(path, ["v", "v"], ["", "4 3 1,2:0,3"], [tf.float32, tf.float32])
    with tf.Session() as sess:
        assert sess.run(number).shape == () and sess.run(whole).shape == (4, 3)
        assert sess.run(part).tolist() == [[3.0, 4.0, 5.0], [6.0, 7.0, 8.0]]
        with pytest.raises(tf.errors.InvalidArgumentError, match="no part"):
            sess.run(restore(path, ["v"], ["9 3 1,2:0,3"], [tf.float32]))
        with pytest.raises(tf.errors.InvalidArgumentError, match="not of int32"):
            sess.run(restore(path, ["v"], [""], [tf.int32]))


def test_shapes_of_parameters():
    normal = tf.distributions.Normal
    assert {name: shape.as_list() for name, shape in normal.param_static_shapes([2, 3]).items()} == {
        "loc": [2, 3],
        "scale": [2, 3],
    }
    assert list(tf.distributions.Bernoulli.param_static_shapes(tf.TensorShape([2]))) == ["logits"]
    assert list(tf.contrib.distributions.Chi2.param_static_shapes([2])) == ["df"]
    shapes = normal.param_shapes(tf.placeholder(tf.int32, [2]))
    assert shapes["scale"].shape.as_list() == [2]
    with pytest.raises(NotImplementedError, match="does not define param_shapes"):
        tf.distributions.Categorical.param_static_shapes([2])
    for unknown in (tf.TensorShape([None]), tf.placeholder(tf.int32, [2])):
        with pytest.raises(ValueError, match="not fully known"):
            normal.param_static_shapes(unknown)


class TestScopesThatAreOpenedAgain:
    def test_reuse_false_changes_nothing_of_a_scope_that_reuses(self):
        with tf.variable_scope("s", reuse=True) as scope:
            pass
        with tf.variable_scope(scope, reuse=False) as again:
            assert again.reuse is True

    def test_a_template_made_in_the_second_call_of_another(self):
        def inner(x):
            return x * tf.get_variable("w", [2])

        def outer(x):
            return tf.make_template("inner", inner, create_scope_now_=True)(x)

        template = tf.make_template("outer", outer, create_scope_now_=True)
        names = [template(tf.ones([2])).name for _ in range(2)]
        assert names == ["outer/inner/mul:0", "outer_1/inner/mul:0"]
        assert [v.name for v in tf.global_variables()] == ["outer/inner/w:0"]
        assert template.variable_scope.original_name_scope == "outer"

    def test_a_getter_asks_again_for_what_it_has_made(self):
        def getter(getter, name, **kwargs):
            return getter(f"{name}_custom", **{**kwargs, "reuse": None})

        with tf.variable_scope("s", custom_getter=getter, reuse=tf.AUTO_REUSE):
            assert tf.get_variable("v", [1]) is tf.get_variable("v", [1])
        with tf.variable_scope("s", custom_getter=getter):
            assert tf.get_variable("v", [1]).name == "s/v_custom:0"

    def test_a_regularizer_that_is_empty_is_none(self):
        tf.get_variable("v", [1], regularizer={})
        assert tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES) == []


def test_matrices_of_an_unknown_rank_are_transposed():
    x = tf.placeholder(tf.complex64)
    turned = [tf.matrix_transpose(x), tf.linalg.adjoint(x)]
    with tf.Session() as sess:
        for shape in ((2, 3), (4, 2, 3)):
            value = np.arange(np.prod(shape)).reshape(shape) * 1j
            plain, conjugate = sess.run(turned, {x: value})
            np.testing.assert_array_equal(plain, np.swapaxes(value, -1, -2))
            np.testing.assert_array_equal(conjugate, np.conj(plain))
    with pytest.raises(ValueError, match="rank of at least 2"):
        tf.matrix_transpose(tf.zeros([3]))


def test_a_check_names_all_kinds_of_numbers_that_are_not_finite():
    x = tf.placeholder(tf.float32, [2])
    with tf.Session() as sess:
        for value, told in (([np.inf, 1], "Inf"), ([np.nan, 1], "NaN"), ([np.nan, -np.inf], "Inf and NaN")):
            with pytest.raises(tf.errors.InvalidArgumentError, match=f"root : Tensor had {told} values"):
                sess.run(tf.check_numerics(x, "root"), {x: value})


def test_a_size_may_be_a_quotient():
    assert tf.placeholder(tf.float32, [6 / 2, np.float64(1.0)]).shape.as_list() == [3, 1]
    assert tf.TensorShape([3, 1]) == [3, np.float64(1.0)]
    with pytest.raises(TypeError, match="not a size"):
        tf.placeholder(tf.float32, [2.5])


def test_an_assertion_about_what_is_computed_fails_in_a_run():
    computed = tf.reduce_sum(tf.constant([[1, 1], [0, 0]]), axis=1)
    failing = tf.assert_positive(computed)
    with tf.Session() as sess, pytest.raises(tf.errors.InvalidArgumentError, match="did not hold"):
        sess.run(failing)
    with pytest.raises(tf.errors.InvalidArgumentError, match="did not hold"):
        tf.assert_positive(tf.stack([1, tf.constant(0)]))
