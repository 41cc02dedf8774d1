"""Strings: their parts, case, numbers and hashes, joined and split, and as code points."""

import numpy as np

from tests.golden.runner import answer, error, shape

WORDS = ["", "a", "hello world", "x" * 20, "x" * 40, "y" * 64, "z" * 65, "w" * 500]
TEXT = "h\u00e9 \u03c0\u4e2d\U0001f600"
GRID = [["a", "b"], ["c", "d"]]


NOT_FINITE = [1.5, float("inf"), float("nan"), -float("inf")]


def plain(value):
    """A fetched value as JSON: bytes letter by letter."""
    if isinstance(value, bytes):
        return value.decode("latin-1")
    if isinstance(value, list):
        return [plain(v) for v in value]
    return repr(value) if isinstance(value, float) else value


def fetched(tf, made):
    """For each tensor its name, its static shape, and its value."""
    made = list(made) if isinstance(made, (list, tuple)) else [made]
    with tf.Session() as sess:
        values = sess.run(made)
    shapes = [None if t.shape.ndims is None else t.shape.as_list() for t in made]
    return [[t.name, s, plain(np.asarray(v).tolist())] for t, s, v in zip(made, shapes, values)]


def gives(name, build):
    return answer(name, lambda tf: fetched(tf, build(tf)))


def sparse(name, build):
    def parts(tf):
        made = build(tf)
        return [made.indices, made.values, made.dense_shape]

    return gives(name, parts)


def string_split(tf, *args, **options):
    """A name of TensorFlow's alone, and here of what stands for it."""
    if hasattr(tf, "string_split"):
        return tf.string_split(*args, **options)
    from staticgraph.tf1.compat.legacy import string_split

    return string_split.string_split(*args, **options)


def as_strings():
    numbers = {
        "floats": [1.5, -2.25, 1e10, float("inf"), float("nan")],
        "doubles": np.array([1 / 3, -1e-30, 1e300]),
        "integers": [1, -2, 300],
        "int8": np.array([-128, 127], np.int8),
        "int64": np.array([2**62], np.int64),
        "bools": [True, False],
        "complex": np.array([1.5 - 2j], np.complex64),
    }
    options = {
        "plain": {},
        "width": {"width": 8},
        "zeros": {"width": 12, "fill": "0"},
        "plus": {"width": 8, "fill": "+"},
        "left": {"width": 8, "fill": "-"},
    }
    real = {
        "precision": {"precision": 2},
        "scientific": {"scientific": True},
        "shortest": {"shortest": True, "precision": 3, "width": 9},
    }
    for kind, values in numbers.items():
        known = dict(options, **real) if kind in ("floats", "doubles", "complex") else options
        for word, how in known.items():
            yield gives(
                "as_string of %s, %s" % (kind, word), lambda tf, v=values, h=how: tf.strings.as_string(v, **h)
            )


def to_numbers():
    good = [
        "5 ",
        " 5",
        "-12",
        "007",
        "+5",
        "5. ",
        " .5",
        "1e3",
        "-2.5E-3",
        "0x10",
        "inf",
        "-iNF",
        "NaN",
        "1e400",
    ]
    bad = ["", "-", "1_0", "2147483648", "5.0", "1e", "1f", "Infinity", "- 5", "1 2", "0x1p3", "\u0665"]
    for dtype in ("float32", "float64", "int32", "int64"):
        for text in good if dtype.startswith("float") else good[:4]:
            yield gives(
                "%r to %s" % (text, dtype),
                lambda tf, t=text, d=dtype: tf.strings.to_number(t, getattr(tf, d)),
            )
    for text in bad:
        yield error("%r to int32" % text, lambda tf, t=text: tf.strings.to_number(t, tf.int32))
    for text in (t for t in bad if t not in ("2147483648", "5.0")):
        yield error("%r to float32" % text, lambda tf, t=text: tf.strings.to_number(t))


def substrings():
    for pos, count in [(0, 2), (2, 9), (5, 1), (-5, 2), (-2, 1), (1, 0), (1, -1)]:
        yield gives(
            "substr %d %d" % (pos, count),
            lambda tf, p=pos, c=count: tf.strings.substr(["hello", "world"], p, c),
        )
        yield gives(
            "substr %d %d of characters" % (pos, count),
            lambda tf, p=pos, c=count: tf.strings.substr(TEXT, p, c, unit="UTF8_CHAR"),
        )
    yield gives("substr each", lambda tf: tf.strings.substr(["hello", "abc"], [1, 2], [1, 2]))
    yield gives("substr broadcast", lambda tf: tf.strings.substr([["hello", "abc"]], [[1], [2]], [[1], [2]]))
    yield gives("substr of one", lambda tf: tf.strings.substr("hello", [1, 2], [1, 2]))
    yield error("substr beyond", lambda tf: tf.strings.substr("hello", 6, 1))
    yield error("substr before", lambda tf: tf.strings.substr("hello", -6, 1))
    yield error("substr of unlike shapes", lambda tf: tf.strings.substr(["hello"], 1, [1]))
    yield error("substr by another unit", lambda tf: tf.strings.substr("hello", 1, 1, unit="WORD"))


