"""Promises of ops that move elements, beside values: shapes in the user's graph, indexing, bad indices."""

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.arrays import array_ops, creation, indexing, sorting
from staticgraph.compiler import ops
from staticgraph.compiler.capture.capture import capture
from staticgraph.compiler.capture.step import CaptureRequest, NeedsFeeds, NeedsHost, Step
from staticgraph.compiler.graph.builder import Builder
from staticgraph.compiler.graph.errors import ShapeError
from staticgraph.compiler.graph.function import Function
from staticgraph.compiler.graph.interpret import interpret
from staticgraph.compiler.graph.opdef import recording
from staticgraph.compiler.graph.static_value import static_value
from staticgraph.runtime.cpu.executable import evaluate


def vector(*sizes):
    return sg.placeholder(sg.float32, sizes)


def captured(tensor, arrays, static):
    """The step for a tensor of the user's graph, or what its capture needs."""
    types = {t: type(t.type)(t.dtype, a.shape) for t, a in arrays.items()}
    values = {t: arrays[t] for t in static}
    return capture(CaptureRequest(tensor.graph, [tensor], [], types, static=values))


def run(tensor, feeds=None, static=None):
    """The value of a tensor of the user's graph, by the reference."""
    arrays = {t: np.asarray(a, t.dtype.numpy) for t, a in {**(feeds or {}), **(static or {})}.items()}
    step = captured(tensor, arrays, static or {})
    assert isinstance(step, Step), step
    return interpret(step.function, dict(zip(step.function.params, arrays.values(), strict=True)))[0]


def compiled(make, *arrays):
    """The native result of ops on arrays."""
    build = Builder()
    params = [build.parameter(f"p{i}", a.dtype.name, a.shape) for i, a in enumerate(arrays)]
    with recording(build):
        made = make(*params)
    return evaluate(Function(tuple(params), made if isinstance(made, tuple) else (made,)), list(arrays))


# What shape arithmetic in the graph tells


@pytest.mark.parametrize(
    ("sizes", "shape"),
    [
        (lambda s: array_ops.stack([s[0], 10]), [None, 10]),
        (lambda s: array_ops.concat([s[:1], [2, 2]], 0), [None, 2, 2]),
        (lambda s: array_ops.concat([s[:-1], array_ops.stack([7, s[1]])], 0), [None, 7, 4]),
        (lambda s: s, [None, 4]),
        (lambda s: s[::-1], [4, None]),
        (lambda s: sg.identity(ops.cast(s, dtype=sg.int64)), [None, 4]),
        (lambda s: indexing.gather(s, [1, 0]), [4, None]),
        (lambda s: indexing.slice(s, [1], [1]), [4]),
        (lambda s: array_ops.expand_dims(s[1], 0), [4]),
        (lambda s: array_ops.stack(array_ops.unstack(s)), [None, 4]),
        (lambda s: array_ops.reshape(s[1], [1]), [4]),
    ],
)
def test_partial_shapes_pass_through_shape_arithmetic(sizes, shape):
    x = vector(None, 4)
    assert creation.fill(sizes(array_ops.shape(x)), 0.0).shape.as_list() == shape


def test_sizes_from_a_feed_are_unknown_but_ranks_are_not():
    sizes = sg.placeholder(sg.int32, [2])
    assert array_ops.reshape(vector(6), sizes).shape.as_list() == [None, None]
    assert array_ops.tile(vector(1, 2), sizes).shape.as_list() == [None, None]
    assert array_ops.pad(vector(3, 4), sg.placeholder(sg.int32, [2, 2])).shape.as_list() == [None, None]


def test_axes_may_be_computed():
    assert array_ops.transpose(vector(2, None, 4), creation.range(3)[::-1]).shape.as_list() == [4, None, 2]


def test_shape_is_a_constant_where_it_is_known():
    assert array_ops.shape(vector(2, 3)).op.type == "Const"
    assert array_ops.shape(vector(None, 3)).op.type == "Shape"
    assert static_value(array_ops.size(vector(2, 3))) == 6
    assert static_value(array_ops.rank(vector(None, 3))) == 2


def test_reshape_infers_and_refuses():
    assert array_ops.reshape(vector(2, 6), [-1, 4]).shape.as_list() == [3, 4]
    with pytest.raises(ShapeError, match="12 elements"):
        array_ops.reshape(vector(2, 6), [5, 2])
    with pytest.raises(ShapeError, match="more than one -1"):
        array_ops.reshape(vector(2, 6), [-1, -1])


def test_reshape_of_nothing_that_is_known():
    x = sg.constant(np.zeros([0], np.float32))
    with sg.Session() as session:
        assert session.run(array_ops.reshape(x, [-1, 0])).shape == (1, 0)  # sizes of 0 do not count
        assert session.run(array_ops.reshape(x, [0, 3, -1])).shape == (0, 3, 0)


