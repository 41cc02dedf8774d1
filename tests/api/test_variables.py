"""Variables, `get_variable` and variable scopes: names, collections, sharing, errors."""

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.graph.errors import ShapeError
from tests.api.evaluate import State


def names(items):
    return [item.name for item in items]


def operations():
    return names(sg.get_default_graph().get_operations())


class TestVariable:
    def test_operations_are_named_as_in_tf1(self):
        sg.Variable(3.0)
        assert operations() == ["Variable/initial_value", "Variable", "Variable/Assign", "Variable/read"]

    def test_on_read_is_not_trained(self):
        on_read = sg.VariableSynchronization.ON_READ
        assert not sg.Variable(1.0, synchronization=on_read).trainable
        assert not sg.get_variable("w", [1], synchronization=on_read).trainable
        assert sg.Variable(1.0, aggregation=sg.VariableAggregation.SUM).trainable
        assert sg.Variable(1.0, trainable=True, synchronization=on_read).trainable
        with pytest.raises(ValueError, match="ON_READ is not trained"):
            sg.keras.layers.Layer().add_weight("w", [], trainable=True, synchronization=on_read)
        assert not sg.keras.layers.Layer().add_weight("w", [], synchronization=on_read).trainable

    def test_collections(self):
        w = sg.Variable(1.0)
        step = sg.Variable(0, trainable=False)
        local = sg.Variable(0.0, collections=[sg.GraphKeys.LOCAL_VARIABLES], trainable=False)
        assert sg.global_variables() == [w, step]
        assert sg.trainable_variables() == [w]
        assert sg.local_variables() == [local]

    def test_is_built_outside_of_control_dependencies(self):
        with sg.control_dependencies([sg.no_op()]):
            w = sg.Variable(1.0)
        assert w.initializer.control_inputs == []

    def test_converts_in_operators(self):
        w = sg.Variable([1.0, 2.0], name="w")
        made = [w + 1.0, 1.0 - w, w * w, -w, w[0], w > 0.0]
        assert names(made) == ["add:0", "sub:0", "mul:0", "Neg:0", "strided_slice:0", "Greater:0"]
        assert made[0].op.inputs[0] is w.to_tensor()

    def test_identity_is_not_equality_of_values(self):
        v, w = sg.Variable(1.0), sg.Variable(1.0)
        assert v == v
        assert v != w
        assert len({v, w}) == 2
        with pytest.raises(TypeError, match="cannot be iterated"):
            iter(v)

    def test_needs_an_initial_value_of_known_shape(self):
        with pytest.raises(ValueError, match="needs an initial_value"):
            sg.Variable()
        with pytest.raises(ShapeError, match="not fully known"):
            sg.Variable(sg.placeholder(sg.float32, [None]))
        assert sg.Variable(sg.placeholder(sg.float32, [None]), validate_shape=False).shape.ndims is None

    def test_assignments_of_one_run_are_seen_in_order_of_construction(self):
        w = sg.Variable(1.0)
        before = w + 0.0
        w2 = w.assign(5.0)
        after = w + 0.0
        added = w.assign_add(2.0)
        state = State()
        state.run(sg.global_variables_initializer())
        assert state.run([before, w2, after, added, w]) == [1.0, 5.0, 5.0, 7.0, 7.0]

    def test_scatter_takes_slices(self):
        w = sg.Variable(np.zeros([3, 2], np.float32))
        slices = sg.IndexedSlices(sg.constant([[1.0, 2.0], [3.0, 4.0]]), sg.constant([2, 2]))
        updated = w.scatter_add(slices)
        state = State()
        state.run(w.initializer)
        assert state.run(updated).tolist() == [[0, 0], [0, 0], [4, 6]]
        with pytest.raises(TypeError, match="must be IndexedSlices"):
            w.scatter_sub(1.0)


