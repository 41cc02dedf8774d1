"""Summaries as operations: their names, tags and collections, and the messages that they give."""

import numpy as np

from tests.golden.runner import answer, error

IMAGES = np.linspace(0, 1, 2 * 3 * 4 * 3, dtype=np.float32).reshape(2, 3, 4, 3)
SOUNDS = np.sin(np.arange(2 * 8 * 2, dtype=np.float32)).reshape(2, 8, 2)


def told(tf, made):
    """For each summary its name, its type, its static shape, and its message without encoded pictures."""
    out = []
    with tf.Session() as sess:
        for summary in made:
            message = tf.summary.Summary.FromString(sess.run(summary))
            for value in message.value:
                if value.HasField("image"):
                    value.image.ClearField("encoded_image_string")
            out.append([summary.name, summary.op.type, summary.shape.as_list(), str(message)])
    return out


def gives(name, build):
    return answer(name, lambda tf: told(tf, build(tf)))


def one_of_each(tf):
    s = tf.summary
    return [
        s.scalar("loss", 0.5),
        s.histogram("weights", [1.0, -2.0, 2.5]),
        s.image("digits", IMAGES),
        s.audio("beep", SOUNDS, 8000.0),
        s.text("note", tf.constant("*begins*")),
        s.tensor_summary("table", [[1, 2], [3, 4]]),
    ]


def scoped(tf):
    with tf.name_scope("train"):
        made = [tf.summary.scalar("loss", 1.0), tf.summary.scalar("loss", 2.0)]
        with tf.name_scope("inner"):
            made.append(tf.summary.histogram("h", [1.0]))
    with tf.name_scope("train"):
        made.append(tf.summary.scalar("loss", 3.0))
    return made


def families(tf):
    made = [tf.summary.scalar("a", 1.0, family="f"), tf.summary.scalar("a", 2.0, family="f")]
    with tf.name_scope("s"):
        made += [tf.summary.scalar("a", 3.0, family="f"), tf.summary.image("i", IMAGES, 1, family="f g")]
        made += [
            tf.summary.audio("b", SOUNDS, 8000, 1, family="f"),
            tf.summary.histogram("h", [1.0], family="f"),
        ]
        made.append(tf.summary.tensor_summary("t", 1.0, family="f"))
    return made


def collections(tf):
    a = tf.summary.scalar("a", 1.0)
    b = tf.summary.scalar("b", 1.0, collections=["mine"])
    c = tf.summary.histogram("c", [1.0], collections=["mine", tf.GraphKeys.SUMMARIES])
    d = tf.summary.scalar("d", 1.0, collections=[])
    merged = tf.summary.merge([a, b, d])
    kept = tf.summary.merge([c], collections=["mine"], name="kept")
    names = [tensor.name for tensor in (a, b, c, d, merged, kept)]
    found = [[tensor.name for tensor in tf.get_collection(key)] for key in (tf.GraphKeys.SUMMARIES, "mine")]
    return [names, found]


def merged(tf):
    none = tf.summary.merge_all()
    one_of_each(tf)
    with tf.name_scope("s"):
        tf.summary.scalar("inner", 1.0)
    everything = [tf.summary.merge_all(), tf.summary.merge_all(name="all"), tf.summary.merge_all(scope="s/")]
    return [none, tf.summary.merge_all("mine"), told(tf, everything)]


def operations(tf):
    one_of_each(tf)
    tf.summary.merge_all()
    kinds = ("Summary", "Const")
    return [
        [op.name, op.type, [i.name for i in op.inputs]]
        for op in tf.get_default_graph().get_operations()
        if any(kind in op.type for kind in kinds)
    ]


def values():
    numbers = {"int": 3, "negative": -0.25, "double": np.float64(1 / 3), "int64": np.int64(7)}
    for name, number in numbers.items():
        yield gives("scalar %s" % name, lambda tf, n=number: [tf.summary.scalar("x", n)])
    for dtype in ("uint8", "float16", "float32", "float64"):
        pixels = (IMAGES * (200 if dtype == "uint8" else 1)).astype(dtype)
        yield gives(
            "image %s" % dtype, lambda tf, p=pixels: [tf.summary.image("x", tf.constant(p), max_outputs=1)]
        )
    for dtype in ("int32", "float64", "uint8"):
        yield gives(
            "histogram %s" % dtype, lambda tf, d=dtype: [tf.summary.histogram("x", np.arange(9).astype(d))]
        )
    yield answer(
        "image of an array",
        lambda tf: tf.summary.image("x", np.zeros([1, 2, 2, 1], np.uint8)).op.inputs[1].dtype.name,
    )
    yield gives("histogram of nothing", lambda tf: [tf.summary.histogram("x", np.zeros([0], np.float32))])
    yield gives("audio without channels", lambda tf: [tf.summary.audio("x", SOUNDS[..., 0], 100, 3)])
    yield gives("text matrix", lambda tf: [tf.summary.text("x", tf.constant([["a", "b"], ["c", "d"]]))])
    yield gives("described", lambda tf: [tf.summary.tensor_summary(
        "x", [1.5], summary_description="what it is", display_name="shown")])
    yield gives("renamed", lambda tf: [tf.summary.scalar("/a b:0", 1.0)])


CASES = [
    gives("one of each", one_of_each),
    gives("scopes", scoped),
    gives("families", families),
    answer("collections", collections),
    answer("merge_all", merged),
    answer("operations", operations),
    list(values()),
    error("scalar of a vector", lambda tf: tf.summary.scalar("x", [1.0])),
    error("scalar of a bool", lambda tf: tf.summary.scalar("x", True)),
    error("scalar of a string", lambda tf: tf.summary.scalar("x", "a")),
    error("histogram of NaN", lambda tf: tf.summary.histogram("x", [float("nan")])),
    error("histogram of infinity", lambda tf: tf.summary.histogram("x", [float("inf")])),
    error("image of a matrix", lambda tf: tf.summary.image("x", [[1.0]])),
    error("image of two channels", lambda tf: tf.summary.image("x", np.zeros([1, 2, 2, 2], np.float32))),
    error("image of int32", lambda tf: tf.summary.image("x", tf.zeros([1, 2, 2, 1], tf.int32))),
    error("audio of a vector", lambda tf: tf.summary.audio("x", [1.0], 8000)),
    error("text of numbers", lambda tf: tf.summary.text("x", tf.constant(1.0))),
    error("merge of one tag", lambda tf: tf.summary.merge([tf.summary.scalar("x", 1.0)] * 2)),
    error("merge of other strings", lambda tf: tf.summary.merge(["junk"])),
    error("merge of nothing", lambda tf: tf.summary.merge([])),
    error("merge of numbers", lambda tf: tf.summary.merge([1.0])),
]
