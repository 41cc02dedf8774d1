"""Protocol messages, files of records and events, and what summaries are made of: bytes and text."""

import binascii
import os
import re
import struct
import tempfile
import zlib

import numpy as np

from tests.golden.draws import generator, real
from tests.golden.runner import answer, error


def message(tf, name, **values):
    """A message by name: all are in one module here, and in several in TensorFlow."""
    places = [tf.messages] if hasattr(tf, "messages") else [tf, tf.train, tf.summary]
    return next(getattr(place, name) for place in places if hasattr(place, name))(**values)


def hexed(data):
    return binascii.hexlify(data).decode()


def written(made):
    """The case of a message: its bytes, its text, and the same after the bytes are read."""

    def build(tf):
        first = made(lambda name, **values: message(tf, name, **values))
        data = first.SerializeToString(deterministic=True)
        again = type(first).FromString(data)
        return [
            hexed(data),
            str(first),
            str(again),
            again == first,
            again.SerializeToString() != b"",
            len(data),
        ]

    return build


def feature(make, values):
    kinds = {
        bytes: ("bytes_list", "BytesList"),
        float: ("float_list", "FloatList"),
        int: ("int64_list", "Int64List"),
    }
    field, kind = kinds[type(values[0])]
    return make("Feature", **{field: make(kind, value=values)})


def example(make):
    values = {"label": [3, -1, 300, 2**63 - 1, -(2**63)], "image": [b"\x00\xff", b""], "x": [0.1, -0.0, 1e20]}
    features = {name: feature(make, value) for name, value in values.items()}
    return make("Example", features=make("Features", feature=features))


def sequence_example(make):
    lists = make("FeatureLists")
    for word in ("a", "b"):
        lists.feature_list["words"].feature.add().bytes_list.value.append(word.encode())
    lists.feature_list["none"]
    return make("SequenceExample", context=example(make).features, feature_lists=lists)


def config(make):
    made = make(
        "ConfigProto", allow_soft_placement=True, device_count={"GPU": 0, "CPU": 2}, device_filters=["a", "b"]
    )
    made.gpu_options.per_process_gpu_memory_fraction = 1 / 3
    made.gpu_options.allow_growth = False
    made.graph_options.optimizer_options.opt_level = -1
    made.graph_options.optimizer_options.global_jit_level = made.graph_options.optimizer_options.ON_1
    made.graph_options.rewrite_options.optimizers.extend(["x", "y"])
    job = made.cluster_def.job.add(name="worker")
    job.tasks[1] = "host:2222"
    job.tasks[0] = "other:2222"
    return made


def graph(make):
    made = make("GraphDef")
    made.versions.producer = 134
    node = made.node.add(name="x", op="Placeholder", device="/cpu:0")
    node.attr["dtype"].type = 1
    node.attr["shape"].shape.dim.add().size = -1
    node.attr["a_list"].list.i.extend([1, -2, 300])
    node.attr["empty"].list.SetInParent()
    node.attr["f"].f = 0.1
    node.attr["b"].b = False
    node.attr["s"].s = b"\x00text\xff"
    node.attr["t"].tensor.float_val.extend([1.0, 2.5])
    node.attr["call"].func.name = "f"
    node.attr["call"].func.attr["inner"].i = 7
    copy = made.node.add()
    copy.CopyFrom(node)
    copy.name, copy.op = "y", "\u00e9\"'\\\n"
    copy.input.extend(["x", "x:1", "^x"])
    return made


def meta_graph(make):
    made = make("MetaGraphDef", graph_def=graph(make))
    made.meta_info_def.tags.append("serve")
    made.collection_def["train_op"].node_list.value.append("train")
    made.collection_def["numbers"].int64_list.value.extend([1, 2])
    made.collection_def["any"].any_list.value.add(type_url="u", value=b"v")
    signature = made.signature_def["serving_default"]
    signature.inputs["x"].name = "x:0"
    signature.inputs["x"].tensor_shape.unknown_rank = True
    signature.method_name = "predict"
    made.saver_def.version = 2
    made.saver_def.keep_checkpoint_every_n_hours = 10000.5
    return made