# Names


def test_zeros_are_constants_where_small():
    assert creation.zeros([2, 3]).op.type == "Const"
    with sg.Graph().as_default() as graph:
        creation.zeros([2000])
        assert [op.name for op in graph.get_operations()] == ["zeros/shape_as_tensor", "zeros/Const", "zeros"]


def test_indexing_has_tf1_names():
    x = vector(None, 4)
    before = x.graph.version
    assert x[1:, 0].name.startswith("strided_slice")
    made = [op.name.rpartition("/")[2] for op in x.graph.get_operations()[before:]]
    assert made[:3] == ["stack", "stack_1", "stack_2"]


# Indexing

KEYS = [
    1,
    -1,
    np.s_[1:3],
    np.s_[::-1, 0],
    np.s_[..., None],
    np.s_[:, None, ::2],
    np.s_[-3:-1, ..., 1],
    np.s_[3:1],
    np.s_[1, ..., -1],
    np.s_[..., 4:0:-2],
    (),
]


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_indexing_is_numpys(key):
    data = np.arange(60, dtype=np.float32).reshape(4, 3, 5)
    x, loose = sg.placeholder(sg.float32, [4, 3, 5]), sg.placeholder(sg.float32, [None, None, None])
    assert tuple(x[key].shape.as_list()) == data[key].shape
    np.testing.assert_array_equal(run(x[key], {x: data}), data[key])
    np.testing.assert_array_equal(run(loose[key], {loose: data}), data[key])


@pytest.mark.parametrize(
    "key",
    [
        lambda i: i,
        lambda i: np.s_[:, i],
        lambda i: np.s_[1, i, ::2],
        lambda i: np.s_[..., i, None],
        lambda i: (i, ..., i),
    ],
)
@pytest.mark.parametrize("index", [0, 2, -1])
def test_an_index_may_be_fed(key, index):
    data = np.arange(60, dtype=np.float32).reshape(4, 3, 5)
    x, i = sg.placeholder(sg.float32, [4, 3, 5]), sg.placeholder(sg.int32, [])
    y, wanted = x[key(i)], data[key(index)]
    assert tuple(y.shape.as_list()) == wanted.shape
    np.testing.assert_array_equal(run(y, {x: data, i: index}), wanted)


def test_a_fed_end_of_a_slice_is_needed_by_the_compile():
    x, n = vector(5), sg.placeholder(sg.int32, [])
    assert captured(x[:n], {x: np.arange(5), n: np.int32(3)}, {}) == NeedsFeeds((n,))
    np.testing.assert_array_equal(run(x[:n], {x: np.arange(5)}, {n: 3}), [0, 1, 2])


@pytest.mark.parametrize("key", [1.5, "a", True, [0, 1]], ids=str)
def test_what_is_no_index(key):
    with pytest.raises(TypeError, match="cannot be an index"):
        vector(5)[key]


@pytest.mark.parametrize("dtype", [sg.float32, sg.float64])
def test_a_nan_is_neither_greater_nor_smaller_than_what_is_searched(dtype):
    """So TensorFlow 1.15 finds it before the first number that is not smaller, and behind all not greater."""
    row, values = sg.placeholder(dtype, [3]), sg.placeholder(dtype, [4])
    sides = [sg.searchsorted(row, values, side=side) for side in ("left", "right")]
    fed = {row: [0.0, 1.0, 1.0], values: [np.nan, 1.0, -np.inf, np.inf]}
    with sg.Session() as session:
        assert [found.tolist() for found in session.run(sides, fed)] == [[0, 1, 0, 3], [3, 3, 0, 3]]


ENDS = (-(2**63), 2**63 - 1)


@pytest.mark.filterwarnings("ignore::staticgraph.compiler.graph.errors.RecompileWarning")
def test_axes_and_shifts_of_a_roll_may_be_fed():
    """Also of an open size, and beyond the numbers whose opposite is one."""
    rows = np.arange(12, dtype=np.float32).reshape(3, 4)
    x, axes = sg.placeholder(sg.float32, [None, 4]), sg.placeholder(sg.int64, [2])
    shifts = sg.placeholder(sg.int64, [2])
    once, fed = sg.roll(x, [1, 1], axes), sg.roll(x, shifts, axes)
    with sg.Session() as session:
        for chosen in ([0, 1], [-1, 1], [1, 0], [0, 0]):
            found = session.run(once, {x: rows, axes: chosen})
            np.testing.assert_array_equal(found, np.roll(rows, [1, 1], chosen), str(chosen))
            for moved in ([-1, 2], [ENDS[0], 1], [*ENDS], [ENDS[0], ENDS[0]], [ENDS[1], ENDS[1]]):
                found = session.run(fed, {x: rows, axes: chosen, shifts: moved})
                wanted = np.roll(np.roll(rows, moved[0], chosen[0]), moved[1], chosen[1])
                np.testing.assert_array_equal(found, wanted, f"{moved} along {chosen}")


