"""Contents of strings: training examples, lines of CSV, raw numbers, serialized tensors, compressed bytes."""

import gzip
import io
import zlib

import numpy as np

from tests.golden.cases.messages import message
from tests.golden.cases.strings import gives, plain
from tests.golden.runner import answer, error, shape


def feature(tf, values):
    """A feature of the kind of its values; None stands for one without a kind."""
    if values is None:
        return message(tf, "Feature")
    kind = {bytes: "Bytes", float: "Float", int: "Int64"}[type(values[0])]
    field = "%s_list" % kind.lower()
    return message(tf, "Feature", **{field: message(tf, kind + "List", value=values)})


def features(tf, values):
    return message(tf, "Features", feature={key: feature(tf, value) for key, value in values.items()})


def example(tf, **values):
    return message(tf, "Example", features=features(tf, values)).SerializeToString()


def sequence_example(tf, context, **lists):
    made = message(tf, "SequenceExample", context=features(tf, context))
    for name, steps in lists.items():
        for step in steps:
            made.feature_lists.feature_list[name].feature.add().CopyFrom(feature(tf, step))
        made.feature_lists.feature_list[name].SetInParent()
    return made.SerializeToString()


def full(tf):
    return example(tf, a=[1, 2**62], b=[b"x"], c=[1.5, 2.5, 3.5], d=[b"p", b"", b"\xff"], n=[-1])


def other(tf):
    return example(tf, a=[3, 4], c=[9.5], e=None)


def parts(made):
    """The tensors of a dict, in the order of the names; of a sparse one its three parts."""
    out = []
    for key in sorted(made):
        sparse = hasattr(made[key], "indices")
        out += [made[key].indices, made[key].values, made[key].dense_shape] if sparse else [made[key]]
    return out


def described(tf):
    """Features by a word, for one example or many."""
    fixed, varying, sequence = tf.io.FixedLenFeature, tf.io.VarLenFeature, tf.io.FixedLenSequenceFeature
    return {
        "two integers": {"a": fixed([2], tf.int64)},
        "a matrix": {"a": fixed([1, 2], tf.int64)},
        "a default": {"b": fixed([], tf.string, "none")},
        "defaults": {"q": fixed([2], tf.float32, [0.5, 1.5]), "e": fixed([1], tf.int64, 7)},
        "any floats": {"c": varying(tf.float32)},
        "any strings": {"d": varying(tf.string)},
        "nothing": {"q": varying(tf.int64), "e": varying(tf.string)},
        "sequence": {"c": sequence([], tf.float32, allow_missing=True)},
        "sequence with a default": {"c": sequence([], tf.float32, allow_missing=True, default_value=-1.0)},
        "sequence of strings": {"d": sequence([1], tf.string, allow_missing=True)},
        "sequence of pairs": {
            "a": sequence([2], tf.int64, allow_missing=True),
            "q": sequence([3], tf.int64, True),
        },
        "all": {
            "a": fixed([2], tf.int64),
            "b": fixed([], tf.string, ""),
            "c": varying(tf.float32),
            "n": varying(tf.int64),
        },
        "odd name": {"a/x y": fixed([], tf.int64, 3)},
    }


WORDS = (
    "two integers", "a matrix", "a default", "defaults", "any floats", "any strings", "nothing", "sequence",
    "sequence with a default", "sequence of strings", "sequence of pairs", "all", "odd name",
)


def wrong(tf):
    fixed, varying, sequence = tf.io.FixedLenFeature, tf.io.VarLenFeature, tf.io.FixedLenSequenceFeature
    return {
        "missing": {"b": fixed([], tf.string)},
        "another size": {"a": fixed([3], tf.int64)},
        "another type": {"a": fixed([2], tf.float32)},
        "another sparse type": {"a": varying(tf.float32)},
        "no multiple": {"c": sequence([2], tf.float32, allow_missing=True)},
        "empty": {"a": fixed([], tf.int64)},
        "int32": {"a": fixed([2], tf.int32)},
        "sequence that must be": {"c": sequence([], tf.float32)},
        "unknown size": {"a": fixed([None], tf.int64)},
        "no shape": {"a": fixed(None, tf.int64)},
        "no dtype": {"a": varying(None)},
        "number": {"a": 3},
        "few defaults": {"a": fixed([2], tf.int64, 5)},
        "default of another type": {"a": fixed([1], tf.int64, 0.5)},
        "none": {},
        "two types": {"s": tf.io.SparseFeature("a", "v", tf.float32, 3), "a": varying(tf.string)},
    }