def event(make):
    made = make("Event", wall_time=1234567890.125, step=-5)
    value = made.summary.value.add(tag="t", simple_value=0.0)
    value.metadata.plugin_data.plugin_name = "p"
    made.summary.value.add(histo=make("HistogramProto", min=-1.5, bucket=[0.0, 1e300], bucket_limit=[1.0]))
    made.summary.value.add(image={"height": 2, "encoded_image_string": b"png"})
    return made


def run_metadata(make):
    made = make("RunMetadata")
    device = made.step_stats.dev_stats.add(device="/cpu:0")
    device.thread_names[3] = "worker"
    node = device.node_stats.add(node_name="x", all_start_micros=10**15, thread_id=2**32 - 1)
    node.output.add().tensor_description.allocation_description.ptr = 2**64 - 1
    made.cost_graph.node.add(control_input=[1, 2])
    return made


MESSAGES = [example, sequence_example, config, graph, meta_graph, event, run_metadata]


def presence(tf):
    """Return the fields that count as given, through assignments, reading, and clearing."""
    made = message(tf, "Feature")
    out = [made.WhichOneof("kind"), made.HasField("int64_list")]
    made.int64_list.SetInParent()
    out += [made.WhichOneof("kind"), hexed(made.SerializeToString())]
    made.float_list.value.append(1.0)
    out += [made.WhichOneof("kind"), hexed(made.SerializeToString())]
    made.ClearField("kind")
    out += [made.WhichOneof("kind"), [field.name for field, _ in made.ListFields()]]
    options = message(tf, "ConfigProto")
    options.gpu_options.allow_growth
    out.append(options.HasField("gpu_options"))
    options.gpu_options.allow_growth = False
    out += [options.HasField("gpu_options"), options.ByteSize()]
    options.device_count["read"]
    out += [hexed(options.SerializeToString()), "other" in options.device_count, len(options.device_count)]
    value = message(tf, "AttrValue", i=0)
    out += [value.HasField("i"), value.HasField("f"), hexed(value.SerializeToString())]
    value.f = 0.0
    return out + [value.HasField("i"), value.WhichOneof("value")]


def merged(tf):
    one, two = (message(tf, "ConfigProto") for _ in range(2))
    one.device_count["a"] = 1
    one.device_filters.append("x")
    one.gpu_options.allow_growth = True
    two.device_count["a"] = 2
    two.device_count["b"] = 3
    two.device_filters.append("y")
    two.gpu_options.allocator_type = "BFC"
    one.MergeFrom(two)
    text = str(one)
    one.MergeFromString(two.SerializeToString())
    return [text, sorted(map(list, one.device_count.items())), list(one.device_filters), str(one.gpu_options)]


def unknown_fields(tf):
    """Fields of another version are kept as they are, and values that come twice: the last counts."""
    made = message(tf, "ConfigProto")
    made.ParseFromString(b"\xfa\x7f\x03abc\x38\x01\x38\x00\x38\x01\xf8\x7f\x05")
    return [
        str(made),
        hexed(made.SerializeToString()),
        made == message(tf, "ConfigProto", allow_soft_placement=True),
    ]


def unpacked(tf):
    """Repeated numbers may come with a tag each, and in several pieces."""
    made = message(tf, "Int64List")
    made.ParseFromString(b"\x08\x01\x0a\x02\x02\x03\x08\x04")
    return [list(made.value), hexed(made.SerializeToString())]


