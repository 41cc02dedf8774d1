"""Models that are damaged, hostile, or have what does not exist here: one clear error each."""

import os
import time

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.formats.onnx.proto import FunctionProto
from tests.onnx.models import graph, info, line, model, node, tensor

F = [info("x", "float32", [2])]
Y = [info("y", "float32", [2])]


def refused(proto, text, kind=sg.onnx.OnnxError):
    with pytest.raises(kind, match=text):
        sg.onnx.load(proto.SerializeToString())


def test_an_unknown_operator_is_named_with_its_node():
    refused(
        model([node("Frobnicate", "x", "y", name="n7")], F, Y),
        r"node 'n7' \(Frobnicate\): there is no such operator in version 21 here",
        sg.onnx.UnsupportedOnnxError,
    )
    refused(model([node("Relu", "x", "y", "com.vendor")], F, Y), r"no such operator of 'com\.vendor'")


@pytest.mark.parametrize(
    ("nodes", "text"),
    [
        ([node("Relu", "nothing", "y")], "nothing before it is called 'nothing'"),
        ([node("Relu", "z", "y"), node("Relu", "x", "z")], "nothing before it is called 'z'"),
        ([node("Concat", "x x", "y", axis=5)], r"\(Concat\)"),
        ([node("Transpose", "x", "y", perm=[0, 0])], r"\(Transpose\)"),
        ([node("Softmax", "x", "y", axis=9)], "axis 9 does not exist"),
        ([node("Cast", "x", "y", to=99)], "elements of type 99"),
        ([node("Cast", "x", "y", to=17)], "FLOAT8E4M3FN"),
        ([node("Conv", "x x", "y")], r"\(Conv\)"),
        ([node("Relu", "x x x", "y")], r"\(Relu\)"),
        ([node("Gemm", "x", "y")], r"\(Gemm\)"),
        ([node("MaxPool", "x", "y", kernel_shape="text")], r"\(MaxPool\)"),
        ([node("BitShift", "x x", "y")], "it has no attribute 'direction'"),
        ([node("If", "x", "y", then_branch=1, else_branch=2)], r"\(If\)"),
        ([node("Relu", "x", "other")], "nothing before it is called 'y'"),
        ([node("Relu", "x", "y"), node("Neg", "x", "y")], "its output 'y' is the name of another value"),
        ([node("Relu", "x", "x"), node("Neg", "x", "y")], "its output 'x' is the name of another value"),
        ([node("Transpose", "x", "y", perm=[0, 1, 2])], "perm"),
    ],
    ids=lambda value: value if isinstance(value, str) else value[0].op_type,
)
def test_nodes_that_contradict_themselves(nodes, text):
    refused(model(nodes, F, Y), text)


@pytest.mark.parametrize(
    "shape", [[2**63 - 1], [2**40, 2**40], [1] * 200], ids=["long", "large", "many axes"]
)
def test_an_input_that_no_memory_holds(shape):
    """The error is that of a file, whatever the operation for the input says."""
    refused(model([node("Relu", "x", "y")], [info("x", "float32", shape)], Y), "memory|axes")


def test_two_tensors_of_one_name():
    twice = [tensor("w", np.zeros(2, np.float32)), tensor("w", np.ones(2, np.float32))]
    refused(model([node("Add", "x w", "y")], F, Y, twice), "2 tensors are called 'w'")


@pytest.mark.parametrize(
    ("w", "r", "options", "text"),
    [
        ([1, 4, 4], [1, 4, 4], {}, r"R must be \[1, 16, 4\], and W of the same rows"),
        ([1, 12, 4], [1, 16, 4], {}, r"W has shape \[1, 12, 4\] and R \[1, 16, 4\], for 1"),
        (
            [1, 16, 4],
            [1, 16, 4],
            {"direction": "bidirectional"},
            r"for 2 directions:\nR must be \[2, ",
        ),
        ([2, 16, 4], [2, 16, 4], {"direction": "reverse"}, r"for 1 direction:\nR must be \[1, 16, 4\]"),
        ([1, 16, 4], [1, 16, 4], {"hidden_size": 5}, r"its hidden_size is 5, and R has shape \[1, 16, 4\]"),
    ],
)
def test_weights_that_fit_no_lstm(w, r, options, text):
    weights = [tensor(name, np.zeros(shape, np.float32)) for name, shape in (("w", w), ("r", r))]
    given = [info("x", "float32", [3, 2, 4])]
    refused(
        model([node("LSTM", "x w r", "y", **options)], given, [info("y", "float32", [3, 1, 2, 4])], weights),
        text,
    )