WRONG = (
    "missing", "another size", "another type", "another sparse type", "no multiple", "empty", "int32",
    "sequence that must be", "unknown size", "no shape", "no dtype", "number", "few defaults",
    "default of another type", "none", "two types",
)


def examples():
    for word in WORDS:
        yield gives(
            "parse_example, %s" % word,
            lambda tf, w=word: parts(tf.io.parse_example([full(tf), other(tf)], described(tf)[w])),
        )
        yield gives(
            "parse_single_example, %s" % word,
            lambda tf, w=word: parts(tf.io.parse_single_example(full(tf), described(tf)[w])),
        )
        yield shape(
            "parse_example of any number, %s" % word,
            lambda tf, w=word: parts(
                tf.io.parse_example(tf.placeholder(tf.string, [None]), described(tf)[w])
            ),
        )
    for word in WRONG:
        yield error(
            "parse_example, %s" % word,
            lambda tf, w=word: parts(tf.io.parse_example([full(tf), other(tf)], wrong(tf)[w])),
        )
        yield error(
            "parse_single_example, %s" % word,
            lambda tf, w=word: parts(tf.io.parse_single_example(other(tf), wrong(tf)[w])),
        )
    pair = {"a": [3, 1], "v": [0.5, 1.5]}
    yield gives(
        "parse_example, sparse",
        lambda tf: [tf.identity(part, name="out") for part in parts(tf.io.parse_example(
            [example(tf, **pair), example(tf)], {"s": tf.io.SparseFeature("a", "v", tf.float32, 4)}))],
    )
    yield gives("parse_example, no examples", lambda tf: parts(
        tf.io.parse_example(tf.zeros([0], tf.string), described(tf)["all"])))
    yield gives("parse_example, empty example", lambda tf: parts(
        tf.io.parse_example([b""], described(tf)["any floats"])))
    named = {"name": "read", "example_names": ["one"]}
    yield gives("parse_example, named", lambda tf: parts(
        tf.io.parse_example([full(tf)], described(tf)["all"], **named)))
    yield error("parse_example of one", lambda tf: parts(
        tf.io.parse_example(full(tf), described(tf)["all"])))
    yield error("parse_single_example of many", lambda tf: parts(
        tf.io.parse_single_example([full(tf)], described(tf)["all"])))
    yield error("parse_example of other bytes", lambda tf: parts(
        tf.io.parse_example([b"\x0a\x7fxyz"], described(tf)["any floats"])))


def context(tf):
    return {"a": tf.io.FixedLenFeature([2], tf.int64), "c": tf.io.VarLenFeature(tf.float32)}


def lists(tf):
    return {"t": tf.io.FixedLenSequenceFeature([2], tf.int64), "w": tf.io.VarLenFeature(tf.string)}


def long(tf):
    return sequence_example(
        tf, {"a": [1, 2], "c": [0.5]}, t=[[1, 2], [3, 4], [5, 6]], w=[[b"q"], [b"r", b"s"]]
    )


def short(tf):
    return sequence_example(tf, {"a": [3, 4], "c": [1.5, 2.5]}, t=[[7, 8]], w=[[b"u"]])


