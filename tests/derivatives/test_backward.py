"""Derivatives as operations of the graph, and as one that the compiler expands: the same numbers."""

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.graph.errors import GradientError, ShapeError
from staticgraph.compiler.graph.opdef import Effect, OpDef
from staticgraph.differentiation import backward
from staticgraph.differentiation.reachability import Uses
from staticgraph.runtime.interpreter import InterpreterBackend
from tests.ops.harness import TESTED, Use, dtype_choices, uses
from tests.saving.nets import again
from tests.witness.whole import Whole

FORMULAS = [op for op in TESTED if op.grad_takes is not None and op.effect is Effect.PURE]


class Reached(Whole):
    """One operation for the derivatives by what is reached."""

    def __init__(self, ys, seeds, xs, stops, gate, colocated):
        self.uses = Uses(ys, stops)
        if found := self.uses.lacking(xs):
            raise backward.lacking_error(*found)
        self._found = {}
        if reached := [x for x in xs if self.uses.reaches(x)]:
            super().__init__(ys, seeds, reached, stops, gate, colocated)

    def by(self, x):
        return super().by(x) if x in self._found else None


@pytest.fixture
def in_graph(monkeypatch):
    """Sets the way in which derivatives are made."""
    plain = backward.Backward
    return lambda on: monkeypatch.setattr(backward, "Backward", plain if on else Reached)


def derivatives(ys, xs, weights):
    """The first derivatives, and the second ones."""
    first = [sg.convert_to_tensor(g) for g in sg.gradients(ys, xs, weights) if g is not None]
    try:
        sums = [sg.reduce_sum(sg.square(g)) for g in first]
        ones = [sg.ones_like(total) for total in sums]  # TensorFlow wants them of complex sums
        second = sg.gradients(sums, [*xs, *weights], ones, unconnected_gradients="zero") if first else []
    except GradientError:
        second = []
    return first, second


def told(operations) -> list[str]:
    return [op.name for op in operations if op.definition.name == "symbolic_gradients"]


SIZES = pytest.mark.parametrize("open_sizes", [False, True], ids=["known sizes", "open sizes"])


@pytest.mark.takes_long
@SIZES
@pytest.mark.parametrize("op", [pytest.param(op, id=op.name) for op in FORMULAS])
def test_of_an_op(op: OpDef, open_sizes: bool, in_graph):
    """Of one op in three the first sample is compiled for its sizes. The others and open sizes are
    interpreted, since operations are made before either, and tests of the registry compile each of them.
    Formulas ask for more if sizes are open: every second sample. If they are known, one will do.
    """
    third = FORMULAS.index(op) % 3 == 0
    samples = uses(op, next(dtype_choices(op)))
    with sg.options(check_bounds=False):  # samples have indices out of range too
        for use in samples[::2] if open_sizes else samples[:1]:
            compare(use, open_sizes, in_graph, compiled=third and not open_sizes)


@pytest.mark.slow
@SIZES
@pytest.mark.parametrize("op", [pytest.param(op, id=op.name) for op in FORMULAS])
def test_of_an_op_with_every_sample_compiled(op: OpDef, open_sizes: bool, in_graph):
    with sg.options(check_bounds=False):
        for use in uses(op, next(dtype_choices(op))):
            compare(use, open_sizes, in_graph, compiled=True)


