"""Mistakes with shapes, structures and names, and what the message must say about them."""

import pytest

import staticgraph as sg
from staticgraph.compat import tf1 as tf
from staticgraph.compiler.graph.errors import OpError


def x(*shape, dtype=sg.float32):
    return sg.placeholder(dtype, shape, name="x")


def model():
    return sg.keras.Sequential([sg.keras.layers.Dense(2, input_shape=(3,))])


def grown(state, row):
    return sg.concat([state, row[None]], 0)


MISTAKES = {
    "cond of a vector": (
        lambda: sg.cond(x(2, dtype=sg.bool), lambda: 1, lambda: 2),
        "cond(pred) must be a single value, not bool[2]",
        "reduce_all and reduce_any",
    ),
    "switch_case of a vector": (
        lambda: sg.switch_case(x(2, dtype=sg.int32), [lambda: 1, lambda: 2]),
        "switch_case(branch_index) must be a single value, not int32[2]",
        "map_fn calls a function for each row",
    ),
    "map_fn to a pair": (
        lambda: sg.map_fn(lambda row: (row, row), x(3)),
        "map_fn: fn must return the structure of elems",
        "dtype= has the dtypes of the results",
    ),
    "scan with a state that grows": (
        lambda: sg.scan(grown, x(3), initializer=sg.zeros([1])),
        "scan: the state is float32[1], and fn makes float32[2] of it",
        "a state keeps its shape",
    ),
    "scan to a pair": (
        lambda: sg.scan(lambda state, row: (state, row), x(3)),
        "scan: fn must return the structure of the state",
        "fn returns the next state",
    ),
    "a matrix for dynamic_rnn": (
        lambda: sg.nn.dynamic_rnn(sg.nn.rnn_cell.LSTMCell(4), x(4, 3), dtype=sg.float32),
        "the inputs x:0 of shape (4, 3) must have a batch, a time and a feature axis",
        "",
    ),
    "attention of one tensor": (
        lambda: sg.keras.layers.Attention()(x(2, 3, 4)),
        "must be called on a list of tensors, not",
        "[query, value] or [query, value, key]",
    ),
    "additive attention of one tensor": (
        lambda: sg.keras.layers.AdditiveAttention()(x(2, 3, 4)),
        "must be called on a list of tensors, not",
        "[query, value] or [query, value, key]",
    ),
    "a crop of another rank": (
        lambda: sg.random_crop(x(28, 28, 3), [24, 24]),
        "size is (24, 24), and value has shape (28, 28, 3)",
        "a size for each axis",
    ),
    "einsum of nothing": (lambda: sg.einsum("ij->i"), "einsum('ij->i') has no operands", "einsum(equation"),
    "channels of a number": (lambda: tf.contrib.layers.gdn(x()), "the input is a single number", ""),
    "pictures without axes": (
        lambda: tf.contrib.layers.images_to_sequence(x(3)),
        "x:0 has shape (3,), and no axis 1",
        "",
    ),
    "more bytes than there are addresses": (
        lambda: sg.zeros([2**31 - 1, 0, 2**31 - 1, 2**31 - 1]),
        "has more bytes than there are addresses",
        "make it smaller",
    ),
    "weights in no file": (
        lambda: model().load_weights("/none/w.h5"),
        "there is no file /none/w.h5 ",
        "/none",
    ),
    "text beside numbers": (
        lambda: sg.Session().run(x(2) + 1.0, {"x:0": ["ñ", b"\xff"]}),
        "the value fed to x:0 (float32[2]) is not an array of numbers",
        "np.asarray(value, float)",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_message_names_the_line_what_is_wrong_and_the_cure(mistake):
    call, wrong, cure = MISTAKES[mistake]
    with pytest.raises((TypeError, ValueError, OpError)) as caught:
        call()
    text = " ".join(str(caught.value).split())
    assert wrong in text and cure in text
    assert "test_shapes_and_structures.py:" in text


def test_text_and_bytes_that_are_no_text():
    fed = sg.placeholder(sg.string, [None], name="words")
    words = ["ñ", b"\xff\0"]
    with sg.Session() as session:
        assert session.run(fed, {fed: words}).tolist() == ["ñ".encode(), b"\xff\0"]
        assert session.run(sg.constant(words)).tolist() == ["ñ".encode(), b"\xff\0"]