VALUES = [
    ("numbers", [1, 2], {}),
    ("a float", 1.5, {}),
    ("doubles", [[1.0, 2.0]], {"dtype": "float64"}),
    ("a string", "abc", {}),
    ("strings", ["a", b"\0", "\u00e9"], {}),
    ("a truth value", True, {}),
    ("truth values", [True, False], {}),
    ("halves", np.array([1, 2.5], np.float16), {}),
    ("complex numbers", [1 + 2j], {}),
    ("complex numbers of 64 bits", np.array([1 + 2j, 3], np.complex64), {}),
    ("nothing", [], {}),
    ("nothing in a list", [[]], {}),
    ("one for all", 1, {"shape": [3]}),
    ("some for all", [1, 2], {"shape": [4]}),
    ("a large number", 2**40, {}),
    ("uint16", [1, 2], {"dtype": "uint16"}),
    ("uint64", np.arange(3, dtype=np.uint64), {}),
    ("an empty array", np.zeros((0, 3)), {}),
    ("a NumPy number", np.int64(3), {}),
    ("an array of another type", np.arange(3), {"dtype": "float32"}),
    ("bfloat16", [1.5, 3.0], {"dtype": "bfloat16"}),
]
NO_VALUES = [
    ("a fraction as an integer", 1.5, {"dtype": "int32"}),
    ("too many", [1, 2, 3], {"shape": [2]}),
    ("another shape", [1, 2], {"shape": [1, 2], "verify_shape": True}),
    ("None", None, {}),
    ("a string as a number", "a", {"dtype": "int32"}),
    ("a number as a string", 1, {"dtype": "string"}),
    ("a number as a truth value", 1, {"dtype": "bool"}),
    ("a string among numbers", [1, "a"], {}),
]


def tensor(tf, values, options):
    if "dtype" in options:
        options = dict(options, dtype=getattr(tf, options["dtype"]))
    functions = tf.messages.tensors if hasattr(tf, "messages") else tf
    made = functions.make_tensor_proto(values, **options)
    array = functions.make_ndarray(made)
    listed = array.astype(np.float64 if array.dtype.kind == "V" else array.dtype).tolist()
    return [
        hexed(made.SerializeToString()),
        list(array.shape),
        repr(listed) if array.dtype.kind == "O" else str(listed),
    ]


def file_with(data):
    path = os.path.join(tempfile.mkdtemp(), "file")
    with open(path, "wb") as file:
        file.write(data)
    return path


def contents(path):
    with open(path, "rb") as file:
        return file.read()


RECORDS = [b"", b"one", bytes(range(256)) * 9, b"\0" * 5000]


def records(tf, compression=""):
    path = os.path.join(tempfile.mkdtemp(), "file")
    options = tf.python_io.TFRecordOptions(
        getattr(tf.python_io.TFRecordCompressionType, compression or "NONE")
    )
    with tf.python_io.TFRecordWriter(path, options) as writer:
        for record in RECORDS:
            writer.write(record)
    data = contents(path)
    raw = zlib.decompress(data, 47) if compression else data
    return [hexed(raw), hexed(data[:2]), list(tf.python_io.tf_record_iterator(path, options)) == RECORDS]


def damaged(change, compression=None):
    """The records of a file that was changed."""

    def build(tf):
        path = os.path.join(tempfile.mkdtemp(), "file")
        with tf.python_io.TFRecordWriter(path) as writer:
            writer.write(b"one record")
            writer.write(b"and another")
        return list(tf.python_io.tf_record_iterator(file_with(change(contents(path))), compression))

    return build


def missing(tf):
    return list(tf.python_io.tf_record_iterator("/no/such/file"))


def no_compression(tf):
    tf.python_io.TFRecordOptions("LZMA")


def events(tf):
    """Return the contents of a FileWriter's file, without the times."""
    folder = tempfile.mkdtemp()
    writer = tf.summary.FileWriter(folder, filename_suffix=".end")
    summary = message(tf, "Summary")
    value = summary.value.add(tag="loss", simple_value=0.5)
    value.metadata.display_name = "Loss"
    writer.add_summary(summary, 1)
    writer.add_summary(summary.SerializeToString(), np.int64(2))
    writer.add_session_log(message(tf, "SessionLog", status=1), 3)
    writer.add_run_metadata(message(tf, "RunMetadata"), "tag", 4)
    writer.add_event(message(tf, "Event", step=5))
    writer.close()
    (name,) = os.listdir(folder)
    read = tf.summary.summary_iterator if hasattr(tf, "messages") else tf.train.summary_iterator
    out = [re.sub(r"\d+\.[^.]+", "#", name)]
    for one in read(os.path.join(folder, name)):
        one.ClearField("wall_time")
        out.append(str(one))
    return out