def splits():
    lines = ["a b  c", "", " d,e;f "]
    for sep in (None, ",", ",;", "", " "):
        yield sparse("string_split %r" % sep, lambda tf, s=sep: string_split(tf, lines, s))
        yield sparse(
            "string_split %r with empty" % sep, lambda tf, s=sep: string_split(tf, lines, s, skip_empty=False)
        )
        for most in (-1, 1):
            yield sparse("split %r %d" % (sep, most), lambda tf, s=sep, m=most: tf.strings.split(lines, s, m))
    yield sparse("split white space twice", lambda tf: tf.strings.split([" a  b ", "c"], maxsplit=2))
    yield sparse("split by a word", lambda tf: tf.strings.split(["1<>2<><>3"], "<>"))
    yield sparse("split nothing", lambda tf: tf.strings.split(tf.zeros([0], tf.string)))
    yield gives("bytes_split", lambda tf: [tf.identity(tf.strings.bytes_split("abc"), name="out")])


def joins():
    yield gives("join", lambda tf: tf.strings.join([GRID, "-", GRID]))
    yield gives("join with a separator", lambda tf: tf.strings.join([["a", "b"], "c"], separator=", "))
    yield gives("join scalars", lambda tf: tf.strings.join(["a", "b"]))
    yield error("join unlike shapes", lambda tf: tf.strings.join([["a", "b"], ["c"]]))
    yield error("join nothing", lambda tf: tf.strings.join([]))
    for axis in (None, 0, 1, -1, [0, 1], [1, 0], [-1, 0], []):
        for keep in (False, True):
            yield gives(
                "reduce_join %s%s" % (axis, " kept" if keep else ""),
                lambda tf, a=axis, k=keep: tf.strings.reduce_join(GRID, a, keepdims=k, separator="."),
            )
    yield gives("reduce_join of nothing", lambda tf: tf.strings.reduce_join(tf.zeros([0, 2], tf.string), 0))
    yield gives("reduce_join named", lambda tf: tf.strings.reduce_join(GRID, 0, name="word"))
    yield error("reduce_join out of range", lambda tf: tf.strings.reduce_join(GRID, 2))
    yield error("reduce_join twice", lambda tf: tf.strings.reduce_join(GRID, [0, -2]))
    ids = [[1, 0], [1, 2]]
    yield gives(
        "unsorted_segment_join", lambda tf: tf.strings.unsorted_segment_join(GRID, ids, 4, separator="+")
    )
    yield gives("unsorted_segment_join of rows", lambda tf: tf.strings.unsorted_segment_join(GRID, [1, 1], 2))
    yield error(
        "unsorted_segment_join out of range", lambda tf: tf.strings.unsorted_segment_join(["a"], [3], 2)
    )


def patterns():
    texts = ["hello", "baac", "a1_B2", "line\nline", TEXT]
    for pattern, rewrite in [
        ("l", "L"), ("a*", "-"), ("l(.)", "<\\1\\0\\\\>"), ("(?i)b", "x"), ("^.", "x"), ("(?m)^.|e$", "x"),
        ("e$", "x"), ("[[:alpha:]]", "x"),
        ("\\d|\\W", "x"), ("[^[:^digit:]]", "x"), ("\\pL", "x"), ("[\\p{Lu}0-9]", "x"),
        ("(?P<first>\\w)(\\w)", "\\2\\1"), ("a(?i)B|C", "x"), ("\\Qa1_\\E", "x"), ("[]a]", "x"), (".", "x"),
        ("(?s).+", "x"), ("a{2}", "x"), ("l+?", "x"), ("(x)?l", "[\\1]"), ("\\x61", "x"), ("\\s", "_"),
        ("", "-"), ("\\bl", "x"), ("\\z", "!"), ("a{,2}", "x"),
    ]:
        name = "regex_replace %r %r" % (pattern, rewrite)
        yield gives(name, lambda tf, p=pattern, r=rewrite: tf.strings.regex_replace(texts, p, r))
        yield gives(
            "regex_full_match %r" % pattern, lambda tf, p=pattern: tf.strings.regex_full_match(texts, p)
        )
    yield gives(
        "regex_replace once", lambda tf: tf.strings.regex_replace(texts, "l", "L", replace_global=False)
    )
    yield gives("regex_replace by tensors", lambda tf: tf.strings.regex_replace(texts, tf.constant("l"), "L"))
    yield gives(
        "regex_full_match by a tensor", lambda tf: tf.strings.regex_full_match(texts, tf.constant("h.*"))
    )
    for pattern in ("(", ")", "[a", "l(?=o)", "a**", "*a", "\\1", "a{1001}", "[[:foo:]]", "(?<a>b)", "\\q"):
        yield error("regex %r" % pattern, lambda tf, p=pattern: tf.strings.regex_replace("a", p, "b"))