@pytest.mark.parametrize("rows", [3, None])
def test_the_derivative_of_a_roll_moves_back_by_any_number(rows):
    """Also by the least one, whose opposite is none, once and twice."""
    values = np.arange(12, dtype=np.float32).reshape(3, 4)
    x, shifts = sg.placeholder(sg.float32, [rows, 4]), sg.placeholder(sg.int64, [2])
    once = sg.gradients(sg.roll(x, shifts, [0, 1]) * values, x)[0]
    twice = sg.gradients(sg.roll(sg.roll(x, shifts, [1, 0]), shifts, [0, 1]) * values, x)[0]
    with sg.Session() as session:
        for moved in ([1, 2], [ENDS[0], 1], [3, ENDS[0]], [ENDS[0], ENDS[0]]):
            found = session.run([once, twice], {x: values, shifts: moved})
            wanted = np.roll(np.roll(values, -moved[0], 0), -moved[1], 1)
            np.testing.assert_array_equal(found[0], wanted, str(moved))
            wanted = np.roll(np.roll(wanted, -moved[0], 1), -moved[1], 0)
            np.testing.assert_array_equal(found[1], wanted, str(moved))


def test_an_index_out_of_range_names_axis_and_size():
    with pytest.raises(ShapeError, match="index 5 is out of range for axis 0 of size 5"):
        vector(5)[5]


# Bad indices that only a run can know


def test_indices_out_of_range_read_zeros_and_write_nothing():
    x = np.arange(1, 4, dtype=np.float32)
    bad = np.array([2, 3, -1], np.int32)
    [read] = compiled(lambda x, i: ops.gather(x, i), x, bad)
    [written] = compiled(lambda u, i: ops.scatter_nd(ops.reshape(i, shape=(3, 1)), u, shape=(3,)), x, bad)
    np.testing.assert_array_equal(read, [3, 0, 0])
    np.testing.assert_array_equal(written, [0, 0, 1])


# Order

TIES = np.array([[2, 5, 5, -1, 2, 5, np.nan, -np.inf], [0, 0, 0, 0, 0, 0, 0, 0]], np.float32)


@pytest.mark.parametrize("columns", [1, 64, 100, 128, 320])
def test_wide_slices_are_added_in_order(columns, rng):
    """A kernel goes through them whole or in blocks of columns, and rows may be named repeatedly."""
    rows = rng.integers(0, 6, size=20)
    updates = rng.normal(size=(20, columns)).astype(np.float32)
    wanted = np.zeros((5, columns), np.float32)
    for row, update in zip(rows, updates, strict=True):
        if row < 5:
            wanted[row] += update
    made = compiled(
        lambda r, u: (
            ops.scatter_nd(ops.expand_dims(r, axis=1), u, shape=(5, columns)),
            ops.unsorted_segment_sum(u, r, num_segments=5),
            ops.gather_grad(u, r, shape=(5, columns), axis=0),
        ),
        rows,
        updates,
    )
    for result in made:
        np.testing.assert_array_equal(result, wanted)


def test_equal_elements_keep_their_order_and_nan_is_lowest():
    values, places = compiled(lambda x: ops.top_k(x, k=8), TIES)
    np.testing.assert_array_equal(places, [[1, 2, 5, 0, 4, 3, 6, 7], range(8)])
    np.testing.assert_array_equal(values, np.take_along_axis(TIES, places, 1))


@pytest.mark.parametrize("k", [1, 2, 7, 100, 257])
def test_top_k_of_many(k, rng):
    x = rng.integers(0, 50, (3, 257)).astype(np.int32)
    values, places = compiled(lambda x: ops.top_k(x, k=k), x)
    wanted = np.argsort(-x, axis=1, kind="stable")[:, :k]
    np.testing.assert_array_equal(places, wanted)
    np.testing.assert_array_equal(values, np.take_along_axis(x, wanted, 1))


@pytest.mark.parametrize("dtype", [sg.float32, sg.int8, sg.uint8])
@pytest.mark.parametrize("axis", [0, -1])
def test_sort_reaches_the_ends_of_the_range(dtype, axis):
    x = sg.placeholder(dtype, [2, 3])
    data = np.array([[dtype.max, 0, dtype.min], [1, dtype.min, 2]], dtype.numpy)
    np.testing.assert_array_equal(run(sorting.sort(x, axis), {x: data}), np.sort(data, axis))
    down = run(sorting.sort(x, axis, "DESCENDING"), {x: data})
    np.testing.assert_array_equal(down, np.flip(np.sort(data, axis), axis))
    order = run(sorting.argsort(x, axis), {x: data})
    np.testing.assert_array_equal(order, np.argsort(data, axis, kind="stable"))