def graph_written(tf):
    """Name, type and inputs of the nodes of a small graph."""
    with tf.name_scope("net"):
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        tf.matmul(x, tf.Variable(tf.zeros([2, 2]), name="w"), name="out")
    made = tf.get_default_graph().as_graph_def(add_shapes=True)
    placeholder = made.node[0]
    kept = {"dtype", "shape", "_output_shapes"}
    attributes = [[key, str(placeholder.attr[key])] for key in sorted(placeholder.attr) if key in kept]
    nodes = [
        [node.name, node.op, list(node.input)]
        for node in made.node
        if node.name != "net/zeros/shape_as_tensor"
    ]
    path = tf.io.write_graph(made, os.path.join(tempfile.mkdtemp(), "new"), "graph.pbtxt")
    return [nodes, attributes, contents(path) == str(made).encode(), os.path.basename(path)]


def run(tf, kind, value, **options):
    """Return the result of a summary op."""
    if hasattr(tf, "messages"):
        return getattr(tf.summary.encode, kind)("tag", value, **options)
    if kind == "image":
        options = {"max_outputs": options.get("max_images", 3)}
    with tf.Session() as session:
        return session.run(getattr(tf.summary, kind)("tag", tf.constant(value), **options))


def summed_up(kind, value, **options):
    return lambda tf: hexed(run(tf, kind, value, **options))


def drawn(*shape):
    return real(*shape).array(generator(str(shape)), "float64")


HISTOGRAMS = {
    "of many values": drawn(1000),
    "of 32 bits": drawn(50).astype(np.float32),
    "of integers": np.arange(-5, 6),
    "of zeros": np.zeros(7),
    "of nothing": np.zeros(0),
    "of limits": np.array([1e-12, 1.1e-12, -1e-12, 1e30, -1e30]),
}


def holes(image):
    image = image.astype(np.float32)
    image[0, 0, 0, 0], image[0, 1, 1, 0], image[0, 2, 2, -1] = np.nan, np.inf, -np.inf
    return image


IMAGES = {
    "of bytes": (np.arange(120) * 2).reshape(2, 4, 5, 3).astype(np.uint8),
    "without negative values": abs(drawn(4, 6, 7, 3)).astype(np.float32),
    "with negative values": drawn(2, 9, 5, 1).astype(np.float32),
    "of halves": drawn(1, 4, 5, 4).astype(np.float16),
    "of zeros": np.zeros((1, 2, 2, 1), np.float32),
    "almost black": np.full((1, 2, 2, 1), 1e-7, np.float32),
    "with holes": holes(drawn(1, 4, 4, 3)),
    "with holes, in grey": holes(abs(drawn(1, 4, 4, 1))),
    "of nothing finite": np.full((1, 2, 2, 3), np.nan, np.float32),
}