class TestGetVariable:
    def test_initializers_by_dtype(self):
        sg.get_variable("f", [2, 3])
        sg.get_variable("i", [2], sg.int32)
        assert "f/Initializer/random_uniform/RandomUniform" in operations()
        assert "i/Initializer/zeros" in operations()

    def test_a_value_as_initializer(self):
        assert sg.get_variable("w", initializer=[1.0, 2.0]).shape.as_list() == [2]
        assert sg.get_variable("v", initializer=sg.constant([1, 2])).dtype is sg.int32
        with pytest.raises(ValueError, match="shape=\\(2,\\) must not be given"):
            sg.get_variable("u", [2], initializer=[1.0, 2.0])
        with pytest.raises(ValueError, match="the initializer is int32 and dtype is float32"):
            sg.get_variable("t", dtype=sg.float32, initializer=[1])

    def test_names_do_not_depend_on_name_scopes(self):
        with sg.name_scope("n"), sg.variable_scope("v"):
            w = sg.get_variable("w", [1])
            y = w + 1.0
        assert [w.name, y.name] == ["v/w:0", "n/v/add:0"]

    def test_twice(self):
        sg.get_variable("w", [1])
        with pytest.raises(ValueError, match="there already is a variable w") as error:
            sg.get_variable("w", [1])
        assert "it was made here" in str(error.value)
        assert "AUTO_REUSE" in str(error.value)

    def test_sharing_needs_equal_shape_and_dtype(self):
        sg.get_variable("w", [2])
        with sg.variable_scope("", reuse=True):
            with pytest.raises(ValueError, match="has shape \\(2,\\), not \\(3,\\)"):
                sg.get_variable("w", [3])
            with pytest.raises(ValueError, match="has dtype float32, not int32"):
                sg.get_variable("w", [2], sg.int32)
            with pytest.raises(ValueError, match="no variable v to reuse"):
                sg.get_variable("v", [2])

    def test_without_a_shape(self):
        with pytest.raises(ValueError, match="needs a shape"):
            sg.get_variable("w")
        assert sg.get_variable("v", initializer=lambda: np.ones(3, np.float32)).shape.as_list() == [3]

    def test_regularizer(self):
        w = sg.get_variable("w", [2], regularizer=sg.nn.l2_loss)
        assert names(sg.get_collection(sg.GraphKeys.REGULARIZATION_LOSSES)) == ["w/Regularizer/L2Loss:0"]
        with sg.variable_scope("", reuse=True):
            assert sg.get_variable("w", [2], regularizer=sg.nn.l2_loss) is w
        assert len(sg.losses.get_regularization_losses()) == 1

    def test_custom_getters_nest(self):
        calls = []

        def getter(tag):
            def get(getter, name, *args, **kwargs):
                calls.append((tag, name))
                return getter(name, *args, **kwargs)

            return get

        with (
            sg.variable_scope("a", custom_getter=getter("outer")),
            sg.variable_scope("b", custom_getter=getter("inner")),
        ):
            assert sg.get_variable("w", [1]).name == "a/b/w:0"
        assert calls == [("inner", "a/b/w"), ("outer", "a/b/w")]

    def test_local_variables(self):
        w = sg.get_local_variable("w", [1])
        assert (sg.local_variables(), sg.global_variables(), w.trainable) == ([w], [], False)


class TestVariableScope:
    def test_entering_again(self):
        with sg.variable_scope("s", reuse=sg.AUTO_REUSE) as scope:
            first = sg.get_variable("w", [2])
            a = first + 1
        with sg.variable_scope(scope):
            second = sg.get_variable("w", [2])
            b = second + 1
        with sg.variable_scope("s"), sg.variable_scope(scope, reuse=True) as inner:
            c = second + 2
        assert first is second
        assert names([a, b, c]) == ["s/add:0", "s_1/add:0", "s_2/s/add:0"]
        assert (inner.name, inner.original_name_scope) == ("s", "s/")

    def test_default_names_are_numbered_and_begin_anew_inside_a_scope_entered_again(self):
        def two():
            with sg.variable_scope("s"):
                with sg.variable_scope(None, "d") as first:
                    pass
                with sg.variable_scope(None, "d") as second:
                    return first.name, second.name

        assert two() == two() == ("s/d", "s/d_1")

    def test_reuse_is_inherited(self):
        with sg.variable_scope("s", reuse=True), sg.variable_scope("t") as inner:
            assert inner.reuse is True

    def test_reuse_variables(self):
        with sg.variable_scope("s"):
            w = sg.get_variable("w", [1])
            sg.get_variable_scope().reuse_variables()
            assert sg.get_variable("w", [1]) is w
        assert not sg.get_variable_scope().reuse

    def test_defaults(self):
        with sg.variable_scope("s", initializer=sg.ones_initializer(), dtype=sg.float64):
            w = sg.get_variable("w", [2])
        assert w.dtype is sg.float64
        assert w.initial_value.name == "s/w/Initializer/ones:0"

    def test_an_exception_restores_the_scope(self):
        with pytest.raises(KeyError), sg.variable_scope("s"):
            raise KeyError
        assert sg.get_variable_scope().name == ""

    def test_bad_arguments(self):
        with pytest.raises(TypeError, match="name_or_scope or a default_name"):
            sg.variable_scope(None)
        with pytest.raises(ValueError, match="nothing to reuse"):
            sg.variable_scope(None, "d", reuse=True)

    def test_graphs_share_nothing(self):
        first = sg.get_variable("w", [1])
        with sg.Graph().as_default():
            assert sg.get_variable("w", [1]) is not first


def test_initializer_operation_covers_variables_made_so_far():
    sg.Variable([1.0], name="w")
    init = sg.global_variables_initializer()
    sg.Variable([1.0], name="v")
    assert [op.name for op in init.control_inputs] == ["w/Assign"]


def test_report_and_state_of_initialisation_are_typed():
    w = sg.Variable(1.0)
    assert sg.is_variable_initialized(w).dtype is sg.bool
    assert sg.report_uninitialized_variables().dtype is sg.string
    assert w.initialized_value().shape.as_list() == []