def compare(use: Use, open_sizes: bool, in_graph, compiled: bool) -> None:
    rng = np.random.default_rng(0)
    with sg.Graph().as_default() as graph, sg.Session() as session:
        if not compiled:
            session.backend = InterpreterBackend()
        shapes = [[None] * a.ndim if open_sizes else a.shape for a in use.arrays]
        inputs = [sg.placeholder(d, s) for d, s in zip(use.dtypes, shapes, strict=True)]
        feeds = dict(zip(inputs, use.arrays, strict=True))
        ys = [y for y in use.call(inputs) if y.dtype.is_differentiable]
        lacking = use.op.lacking_inputs(len(inputs))
        xs = [x for n, x in enumerate(inputs) if x.dtype.is_differentiable and n not in lacking]
        if not ys or not xs or any(y.shape.ndims is None for y in ys):
            return
        with sg.Session() as interpreted:  # only shapes count, so nothing is compiled
            interpreted.backend = InterpreterBackend()
            values = interpreted.run(ys, feeds)
        weights = [sg.placeholder(y.dtype, y.shape) for y in ys]
        feeds |= {w: rng.normal(size=v.shape).astype(v.dtype) for w, v in zip(weights, values, strict=True)}
        in_graph(False)
        wanted = derivatives(ys, xs, weights)
        in_graph(True)
        before = graph.version
        sg.gradients(ys, xs, weights)
        if use.op.name not in backward.ONE_NODE:
            assert not told(graph.get_operations()[before:]), "first derivatives are plain operations"
        made = derivatives(ys, xs, weights)
        [first, second], [expected, more] = session.run(made, feeds), session.run(wanted, feeds)
        for one, other in zip(first, expected, strict=True):
            np.testing.assert_array_equal(one, other, err_msg=str(use), strict=True)
        for one, other in zip(second, more, strict=True):  # products may be fused with another sum of two
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6, err_msg=str(use))