def unicode():
    wrong = [b"h\xc3\xa9", b"h\xff\xfe!", b"\xe4\xb8", b"\x01\x09a", b"\xf0\x9f\x98\x80"]
    for encoding in ("UTF-8", "UTF-16-BE", "UTF-32-BE"):
        for errors in ("replace", "ignore"):
            yield gives(
                "transcode to %s, %s" % (encoding, errors),
                lambda tf, e=encoding, r=errors: tf.strings.unicode_transcode(wrong, "UTF-8", e, errors=r),
            )
    options = {"replacement_char": 63, "replace_control_characters": True}
    yield gives(
        "transcode controls", lambda tf: tf.strings.unicode_transcode(wrong, "UTF-8", "UTF-8", **options)
    )
    yield gives("transcode latin", lambda tf: tf.strings.unicode_transcode([b"\xe9"], "ISO-8859-1", "UTF-8"))
    yield error(
        "transcode strictly",
        lambda tf: tf.strings.unicode_transcode(wrong, "UTF-8", "UTF-8", errors="strict"),
    )
    yield error("transcode to another", lambda tf: tf.strings.unicode_transcode("a", "UTF-8", "UTF-7"))
    yield error("transcode from nothing", lambda tf: tf.strings.unicode_transcode("a", "letters", "UTF-8"))

    def named(tf, parts):
        return [tf.identity(part, name="out") for part in (parts if isinstance(parts, tuple) else (parts,))]

    yield gives("unicode_decode", lambda tf: named(tf, tf.strings.unicode_decode(TEXT, "UTF-8")))
    yield gives("unicode_decode bad", lambda tf: named(tf, tf.strings.unicode_decode(b"h\xff!", "UTF-8")))
    yield gives(
        "unicode_decode offsets", lambda tf: named(tf, tf.strings.unicode_decode_with_offsets(TEXT, "UTF-8"))
    )
    yield gives("unicode_encode", lambda tf: named(tf, tf.strings.unicode_encode([104, 233, 960], "UTF-8")))
    yield gives(
        "unicode_encode rows", lambda tf: named(tf, tf.strings.unicode_encode([[104], [233]], "UTF-16-BE"))
    )


def ngrams():
    rows = [["a", "b", "c"], ["d", "e", "f"]]
    ragged = [["a"], [], ["b", "c"], ["d", "e", "f", "g"]]
    options = {
        "pairs": (rows, 2, {}),
        "a vector": (["a", "b"], 2, {"separator": "_"}),
        "two widths": (rows, [1, 3], {}),
        "too wide": (rows, 4, {}),
        "padded": (rows, 2, {"pad_values": "x"}),
        "padded less": (rows, 3, {"pad_values": ("L", "R"), "padding_width": 1}),
    }
    for name, (data, width, given) in options.items():
        yield gives("ngrams " + name, lambda tf, d=data, w=width, g=given: tf.strings.ngrams(d, w, **g))
    short = {"preserve_short_sequences": True}
    in_rows = {
        "pairs": (2, {}),
        "short": (3, short),
        "short and padded": (5, dict(short, pad_values="|", padding_width=1)),
    }
    for name, (width, given) in in_rows.items():

        def parts(tf, w=width, g=given):
            made = tf.strings.ngrams(tf.ragged.constant(ragged), w, **g)
            return [made.flat_values, made.row_splits]

        yield gives("ngrams of rows, " + name, parts)
    refused = {
        "no width": (0, {}),
        "no text": (2, {"pad_values": 3}),
        "no padding": (2, {"pad_values": "x", "padding_width": 0}),
        "width alone": (2, {"padding_width": 1}),
    }
    for name, (width, given) in refused.items():
        yield error("ngrams " + name, lambda tf, w=width, g=given: tf.strings.ngrams(rows, w, **g))


