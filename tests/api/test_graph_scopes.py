"""Scopes, collections, seeds, constants: the part of the API that only records."""

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.graph.errors import DtypeError, ShapeError


def test_name_scopes_nest_and_are_numbered():
    with sg.name_scope("a") as outer, sg.name_scope("b"):
        first = sg.constant(1.0)
    with sg.name_scope("a"):
        second = sg.constant(1.0)
    with sg.name_scope(outer):
        third = sg.constant(1.0)
    assert [outer, first.op.name, second.op.name, third.op.name] == [
        "a/",
        "a/b/Const",
        "a_1/Const",
        "a/Const",
    ]


def test_name_scope_takes_the_graph_of_its_values():
    graph = sg.Graph()
    with graph.as_default():
        x = sg.constant(1.0)
    with sg.name_scope(None, "op", [x]):
        assert sg.constant(2.0).graph is graph


def test_group_names_and_waits():
    a, b = sg.no_op(), sg.constant(1.0)
    assert [op.name for op in sg.group(a, [b]).control_inputs] == ["NoOp", "Const"]
    assert sg.group(name="g").name == "g"
    with pytest.raises(TypeError, match="not None"):
        sg.group(None)


def test_tuple_gates_its_tensors():
    x = sg.constant(1.0)
    gated, nothing = sg.tuple([x, None])
    assert nothing is None
    assert gated.name == "tuple/control_dependency:0"
    assert [op.name for op in gated.op.control_inputs] == ["tuple/group_deps"]
    with pytest.raises(ValueError, match="at least one"):
        sg.tuple([None])


def test_init_scope_forgets_control_inputs():
    with sg.control_dependencies([sg.no_op()]):
        with sg.init_scope():
            free = sg.constant(1.0)
        bound = sg.constant(1.0)
    assert free.op.control_inputs == []
    assert len(bound.op.control_inputs) == 1


@pytest.mark.parametrize(
    ("graph_seed", "op_seed", "seeds"),
    [
        (None, None, (None, None)),
        (None, 0, (87654321, 0)),
        (None, 7, (87654321, 7)),
        (0, None, (0, 2147483647)),
        (0, 0, (0, 2147483647)),
        (5, 7, (5, 7)),
        (5, None, (5, 0)),
        (5, -1, (5, 2147483646)),
        (-3, 7, (2147483644, 7)),
        (2**31, 7, (1, 7)),
    ],
)
def test_seeds_are_those_of_tf1(graph_seed, op_seed, seeds):
    sg.set_random_seed(graph_seed)
    assert sg.get_seed(op_seed) == seeds


def test_an_operation_without_a_seed_takes_the_number_of_operations():
    sg.set_random_seed(7)
    for _ in range(3):
        sg.no_op()
    assert sg.get_seed(None) == (7, 3)


class TestConstant:
    def test_dtypes(self):
        found = [sg.constant(v).dtype for v in (1.0, 1, True, np.float64(1), np.int64(1))]
        assert found == [sg.float32, sg.int32, sg.bool, sg.float64, sg.int64]

    def test_is_filled_up_with_its_last_element(self):
        assert sg.constant([1, 2], shape=[4]).op.attrs["value"].array.tolist() == [1, 2, 2, 2]

    def test_too_many_elements(self):
        with pytest.raises(ShapeError, match="3 elements of shape"):
            sg.constant([1, 2, 3], shape=[2])

    def test_verify_shape(self):
        with pytest.raises(ValueError, match="not \\(4,\\)"):
            sg.constant([1, 2], shape=[4], verify_shape=True)

    def test_a_float_is_no_integer_but_arrays_are_cast(self):
        with pytest.raises(DtypeError, match="is not int32"):
            sg.constant(1.5, sg.int32)
        assert sg.constant(np.array([1.5]), sg.int32).op.attrs["value"].array.tolist() == [1]

    def test_the_error_shows_the_users_line(self):
        with pytest.raises(DtypeError, match=r"test_graph_scopes\.py"):
            sg.constant(1.5, sg.int32)


class TestConvertToTensor:
    def test_lists_of_tensors_are_stacked(self):
        x = sg.placeholder(sg.float32, [])
        assert sg.convert_to_tensor([x, [1.0][0]]).name == "packed:0"

    def test_wrong_dtype(self):
        with pytest.raises(TypeError, match="is int32, not float32"):
            sg.convert_to_tensor(sg.constant(1), sg.float32)

    def test_preferred_dtype_is_taken_where_it_fits(self):
        assert sg.convert_to_tensor(1, preferred_dtype=sg.float64).dtype is sg.float64
        assert sg.convert_to_tensor(1.5, preferred_dtype=sg.int32).dtype is sg.float32


def test_placeholder_with_default_must_fit():
    assert sg.placeholder_with_default(np.ones([2, 3], np.float32), [None, 3]).shape.as_list() == [None, 3]
    with pytest.raises(ShapeError, match="shape \\(2,\\) and the placeholder \\(3,\\)"):
        sg.placeholder_with_default([1.0, 2.0], [3])