class TestInGraph:
    @pytest.fixture(autouse=True)
    def _in_graph(self, in_graph):
        in_graph(True)

    def test_names_are_those_of_tensorflow(self):
        x = sg.placeholder(sg.float32, [None, 4])
        w = sg.Variable(np.zeros((4, 3), np.float32))
        loss = sg.reduce_sum(sg.matmul(x, w) - 1.0)
        [g] = sg.gradients(loss, [w])
        assert g.name == "gradients/MatMul_grad/MatMul_1:0"
        made = [op.name for op in sg.get_default_graph().get_operations()]
        names = {"grad_ys_0", "Fill", "Sum_grad/Reshape", "sub_grad/Neg", "MatMul_grad/MatMul"}
        assert {f"gradients/{name}" for name in names} <= set(made)

    @pytest.mark.parametrize("open_sizes", [False, True], ids=["known sizes", "open sizes"])
    def test_weights_of_another_shape(self, open_sizes):
        """As many elements are taken in the shape of y, as in TensorFlow; others are refused, not summed."""

        def slopes(y_shape, w_shape):
            x = sg.placeholder(sg.float32, [None] * len(y_shape) if open_sizes else y_shape)
            w = sg.placeholder(sg.float32, [None] * len(w_shape) if open_sizes else w_shape)
            [g] = sg.gradients(x * 2.0, [x], [w])
            [by_w] = sg.gradients(g, [w])
            weights = np.arange(1, 1 + np.prod(w_shape), dtype=np.float32).reshape(w_shape)
            with sg.Session() as session:
                return session.run([g, by_w], {x: np.ones(y_shape), w: weights})

        by_x, by_w = slopes([2, 3], [3, 2])
        assert by_x.tolist() == [[2, 4, 6], [8, 10, 12]]
        assert by_w.tolist() == [[2, 2]] * 3
        by_x, by_w = slopes([2, 3], [])
        assert (by_x.tolist(), by_w) == ([[2, 2, 2]] * 2, 12)
        for shapes in ([3], [2, 3]), ([2, 3], [3]), ([2, 3], [1]):
            with pytest.raises(ShapeError):
                slopes(*shapes)

    def test_gates(self):
        x, y = sg.placeholder(sg.float32, []), sg.placeholder(sg.float32, [])
        made = sg.gradients(x * y, [x, y], gate_gradients=True)
        names = ["control_dependency", "control_dependency_1"]
        assert [g.op.name for g in made] == [f"gradients/mul_grad/tuple/{name}" for name in names]

    def test_the_value_that_was_read_counts(self):
        """A formula would read the variable after the assignment: the compiler takes that derivative."""
        x, w = sg.placeholder(sg.float32, []), sg.Variable(3.0)
        y = x * w
        change = w.assign(5.0)
        [g] = sg.gradients(y, [x])
        assert told([g.op])
        with sg.Session() as session:
            session.run(sg.global_variables_initializer())
            assert session.run([change, g], {x: 1.0}) == [5.0, 3.0]

    def test_a_formula_that_reads_no_variable_is_plain_after_an_assignment(self):
        x, b = sg.placeholder(sg.float32, [None, 2]), sg.Variable([1.0, 2.0])
        y = sg.nn.bias_add(x, b)
        b.assign([3.0, 4.0])
        made = sg.gradients(y, [x, b])
        assert not told(sg.get_default_graph().get_operations())
        assert made[1].op.type == "BiasAddGrad"

    def test_rows_stay_rows(self):
        w = sg.Variable(np.ones((5, 2), np.float32))
        rows = sg.gather(w, [1, 3])
        [g] = sg.gradients(sg.reduce_sum(rows * rows), [w])
        assert isinstance(g, sg.IndexedSlices)
        [g] = sg.gradients(sg.reduce_sum(rows * rows) + sg.reduce_sum(w), [w])
        assert isinstance(g, sg.Tensor)
        with sg.Session() as session:
            session.run(sg.global_variables_initializer())
            assert session.run(g)[:, 0].tolist() == [1, 3, 1, 3, 1]

    @pytest.mark.parametrize("shape", [[None, None], [3, 0], [None, None, 2]])
    def test_rows_whose_sizes_do_not_tell_how_many_there_are(self, shape):
        x, at = sg.placeholder(sg.float32, shape), sg.placeholder(sg.int32, [None, None])
        [g] = sg.gradients(sg.gather(x, at), [x])
        assert isinstance(g, sg.IndexedSlices)
        feed = np.ones([3, *(2 if n is None else n for n in shape[1:])])
        with sg.Session() as session:
            found = session.run(sg.convert_to_tensor(g), {x: feed, at: [[0, 2], [2, 2]]})
        wanted = np.array([1, 0, 3]).reshape(3, *[1] * (feed.ndim - 1)) * feed
        np.testing.assert_array_equal(found, wanted)

    def test_a_second_derivative_of_a_line_does_not_exist(self):
        x = sg.placeholder(sg.float32, [3])
        [g] = sg.gradients(x * 2.0, [x])
        assert sg.gradients(g, [x]) == [None]

    def test_what_is_not_reached_adds_nothing(self):
        x, y = sg.placeholder(sg.float32, [3]), sg.placeholder(sg.float32, [3])
        before = x.graph.version
        assert sg.gradients(x * 1.0, [y]) == [None]
        assert x.graph.version == before + 2  # the product and its constant

    def test_a_broadcast_of_open_sizes_is_summed_again(self):
        """Only a run tells which of two open sizes is one."""
        x, b = sg.placeholder(sg.float32, [None, 3]), sg.placeholder(sg.float32, [None, 3])
        [g] = sg.gradients(x * b, [b])
        feeds = {x: np.ones((4, 3)), b: np.ones((1, 3))}
        with sg.Session() as session:
            assert session.run(g, feeds).tolist() == [[4.0] * 3]
            assert session.run(g, {**feeds, b: np.ones((4, 3))}).tolist() == [[1.0] * 3] * 4

    def test_a_file_holds_them(self, tmp_path):
        x = sg.placeholder(sg.float32, [None, 4], name="x")
        mean, variance = sg.nn.moments(x, [0])
        [g] = sg.gradients(sg.reduce_sum((x - mean) * sg.rsqrt(variance + 1.0) * x), [x])
        feed = np.arange(12, dtype=np.float32).reshape(3, 4)
        with sg.Session() as session:
            expected = session.run(g, {x: feed})
            sg.save(tmp_path / "net.sg", {"g": g}, session=session)
        net, same = again(tmp_path / "net.sg")
        assert same
        np.testing.assert_array_equal(net(x=feed)["g"], expected)