def formats():
    cases = {
        "numbers": lambda tf: ("a {} b {}", [tf.range(10), tf.constant([[1.5, 2], [3, 1e10]])]),
        "strings": lambda tf: ("{} {}", [tf.constant(["a", "b"]), tf.constant("c")]),
        "one": lambda tf: ("x={}", tf.constant([0.1, 1 / 3.0, 1e-7])),
        "doubles": lambda tf: ("x={}", tf.constant([0.1, 1 / 3.0, 1e-7], tf.float64)),
        "bools": lambda tf: ("x={}", tf.constant([True, False])),
        "cube": lambda tf: ("{}", tf.reshape(tf.range(8 * 2 * 2), [8, 2, 2])),
    }
    for name, arguments in cases.items():
        yield gives("format %s" % name, lambda tf, a=arguments: tf.strings.format(*a(tf)))
    yield gives(
        "format all", lambda tf: tf.strings.format("%d", (tf.range(8),), placeholder="%d", summarize=-1)
    )
    yield gives("format little", lambda tf: tf.strings.format("{}", tf.range(8), summarize=1))
    yield error("format without tensors", lambda tf: tf.strings.format("{}", []))


CASES = [
    list(as_strings()),
    gives("as_string, zeros before what is not finite",
          lambda tf: tf.strings.as_string(NOT_FINITE, width=3, fill="0")),
    error("as_string of strings", lambda tf: tf.strings.as_string("a")),
    error("as_string of integers with precision", lambda tf: tf.strings.as_string([1], precision=2)),
    error("as_string with another fill", lambda tf: tf.strings.as_string([1], width=3, fill="x")),
    error(
        "as_string in two notations", lambda tf: tf.strings.as_string([1.0], scientific=True, shortest=True)
    ),
    list(to_numbers()),
    gives("lower", lambda tf: tf.strings.lower(["ABC \u00c9", ""])),
    gives("lower unicode", lambda tf: tf.strings.lower(["ABC \u00c9"], encoding="utf-8")),
    gives("upper", lambda tf: tf.strings.upper([["abc \u00e9"]])),
    gives("upper unicode", lambda tf: tf.strings.upper(["abc \u00e9\u00df"], encoding="utf-8", name="loud")),
    error("upper in another encoding", lambda tf: tf.strings.upper("a", encoding="latin")),
    gives("strip", lambda tf: tf.strings.strip([" a b\n\t\x0b", "\x00 ", ""])),
    gives("length", lambda tf: tf.strings.length([TEXT, "", "abc"])),
    gives("length of characters", lambda tf: tf.strings.length([TEXT, "", "abc"], unit="UTF8_CHAR")),
    error("length by another unit", lambda tf: tf.strings.length("a", unit="WORD")),
    [gives("sparse_to_dense of %d" % i, build) for i, build in enumerate((
        lambda tf: tf.sparse_tensor_to_dense(tf.SparseTensor([[0, 0], [2, 1]], ["a", "b"], [3, 2]), ""),
        lambda tf: tf.sparse_to_dense([1, 3], [5], ["a", "b"], "-"),
        lambda tf: tf.sparse_to_dense([[1, 1]], [2, 2], "x", "")))],
    list(substrings()),
    list(splits()),
    list(joins()),
    list(patterns()),
    list(unicode()),
    list(ngrams()),
    list(formats()),
    gives("to_hash_bucket", lambda tf: tf.strings.to_hash_bucket(WORDS, 1000)),
    gives("to_hash_bucket_fast", lambda tf: tf.strings.to_hash_bucket_fast(WORDS, 2**62)),
    gives("to_hash_bucket_strong", lambda tf: tf.strings.to_hash_bucket_strong(WORDS, 2**62, [1, -2])),
    error("to_hash_bucket of none", lambda tf: tf.strings.to_hash_bucket_fast("a", 0)),
    error("to_hash_bucket_strong with half a key", lambda tf: tf.strings.to_hash_bucket_strong("a", 3, [1])),
    gives("encode_base64", lambda tf: tf.io.encode_base64(["hello?>", "", "hell"])),
    gives("encode_base64 padded", lambda tf: tf.io.encode_base64(["hello?>", "", "hell"], pad=True)),
    gives("decode_base64", lambda tf: tf.io.decode_base64(["aGVsbG8_Pg", "aGVsbA==", "aGVsbA", ""])),
    error("decode_base64 too short", lambda tf: tf.io.decode_base64("a")),
    error("decode_base64 of other letters", lambda tf: tf.io.decode_base64("aG+/")),
    error("decode_base64 of half a padding", lambda tf: tf.io.decode_base64("aGVsbA=")),
    shape("lower of anything", lambda tf: tf.strings.lower(tf.placeholder(tf.string))),
    shape("join of anything", lambda tf: tf.strings.join([tf.placeholder(tf.string), "a"])),
    shape("join of a vector", lambda tf: tf.strings.join([tf.placeholder(tf.string, [None]), ["a", "b"]])),
    shape(
        "reduce_join of a matrix", lambda tf: tf.strings.reduce_join(tf.placeholder(tf.string, [None, 2]), 0)
    ),
    shape("substr of a vector", lambda tf: tf.strings.substr(tf.placeholder(tf.string, [None]), [0], [1])),
]