def sequences():
    def single(tf, *args):
        first, second = tf.io.parse_single_sequence_example(*args)
        return parts(first) + parts(second)

    def batch(tf, *args, **options):
        return [part for found in tf.io.parse_sequence_example(*args, **options) for part in parts(found)]

    fixed, varying = "FixedLenSequenceFeature", "VarLenFeature"
    yield gives("parse_single_sequence_example", lambda tf: single(tf, long(tf), context(tf), lists(tf)))
    yield gives("parse_sequence_example", lambda tf: batch(tf, [long(tf), short(tf)], context(tf), lists(tf)))
    yield gives("parse_sequence_example, named", lambda tf: batch(
        tf, [long(tf)], context(tf), lists(tf), example_names=["one"], name="read"))
    yield shape("parse_sequence_example of any number", lambda tf: batch(
        tf, tf.placeholder(tf.string, [None]), context(tf), lists(tf)))
    for name, function in (("parse_single_sequence_example", single), ("parse_sequence_example", batch)):

        def made(tf, kind, *args, f=function, one=name == "parse_single_sequence_example", **lists):
            data = long(tf) if one else [long(tf)]
            return f(tf, data, None, {key: getattr(tf.io, kind)(*a) for key, a in lists.items()})

        yield gives(name + ", missing", lambda tf, m=made: m(tf, fixed, z=([2], tf.int64, True)))
        yield gives(name + ", missing sparse", lambda tf, m=made: m(tf, varying, z=(tf.int64,)))
        yield error(name + ", must be there", lambda tf, m=made: m(tf, fixed, z=([2], tf.int64)))
        yield error(name + ", another size", lambda tf, m=made: m(tf, fixed, t=([3], tf.int64)))
        yield error(name + ", another type", lambda tf, m=made: m(tf, fixed, t=([2], tf.float32)))
        yield error(name + ", a default", lambda tf, m=made: m(tf, fixed, t=([2], tf.int64, True, 3)))
        yield error(name + ", no sequence", lambda tf, m=made: m(tf, "FixedLenFeature", t=([2], tf.int64)))
    yield error("parse_single_sequence_example of other bytes", lambda tf: single(
        tf, b"\x0a\x7fxyz", None, lists(tf)))
    yield error("parse_sequence_example of nothing", lambda tf: batch(tf, [b""]))


def csv():
    def read(*args, **options):
        return lambda tf: tf.io.decode_csv(*args, **options)

    lines = ["1,2.5,x", '3,,"y,""z"""', ' 4 ,1e3,""']
    yield gives("decode_csv", read(lines, [[0], [0.5], [""]]))
    yield gives("decode_csv, a matrix", read([["1,2"], ["3,4"]], [[0], [0]]))
    yield gives("decode_csv, one", read("1,2", [[0], [0]], name="row"))
    yield gives("decode_csv, scalar defaults", read(["1,", ",2"], [7, 8]))
    yield gives("decode_csv, another delimiter", read("a|b c|", [[""]] * 3, field_delim="|"))
    yield gives("decode_csv, not available", read("1,NA,", [[0], [1], [2]], na_value="NA"))
    yield gives("decode_csv, columns", read("1,2,3,4", [[0], [""]], select_cols=[1, 3]))
    yield gives("decode_csv, without quotes", read('a"b,"c', [[""], [""]], use_quote_delim=False))
    yield gives("decode_csv, quoted", read(['"1\n",2', '"3",4'], [[""], [0]]))
    yield gives("decode_csv, required", lambda tf: tf.io.decode_csv("9,8", [[], tf.constant([], tf.int64)]))
    yield gives("decode_csv, large", lambda tf: tf.io.decode_csv(
        "3000000000,1e300", [tf.constant([1], tf.int64), tf.constant([], tf.float64)]))
    bad = {
        "missing": ("1,", [[0], []]), "many fields": ("1,2,3", [[0], [1]]), "few fields": ("1", [[0], [1]]),
        "a letter": ("1,x", [[0], [1]]), "a point": ("1.0", [[0]]), "too large": ("3000000000", [[0]]),
        "a quote within": ('a"b,c', [[""], [""]]), "an open quote": ('"a,b', [[""], [""]]),
        "a quote before": ('"a"x,b', [[""], [""]]), "a line break": ("1,2\r\n", [[0], [""]]),
        "nothing": ("", [["d"]]), "bool": ("a", [[True]]), "two defaults": ("1", [[1, 2]]),
        "no defaults": ("1", []),
    }
    for name, arguments in bad.items():
        yield error("decode_csv, %s" % name, read(*arguments))
    yield error("decode_csv, a long delimiter", read("1", [[0]], field_delim="ab"))
    yield error("decode_csv, columns that fall", read("1,2", [[0], [0]], select_cols=[1, 0]))
    yield error("decode_csv, columns below 0", read("1,2", [[0]], select_cols=[-1]))
    yield error("decode_csv, few columns", read("1,2", [[0], [0]], select_cols=[1]))