def test_tensors_that_do_not_fit():
    for change in (
        lambda t: t.dims.append(7),
        lambda t: t.dims.extend([1] * 65),
        lambda t: t.dims.__setitem__(0, -2),
        lambda t: t.dims.append(1 << 62),
        lambda t: (t.dims.extend([1 << 62, 0]), t.ClearField("raw_data")),
        lambda t: setattr(t, "raw_data", b"abc"),
        lambda t: setattr(t, "data_type", 0),
        lambda t: setattr(t, "data_type", 8),
        lambda t: t.ClearField("raw_data"),
    ):
        proto = line()
        change(proto.graph.initializer[0])
        refused(proto, "tensor 'w'")
    proto = model([node("Relu", "s", "y")], [], Y)
    sparse = proto.graph.sparse_initializer.add(dims=[1 << 40, 1 << 20])
    sparse.values.CopyFrom(tensor("s", np.float32([1])))
    sparse.indices.CopyFrom(tensor("", np.int64([-1])))
    refused(proto, "are not those of the shape")
    del sparse.dims[:]
    sparse.dims.append(1 << 40)
    refused(proto, "lies outside of the shape")


GRAMS = {"pool_int64s": [1, 2], "ngram_counts": [0], "mode": "TF", "max_gram_length": 2, "min_gram_length": 1}
HUGE = [info("x", "int64", [1 << 40])]
LONG = [info("x", "float32", [1, 1 << 40, 2])]
MANY = [info("b", "float32", [1 << 30, 4, 4]), info("x", "float32", [1 << 30, 2, 4])]


@pytest.mark.parametrize(
    ("one", "inputs"),
    [
        (node("LRN", "x", "y", size=1 << 40), [info("x", "float32", [1, 2, 3, 3])]),
        (node("LRN", "x", "y", size=-1), [info("x", "float32", [1, 2, 3, 3])]),
        (node("Split", "x", "y", num_outputs=1 << 40), F),
        (node("TfIdfVectorizer", "x", "y", ngram_indexes=[0, 1 << 40], max_skip_count=0, **GRAMS), F),
        (node("TfIdfVectorizer", "x", "y", ngram_indexes=[0, 1], max_skip_count=1 << 40, **GRAMS), HUGE),
        (node("LinearAttention", "x x x", "y", q_num_heads=1, kv_num_heads=1), LONG),
        (node("NonMaxSuppression", "b x n", "y"), MANY),
    ],
    ids=lambda value: getattr(value, "op_type", ""),
)  # fmt: skip
def test_numbers_that_are_loops_of_a_reader(one, inputs):
    """A few bytes had the reader build operations without end."""
    count = [tensor("n", np.int64(3))] if "n" in one.input else []
    begun = time.process_time()
    refused(model([one], inputs, Y, count), one.op_type)
    assert time.process_time() - begun < 2


def test_a_sequence_of_many_parts():
    nodes = [node("SplitToSequence", "x n", "s", axis=0), node("ConcatFromSequence", "s", "y", axis=0)]
    refused(model(nodes, HUGE, Y, [tensor("n", np.int64(1))]), "too many to be written out")