def test_argmax_takes_the_first_and_passes_over_nan():
    x = np.array(
        [[1, 3, 3, np.nan], [np.nan, np.nan, np.nan, np.nan], [-np.inf, np.nan, -np.inf, 0]], np.float32
    )
    high, low = compiled(lambda x: (ops.argmax(x, axis=1), ops.argmin(x, axis=1)), x)
    np.testing.assert_array_equal(high, [1, 0, 3])
    np.testing.assert_array_equal(low, [0, 0, 0])


# Sizes that depend on data


def test_where_is_folded_where_its_condition_is_known():
    x = vector(4)
    places = indexing.where(x > 1.0)
    assert places.shape.as_list() == [None, 1]
    np.testing.assert_array_equal(run(places, static={x: [0, 2, 1, 3]}), [[1], [3]])
    held = sg.Variable(np.ones(4, np.float32), name="held")
    places = indexing.where(held > 0.0)
    assert capture(CaptureRequest(x.graph, [places], [], {})) == NeedsHost(places.op)


def test_boolean_mask_with_a_known_mask():
    x = vector(None, 3)
    y = indexing.boolean_mask(x, [True, False, True], axis=1)
    assert y.shape.as_list() == [None, None]
    np.testing.assert_array_equal(run(y, {x: [[1, 2, 3], [4, 5, 6]]}), [[1, 3], [4, 6]])
    grid = vector(2, 2, 3)
    data = np.arange(12).reshape(2, 2, 3)
    mask = np.array([[True, False], [True, True]])
    np.testing.assert_array_equal(run(indexing.boolean_mask(grid, mask), {grid: data}), data[mask])


def test_unique_in_order_of_appearance():
    y, place, count = indexing.unique_with_counts([7, 3, 7, 1])
    assert y.shape.as_list() == [None]
    assert (run(y).tolist(), run(place).tolist(), run(count).tolist()) == ([7, 3, 1], [0, 1, 0, 2], [2, 1, 1])


def test_dynamic_stitch_undoes_a_partition():
    x = vector(4, 2)
    parts = indexing.dynamic_partition(x, [1, 0, 1, 0], 2)
    whole = indexing.dynamic_stitch([[1, 3], [0, 2]], parts)
    np.testing.assert_array_equal(run(whole, {x: np.arange(8).reshape(4, 2)}), np.arange(8).reshape(4, 2))


# Composites of the public functions


def test_meshgrid_is_numpys():
    for indexing_ in ("xy", "ij"):
        ours = [run(t) for t in creation.meshgrid([1, 2], [3, 4, 5], [6, 7], indexing=indexing_)]
        theirs = np.meshgrid([1, 2], [3, 4, 5], [6, 7], indexing=indexing_)
        for a, b in zip(ours, theirs, strict=True):
            np.testing.assert_array_equal(a, b)


def test_repeat_is_numpys():
    x, data = vector(None, 2), np.array([[1, 2], [3, 4]])
    for repeats, axis in ((2, 1), ([1, 3], 1), (3, None), ([0, 2], 0)):
        np.testing.assert_array_equal(
            run(array_ops.repeat(x, repeats, axis), {x: data}), np.repeat(data, repeats, axis)
        )


def test_gather_nd_with_batches():
    x, data = vector(2, 3), np.arange(6).reshape(2, 3)
    places = np.array([[[2], [0]], [[1], [1]]], np.int32)
    found = run(indexing.gather_nd(x, places, batch_dims=1), {x: data})
    np.testing.assert_array_equal(found, np.take_along_axis(data, places[..., 0], 1))


def test_sequence_mask_finds_its_length():
    mask = indexing.sequence_mask([1, 3, 2])
    np.testing.assert_array_equal(run(mask), [[1, 0, 0], [1, 1, 1], [1, 1, 0]])


def test_eye_in_a_batch():
    np.testing.assert_array_equal(
        run(creation.eye(2, 3, batch_shape=[2])), np.broadcast_to(np.eye(2, 3), (2, 2, 3))
    )


def test_numpy_like_methods():
    x, data = vector(2, 3), np.arange(6, dtype=np.float32).reshape(2, 3)
    for ours, theirs in (
        (x.reshape(3, 2), data.reshape(3, 2)),
        (x.transpose(), data.T),
        (x.swapaxes(0, 1), data.swapaxes(0, 1)),
        (x.flatten(), data.ravel()),
        (x[None].squeeze(0), data),
    ):
        np.testing.assert_array_equal(run(ours, {x: data}), theirs)