def raw():
    for dtype in (
        "uint8",
        "int8",
        "int16",
        "uint16",
        "int32",
        "int64",
        "float16",
        "float32",
        "float64",
        "bool",
    ):
        for little in (True, False):
            yield gives(
                "decode_raw %s %s" % (dtype, "little" if little else "big"),
                lambda tf, d=dtype, e=little: tf.io.decode_raw(
                    [b"\x01\x02\x03\x04\x05\x06\x07\x08"] * 2, getattr(tf, d), e
                ),
            )
    yield gives("decode_raw, one", lambda tf: tf.io.decode_raw("abc", tf.uint8, name="pixels"))
    yield gives("decode_raw, empty", lambda tf: tf.io.decode_raw([["", ""]], tf.int32))
    yield error("decode_raw, no multiple", lambda tf: tf.io.decode_raw("abc", tf.int16))
    yield error("decode_raw, unlike lengths", lambda tf: tf.io.decode_raw(["ab", "c"], tf.uint8))
    yield error("decode_raw, of strings", lambda tf: tf.io.decode_raw("ab", tf.string))
    yield error("decode_raw, without a type", lambda tf: tf.io.decode_raw("ab"))
    yield shape("decode_raw, any", lambda tf: tf.io.decode_raw(tf.placeholder(tf.string), tf.uint8))


TENSORS = {
    "matrix": np.arange(6, dtype=np.float32).reshape(2, 3),
    "scalar": np.int64(-5),
    "bools": np.array([True, False]),
    "halves": np.array([1, 2], np.float16),
    "empty": np.zeros([0, 3], np.float32),
    "strings": ["a", "", "\u00e9"],
    "complex": np.array([1 - 2j], np.complex64),
}


def tensors():
    for name, value in TENSORS.items():
        yield gives("serialize_tensor, %s" % name, lambda tf, v=value: tf.io.serialize_tensor(v))
        yield answer("parse_tensor, %s" % name, lambda tf, v=value: parsed(tf, v))
    yield error(
        "parse_tensor of another type", lambda tf: tf.io.parse_tensor(tf.io.serialize_tensor([1]), tf.float32)
    )
    yield error("parse_tensor of other bytes", lambda tf: tf.io.parse_tensor(b"\x0a\x7fxyz", tf.float32))
    yield shape("parse_tensor", lambda tf: tf.io.parse_tensor(tf.placeholder(tf.string, []), tf.float32))


def parsed(tf, value):
    tensor = tf.constant(value)
    again = tf.io.parse_tensor(tf.io.serialize_tensor(tensor), tensor.dtype)
    with tf.Session() as sess:
        found = sess.run(again)
    listed = found.tolist()
    return [again.name, list(found.shape), repr(listed) if found.dtype.kind == "c" else plain(listed)]


def zipped(data):
    buffer = io.BytesIO()
    with gzip.GzipFile(fileobj=buffer, mode="w", mtime=0) as file:
        file.write(data)
    return buffer.getvalue()


CASES = [
    list(examples()),
    list(sequences()),
    list(csv()),
    list(raw()),
    list(tensors()),
    gives(
        "decode_compressed",
        lambda tf: tf.io.decode_compressed([zlib.compress(b"hello"), zlib.compress(b"")], "ZLIB"),
    ),
    gives("decode_compressed, GZIP", lambda tf: tf.io.decode_compressed(zipped(b"hello"), "GZIP")),
    gives("decode_compressed, not at all", lambda tf: tf.io.decode_compressed("a")),
    error("decode_compressed, other bytes", lambda tf: tf.io.decode_compressed("hello", "ZLIB")),
    error("decode_compressed, another way", lambda tf: tf.io.decode_compressed("hello", "LZ4")),
]