@pytest.mark.parametrize(
    "location",
    [
        "../secret",
        "/etc/hostname",
        "link",
        "folder/../../secret",
        "folder",
        "pipe",
        "",
        "link_folder/file",
        "..",
        "a\0b",
    ],
)
def test_files_elsewhere_are_not_opened(tmp_path, location):
    inside = tmp_path / "models"
    (inside / "folder").mkdir(parents=True)
    (tmp_path / "secret").write_bytes(bytes(16))
    (tmp_path / "file").write_bytes(bytes(16))
    os.symlink(tmp_path / "secret", inside / "link")
    os.mkfifo(inside / "pipe")
    os.symlink(tmp_path, inside / "link_folder")
    proto = line()
    weights = proto.graph.initializer[0]
    weights.ClearField("raw_data")
    weights.data_location = 1
    weights.external_data.add(key="location", value=location)
    (inside / "m.onnx").write_bytes(proto.SerializeToString())
    with pytest.raises(sg.onnx.OnnxError, match="tensor 'w'"):
        sg.onnx.load(inside / "m.onnx")


@pytest.mark.parametrize(
    ("offset", "length"), [("8", "16"), ("-1", "16"), ("0", "x"), ("0", "9" * 30), ("17", None)]
)
def test_bounds_of_a_file_are_kept(tmp_path, offset, length):
    (tmp_path / "w").write_bytes(bytes(16))
    proto = line()
    weights = proto.graph.initializer[0]
    weights.data_location = 1
    told = {"location": "w", "offset": offset} | ({"length": length} if length else {})
    for key, value in told.items():
        weights.external_data.add(key=key, value=value)
    (tmp_path / "m.onnx").write_bytes(proto.SerializeToString())
    with pytest.raises(sg.onnx.OnnxError, match="tensor 'w'"):
        sg.onnx.load(tmp_path / "m.onnx")


def test_functions_that_never_end():
    again = FunctionProto(
        name="F", domain="mine", input=["a"], output=["b"], node=[node("F", "a", "b", "mine")]
    )
    refused(model([node("F", "x", "y", "mine")], F, Y, functions=[again]), "calls itself")
    bombs = []
    for i in range(12):  # each calls the next one ten times
        inner = [node(f"F{i + 1}", "a", f"b{k}", "mine") for k in range(9)] + [
            node(f"F{i + 1}", "a", "b", "mine")
        ]
        bombs.append(FunctionProto(name=f"F{i}", domain="mine", input=["a"], output=["b"], node=inner))
    bombs.append(
        FunctionProto(name="F12", domain="mine", input=["a"], output=["b"], node=[node("Relu", "a", "b")])
    )
    refused(model([node("F0", "x", "y", "mine")], F, Y, functions=bombs), "too many nodes")


def test_what_is_no_model_at_all(tmp_path):
    for data in (b"", b"hello", b"\x08\x07", bytes(1000), b"\xff" * 100):
        with pytest.raises(sg.onnx.OnnxError):
            sg.onnx.load(data)
    with pytest.raises(sg.errors.NotFoundError):
        sg.onnx.load(tmp_path / "none.onnx")
    with pytest.raises(sg.errors.NotFoundError):
        sg.onnx.load(tmp_path)
    with pytest.raises(TypeError):
        sg.onnx.load(7)
    with pytest.raises(sg.onnx.OnnxError, match="no input 'z'"):
        sg.onnx.load(line().SerializeToString(), inputs={"z": 1})


def _damaged(data, step):
    for end in range(0, len(data), step):
        yield data[:end]
    for bit in range(0, 8 * len(data), step):
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << bit % 8
        yield bytes(flipped)


def _with_everything():
    body = graph(
        [node("Add", "s x", "t")],
        [info("i", "int64", []), info("on", "bool", []), info("s", "float32", [2])],
        [info("on", "bool", []), info("t", "float32", [2])],
    )
    nodes = [
        node("Loop", "n  x", "h", body=body),
        node("Reshape", "h shape", "g"),
        node("Softmax", "g", "y", axis=-1),
    ]
    constants = [tensor("n", np.int64(3)), tensor("shape", np.int64([2, 1]))]
    return model(nodes, F, Y, constants).SerializeToString()


@pytest.mark.parametrize("step", [7, pytest.param(1, marks=pytest.mark.slow)])
def test_damage_is_an_error_or_harmless(step):
    for data in _damaged(_with_everything(), step):
        try:
            sg.onnx.load(data)
        except sg.onnx.OnnxError:
            continue
