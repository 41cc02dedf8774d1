"""When variables are read, and derivatives around assignments: in every place where programs run."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import staticgraph as sg
import staticgraph.compat.tf1 as tf
from staticgraph.compiler.ops.structural import variable_of
from tests.everywhere import PLACES, check_everywhere
from tests.golden import store
from tests.golden.cases import reads
from tests.golden.cases.reads import IDIOMS, LOSSES, WRITES

RECORDED = store.load("reads")


def named(fetches: Any) -> dict[str, Any]:
    return {f"y{n}": sg.identity(t) for n, t in enumerate(fetches)}


def recorded(name: str) -> list[dict[str, np.ndarray]]:
    """Answers of TensorFlow in two runs."""
    outcome = RECORDED[name]
    return [
        {f"y{key.split()[-1]}": value for key, value in outcome.items() if key.startswith(f"run {run} ")}
        for run in (0, 1)
    ]


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    **{
        f"{write}, {place}": reads.program(reads.PLACES[place], WRITES[write])
        for write, place in (
            ("assign", "straight"),
            ("scatter_add", "straight"),
            ("assign_add", "in a branch"),
            ("scatter_update", "in a loop"),
            ("assign", "around Python"),
            ("assign_add", "Python in a loop"),
        )
    },
    **{
        f"derivatives: {write}, {place}": reads.derivative(LOSSES[place], WRITES[write])
        for write, place in (
            ("assign", "straight"),
            ("assign", "in a branch"),
            ("assign_add", "in a loop"),
            ("scatter_update", "straight"),
        )
    },
    **{idiom.__name__.replace("_", " "): idiom for idiom in IDIOMS},
}
WITHOUT_OBJECT = {name for name in PROGRAMS if "in a" in name}  # a C compiler takes long


@pytest.mark.takes_long
@pytest.mark.parametrize("name", PROGRAMS)
def test_as_tensorflow_everywhere(name: str):
    places = [p for p in PLACES if p != "object" or name not in WITHOUT_OBJECT]
    check_everywhere(lambda: named(PROGRAMS[name](sg)), {}, {}, places=places, expected=recorded(name))


# Functions that return their argument as it is


def before_and_after(read: Callable[[Any], Any], start: Any = (1.0, 2.0)) -> tuple[np.ndarray, np.ndarray]:
    """Return what `read` gives of a variable that is assigned to later, and the variable before."""
    with sg.Graph().as_default(), sg.Session() as sess:
        v = sg.Variable(start, name="v")
        old = read(v)
        new = v.assign(sg.zeros_like(v))
        sess.run(sg.global_variables_initializer())
        first = sess.run(v)
        found, _ = sess.run([sg.identity(old), new])
    return found, first


IMAGE = np.arange(12.0, dtype=np.float32).reshape(2, 2, 3) + 1.0
UNCHANGED: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "read_value": (lambda v: v.read_value(), (1.0, 2.0)),
    "value": (lambda v: v.value(), (1.0, 2.0)),
    "convert_to_tensor": (sg.convert_to_tensor, (1.0, 2.0)),
    "convert_to_tensor_or_indexed_slices": (sg.convert_to_tensor_or_indexed_slices, (1.0, 2.0)),
    "convert_to_tensor_or_sparse_tensor": (sg.convert_to_tensor_or_sparse_tensor, (1.0, 2.0)),
    "cast": (lambda v: sg.cast(v, sg.float32), (1.0, 2.0)),
    "saturate_cast": (lambda v: sg.saturate_cast(v, sg.float32), (1.0, 2.0)),
    "to_float": (sg.to_float, (1.0, 2.0)),
    "astype": (lambda v: v.astype(sg.float32), (1.0, 2.0)),
    "round": (sg.round, (1, 2)),
    "real": (sg.real, (1.0, 2.0)),
    "conj": (sg.conj, (1.0, 2.0)),
    "add_n": (lambda v: sg.add_n([v]), (1.0, 2.0)),
    "accumulate_n": (lambda v: sg.accumulate_n([v]), (1.0, 2.0)),
    "polyval": (lambda v: sg.math.polyval([v], 2.0), (1.0, 2.0)),
    "dropout": (lambda v: sg.nn.dropout(v, keep_prob=1.0), (1.0, 2.0)),
    "assert_scalar": (sg.assert_scalar, 3.0),
    "central_crop": (lambda v: sg.image.central_crop(v, 1.0), IMAGE),
    "rot90": (lambda v: sg.image.rot90(v, 4), IMAGE),
    "resize_images": (lambda v: sg.image.resize_images(v, [2, 2]), IMAGE),
    "random_crop": (lambda v: sg.random_crop(v, []), 3.0),
    "backend.clip": (lambda v: tf.keras.backend.clip(v, None, None), (1.0, 2.0)),
    "layers.dropout": (lambda v: sg.layers.dropout(v, training=False), (1.0, 2.0)),
    "a parameter of a distribution": (lambda v: tf.distributions.Categorical(logits=v).logits, (1.0, 2.0)),
    "an initial value": (lambda v: sg.Variable(v).initial_value, (1.0, 2.0)),
    "identity": (sg.identity, (1.0, 2.0)),
    "tuple": (lambda v: sg.tuple([v])[0], (1.0, 2.0)),
}


@pytest.mark.parametrize("name", UNCHANGED)
def test_what_is_returned_as_it_is_has_been_read(name: str):
    found, first = before_and_after(*UNCHANGED[name])
    assert first.any()
    np.testing.assert_array_equal(found, first)


MODULES = {
    "sg": sg,
    "nn": sg.nn,
    "math": sg.math,
    "linalg": sg.linalg,
    "image": sg.image,
    "signal": sg.signal,
    "backend": tf.keras.backend,
    "layers": sg.layers,
}
STARTS = [np.ones((2, 4, 4, 3), np.float32), np.int32(3)]
TOUCH_MORE = {  # than the graph, as "set_..." do
    "InteractiveSession",
    "Session",
    "clear_session",
    "load",
    "main",
    "manual_variable_initialization",
    "reset_uids",
    "save",
}


def functions(module: Any) -> Iterator[Callable[..., Any]]:
    names = getattr(module, "__all__", None) or [name for name in dir(module) if name[0] != "_"]
    for name in sorted({*names} - TOUCH_MORE):
        found = getattr(module, name, None)
        of_graph = inspect.isfunction(found) and not name.startswith("set_")
        if of_graph and found.__module__ != "staticgraph.building.inputs":
            yield found


def leaves(value: Any) -> list[sg.Tensor]:
    if isinstance(value, sg.Tensor):
        return [value]
    return [t for each in value for t in leaves(each)] if isinstance(value, list | tuple) else []


@pytest.mark.takes_long
@pytest.mark.parametrize("module", MODULES)
def test_no_function_returns_the_operand_of_a_variable(module: str):
    """The operand is read by whoever takes it, at any time: a result must have been read."""
    for start in STARTS:
        with sg.Graph().as_default():
            v = sg.Variable(start, name="v")
            size = v.shape.as_list()[1:3]
            rest = [(), (1,), (0,), (v.dtype,), (None, None), ([],), (size,)]
            given = [*((v, *each) for each in rest), ([v],), ([v], v)]
            for function, arguments in itertools.product(functions(MODULES[module]), given):
                try:
                    made = function(*arguments)
                except Exception:  # it takes something else
                    continue
                operands = [t for t in leaves(made) if variable_of(t) is not None]
                assert not operands, (function.__name__, arguments)


# When a variable is read


def test_a_fetched_variable_is_read_after_all_assignments():
    with sg.Session() as sess:
        v = sg.Variable(1.0, name="v")
        old, step = v.read_value(), v.assign_add(1.0)
        sess.run(v.initializer)
        assert sess.run([v, "v:0", old, v * 10.0, step]) == [2.0, 2.0, 1.0, 20.0, 2.0]
        loss = sg.square(v)
        count = sg.train.get_or_create_global_step()
        train = sg.train.GradientDescentOptimizer(0.1).minimize(loss, global_step=count)
        sess.run(sg.global_variables_initializer())
        assert sess.run([train, count]) == [None, 1]


def test_an_operation_reads_the_variable_that_it_takes_at_its_turn():
    with sg.Session() as sess:
        v = sg.Variable(1.0, name="v")
        before = v + 0.5
        with sg.control_dependencies([v.assign(5.0)]):
            after = v + 0.5
        sess.run(v.initializer)
        assert sess.run([before, after]) == [1.5, 5.5]


def test_a_read_comes_after_its_control_dependencies():
    with sg.Session() as sess:
        v = sg.Variable(1.0, name="v")
        first = v.assign(2.0)
        with sg.control_dependencies([first]):
            values = [v.read_value(), v.value(), sg.convert_to_tensor(v)]
            last = v.assign(9.0)
        sess.run(v.initializer)
        assert sess.run([values, last]) == [[2.0] * 3, 9.0]


def test_a_fed_variable_has_the_fed_value_for_all_that_read_it():
    with sg.Session() as sess:
        v = sg.Variable(1.0, name="v")
        read, slope = v.read_value(), sg.gradients(v * v.read_value(), v)[0]
        sess.run(v.initializer)
        assert sess.run([read, v * 2.0, slope], {v: 3.0}) == [3.0, 6.0, 6.0]
        assert sess.run([read, v * 2.0], {read: 4.0}) == [4.0, 2.0]


def test_a_derivative_by_a_read_is_that_of_what_uses_it():
    with sg.Session() as sess:
        v = sg.Variable(3.0, name="v")
        read = v.read_value()
        y = read * read + 5.0 * v
        sess.run(v.initializer)
        assert sess.run(sg.gradients(y, [read, v])) == [6.0, 11.0]
        assert sg.gradients(y, [v.read_value()]) == [None]
        assert sess.run(sg.gradients(y, v, stop_gradients=[read])) == [5.0]


def variable_alone() -> dict[str, Any]:
    v = sg.Variable([2.0, 3.0], name="v")
    weights = sg.constant([5.0, 7.0])
    by = {"plain": sg.gradients(v, v)[0], "weighted": sg.gradients(v, [v], grad_ys=[weights])[0]}
    by["assigned"] = sg.gradients(v.assign_add(weights), v)[0]
    with sg.control_dependencies([*by.values()]):
        step = sg.train.GradientDescentOptimizer(0.5).minimize(v, var_list=[v])
    with sg.control_dependencies([step]):
        return {**by, "after": v.read_value()}


def test_the_derivative_of_a_variable_by_itself_is_one_everywhere():
    expected = {"plain": [1.0, 1.0], "weighted": [5.0, 7.0], "assigned": [1.0, 1.0], "after": [6.5, 9.5]}
    check_everywhere(variable_alone, {}, expected=[expected])


def test_derivatives_of_parts_add_up_after_an_assignment():
    with sg.Session() as sess:
        x, v = sg.placeholder(sg.float32, []), sg.Variable(1.0, name="v")
        new = v.assign(3.0 * x)
        with sg.control_dependencies([new]):
            read = v.read_value()
        parts = [x, read, new, v * x]
        whole = sg.gradients(sg.add_n(parts), [x, v])
        each = [sg.gradients(part, [x, v], unconnected_gradients="zero") for part in parts]
        sess.run(v.initializer)
        found, added = sess.run([whole, each], {x: 2.0})
        assert found == [1.0 + 6.0, 1.0 + 1.0 + 2.0] == list(np.sum(added, 0))


def test_rows_that_were_read_before_and_after_an_update_have_one_sparse_derivative():
    with sg.Session() as sess:
        table, ids = sg.Variable(np.ones((4, 2), np.float32), name="table"), [1, 3]
        first = sg.gather(table.read_value(), ids)
        with sg.control_dependencies([first]):
            updated = sg.scatter_add(table, [1], [[2.0, 2.0]])
        loss = sg.reduce_sum(first * sg.gather(updated, ids))
        (slope,) = sg.gradients(loss, table)
        assert isinstance(slope, sg.IndexedSlices)
        whole = sg.gradients([loss, table.read_value()], table)[0]
        assert isinstance(whole, sg.Tensor)
        sess.run(table.initializer)
        wanted = np.zeros((4, 2))
        wanted[1], wanted[3] = 4.0, 2.0
        np.testing.assert_array_equal(sess.run(sg.convert_to_tensor(slope)), wanted)
        sess.run(table.initializer)
        np.testing.assert_array_equal(sess.run(whole), wanted + 1.0)


def test_a_derivative_by_a_variable_that_changed_its_shape_is_refused():
    with sg.Session() as sess:
        v = sg.Variable(np.ones(2, np.float32), validate_shape=False, name="v")
        first = sg.reduce_sum(v * v)
        with sg.control_dependencies([v.assign(np.ones(3, np.float32))]):
            second = sg.reduce_sum(v * v)
        slope = sg.gradients(first + second, v)
        sess.run(v.initializer)
        with pytest.raises(sg.errors.InvalidArgumentError, match=r"v is read as .* in this run"):
            sess.run(slope)


def test_values_make_a_graph_no_larger_in_a_loop_of_runs_and_change_no_seeds():
    with sg.Session() as sess:
        v, w = sg.Variable(1.0), sg.Variable(2.0)
        sg.set_random_seed(3)
        seeds = sg.get_seed(None)  # made of the number of operations that TensorFlow's graph would have
        sess.run([v.initializer, w.initializer])
        for _ in range(3):
            assert sess.run([v.value(), w.value()]) == [1.0, 2.0]
        graph = sg.get_default_graph()
        assert sum(op.definition.name == "read_value" for op in graph.get_operations()) == 2
        assert sg.get_seed(None) == seeds
        graph.finalize()
        assert sess.run(v.value()) == 1.0


# Stages


def strings_around_numbers() -> dict[str, Any]:
    v = sg.Variable([b"ab", b"c"], name="v", dtype=sg.string)
    old = v.read_value()
    new = v.assign([b"longer", b"text"])
    lengths = sg.strings.length(new) * 2  # numbers, so the assignment is made before the step
    return {"old": old, "lengths": lengths, "v": v}


def test_a_variable_of_strings_is_read_in_order():
    check_everywhere(
        strings_around_numbers,
        {},
        {},
        places=["session", "interpreter"],
        expected=[
            {"old": np.array([b"ab", b"c"], object), "lengths": [12, 8]},
            {"old": np.array([b"longer", b"text"], object), "lengths": [12, 8]},
        ],
    )


def in_python(x: Any) -> Any:
    made = sg.py_func(lambda a: np.float32(2) * a, [x], sg.float32)
    made.set_shape([])
    return made


def loop_then_python() -> dict[str, Any]:
    """In the order of construction, without control dependencies."""
    v = sg.Variable(1.0, name="v")

    def body(i: Any) -> Any:
        with sg.control_dependencies([v.assign_add(1.0)]):
            return i + 1

    rounds = sg.while_loop(lambda i: i < 3, body, [0])
    doubled = in_python(v.read_value())
    then = v.assign(doubled)
    return {"rounds": rounds, "doubled": doubled, "then": then, "v": v}


def test_python_sees_what_a_compiled_loop_assigned():
    wanted = {"doubled": 8.0, "then": 8.0, "v": 8.0}
    check_everywhere(loop_then_python, places=["session", "interpreter"], expected=[wanted])


def test_no_derivative_flows_back_across_a_loop_that_is_done_in_python():
    v = sg.Variable(3.0, name="v")
    y = v * v

    def body(i: Any) -> Any:
        with sg.control_dependencies([y, v.assign_add(in_python(v.read_value()))]):
            return i + 1

    with sg.control_dependencies([sg.while_loop(lambda i: i < 2, body, [0])]):
        slope = sg.gradients(y, v)[0]
    with sg.Session() as sess:
        sess.run(v.initializer)
        with pytest.raises(sg.errors.UnimplementedError, match="no derivative flows back through"):
            sess.run(slope)


def assigned_between() -> dict[str, Any]:
    """The derivative needs the value from before the assignment."""
    v, x = sg.Variable(2.0, name="v"), sg.placeholder(sg.float32, [], name="x")
    y = sg.square(v * x)
    with sg.control_dependencies([y]):
        new = v.assign(10.0)
    with sg.control_dependencies([new]):
        slopes = sg.gradients(y * 1.0, [x, v])
    return {"by x": slopes[0], "by v": slopes[1], "y": y}


def test_a_derivative_taken_after_an_assignment_everywhere():
    check_everywhere(assigned_between, {"x": 3.0}, expected=[{"by x": 24.0, "by v": 36.0, "y": 36.0}])


# Shapes and axes


def shapes_from_variables() -> dict[str, Any]:
    shape, axis = sg.Variable([2, 3], name="shape"), sg.Variable(0, name="axis")
    x = sg.constant(np.arange(6, dtype=np.float32))
    first = sg.reshape(x, shape)
    sums = sg.reduce_sum(first, axis)
    with sg.control_dependencies([sums]):
        turned = [shape.assign([3, 2]), axis.assign(1)]
    with sg.control_dependencies(turned):
        second = sg.reshape(x, shape)
        others = sg.reduce_sum(second, axis)
    return {"first": first, "sums": sums, "second": second, "others": others, "shape": shape}


def test_a_shape_and_an_axis_are_read_at_the_operation_that_takes_them():
    x = np.arange(6.0)
    first, second = x.reshape(2, 3), x.reshape(3, 2)
    wanted = {"first": first, "sums": first.sum(0), "second": second, "others": second.sum(1)}
    check_everywhere(shapes_from_variables, places=["session", "interpreter"], expected=[wanted])


def assigned_twice() -> dict[str, Any]:
    v = sg.Variable(1.0, name="v")
    return {"y": sg.assign_add(sg.assign(v, 2.0), 3.0)}


def test_an_assignment_to_the_result_of_another_comes_after_it():
    check_everywhere(assigned_twice, expected=[{"y": 5.0}])