def pixels(png):
    """The pixels of a PNG file, as a list."""
    at, data, size = 8, b"", None
    while at < len(png):
        (length,) = struct.unpack(">I", png[at : at + 4])
        kind, part = png[at + 4 : at + 8], png[at + 8 : at + 8 + length]
        assert struct.unpack(">I", png[at + 8 + length : at + 12 + length])[0] == zlib.crc32(kind + part)
        if kind == b"IHDR":
            width, height, _, color = struct.unpack(">IIBB", part[:10])
            size = (height, width, {0: 1, 2: 3, 6: 4}[color])
        data += part if kind == b"IDAT" else b""
        at += 12 + length
    rows = np.frombuffer(zlib.decompress(data), np.uint8).reshape(size[0], -1)
    out = np.zeros((size[0] + 1, size[1] + 1, size[2]), np.int64)  # a border of zeros above and to the left
    for y, row in enumerate(rows, 1):
        for x, pixel in enumerate(row[1:].reshape(size[1:]).astype(np.int64), 1):
            left, above, corner = out[y, x - 1], out[y - 1, x], out[y - 1, x - 1]
            far = [abs(left + above - corner - side) for side in (left, above, corner)]
            paeth = np.where(
                (far[0] <= far[1]) & (far[0] <= far[2]), left, np.where(far[1] <= far[2], above, corner)
            )
            out[y, x] = (pixel + [0 * left, left, above, (left + above) // 2, paeth][row[0]]) % 256
    return out[1:, 1:].tolist()


def image_summary(array, most):
    def build(tf):
        summary = message(tf, "Summary")
        summary.ParseFromString(run(tf, "image", array, max_images=most))
        shown = [value.image for value in summary.value]
        sizes = [[image.height, image.width, image.colorspace] for image in shown]
        return [
            [value.tag for value in summary.value],
            sizes,
            [pixels(i.encoded_image_string) for i in shown],
        ]

    return build


def merged_summaries(tf):
    if hasattr(tf, "messages"):
        encode = tf.summary.encode
        return hexed(encode.merge([encode.scalar("a", 1.5), encode.scalar("b", 2)]))
    with tf.Session() as session:
        return hexed(session.run(tf.summary.merge([tf.summary.scalar("a", 1.5), tf.summary.scalar("b", 2)])))


def twice_the_same_tag(tf):
    if hasattr(tf, "messages"):
        return tf.summary.encode.merge([tf.summary.encode.scalar("a", 1.0)] * 2) and None
    return tf.summary.merge([tf.summary.scalar("a", 1.0)] * 2)


def not_finite(value):
    def build(tf):
        if hasattr(tf, "messages"):
            return tf.summary.encode.histogram("tag", [value]) and None
        return tf.summary.histogram("tag", tf.constant([value]))

    return build


SOUND = drawn(2, 20, 2).astype(np.float32)
TIES = ((np.arange(40.0) - 20) / 65536).reshape(1, 40).astype(np.float32)

CASES = [
    [answer(made.__name__, written(made)) for made in MESSAGES],
    answer("presence", presence),
    answer("merged", merged),
    answer("unknown fields", unknown_fields),
    answer("unpacked numbers", unpacked),
    [answer("tensor of %s" % name, lambda tf, v=v, o=o: tensor(tf, v, o)) for name, v, o in VALUES],
    [error("tensor of %s" % name, lambda tf, v=v, o=o: tensor(tf, v, o)) for name, v, o in NO_VALUES],
    [
        answer("records%s" % name, lambda tf, name=name: records(tf, name.strip()))
        for name in ("", " GZIP", " ZLIB")
    ],
    error("record with a changed byte", damaged(lambda data: data[:14] + b"?" + data[15:])),
    error("record with a changed length", damaged(lambda data: b"?" + data[1:])),
    error("record that ends early", damaged(lambda data: data[:-3])),
    error("records that are not compressed", damaged(lambda data: data, "GZIP")),
    error("records of a missing file", missing),
    error("unknown compression", no_compression),
    answer("events", events),
    answer("graph of operations", graph_written),
    answer("scalar summary", summed_up("scalar", 0.1)),
    answer("text summary", summed_up("text", "*text*")),
    answer("text summary of a list", summed_up("text", ["a", "b\0"])),
    [answer("histogram %s" % name, summed_up("histogram", value)) for name, value in HISTOGRAMS.items()],
    error("histogram of nan", not_finite(np.nan)),
    error("histogram of infinity", not_finite(np.inf)),
    [
        answer("image %s, at most %d" % (name, most), image_summary(value, most))
        for name, value in IMAGES.items()
        for most in (1, 3)
    ],
    answer("audio", summed_up("audio", SOUND, sample_rate=8000.5)),
    answer("audio, one", summed_up("audio", SOUND, sample_rate=8000, max_outputs=1)),
    answer("audio with ties", summed_up("audio", TIES, sample_rate=44100)),
    answer("merged summaries", merged_summaries),
    error("merged summaries of one tag", twice_the_same_tag),
]
