"""Graphs around one op: placeholders for its operands, the op, and with it its gradient if that is wanted.

Most ops have samples. The others, which choose their shapes by data, read strings, keep state or hold graphs
of their own, are used as below.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import staticgraph as sg
import staticgraph.compat.tf1 as tf1
from staticgraph.compiler.graph.opdef import OPS, Effect
from staticgraph.runtime.files.graph_json import refusal
from tests.audit.variants import samples
from tests.ops.harness import Use

Given = Callable[[Any], Any]  # a placeholder, or a variable, that is fed with an array
Around = Callable[[Given], Any]

_NUMBERS = np.array([[0.5, -1.0, 2.0, 2.0], [3.0, 0.0, -0.5, 1.0], [1.0, 1.0, 4.0, -2.0]], np.float32)
_WORDS = np.array([b"one two", b"Three", b"", b"4.5"])
_PLACES = np.array([0, 1, 1, 0], np.int32)


def _ctc(given: Given, decode: Callable[..., Any]) -> Any:
    logits = np.random.default_rng(3).standard_normal((5, 2, 4)).astype(np.float32)
    [decoded], likely = decode(given(logits), given(np.array([5, 3], np.int32)))
    return [decoded.indices, decoded.values, decoded.dense_shape, likely]


def _rows(given: Given) -> Any:
    array = sg.TensorArray(sg.float32, size=4, element_shape=[3])
    array = array.write(given(np.int32(1)), given(_NUMBERS[:, 0])).write(0, given(_NUMBERS[:, 1]))
    return [array.read(1), array.gather(given(np.array([0, 3], np.int32))), array.size()]


def _unstacked(given: Given) -> Any:
    array = sg.TensorArray(sg.float32, size=0, dynamic_size=True).unstack(given(_NUMBERS))
    parts = array.write(given(np.int32(5)), given(_NUMBERS[0]))
    split = sg.TensorArray(sg.float32, size=2, infer_shape=False)
    split = split.split(given(_NUMBERS), given(np.array([1, 2], np.int32)))
    return [parts.stack(), array.concat(), split.read(0)]


def _loop(given: Given) -> Any:
    count, values = given(np.int32(3)), given(_NUMBERS)
    return sg.while_loop(
        lambda n, x: sg.logical_and(n < count, sg.reduce_sum(x) < 1e6),
        lambda n, x: (n + 1, sg.tanh(x) * values + x[n % 3]),
        [0, values],
    )


def _mapped(given: Given) -> Any:
    rows, lengths = given(_NUMBERS), given(np.array([1, 2, 4], np.int32))
    sums = sg.map_fn(lambda e: sg.reduce_sum(e[0][: e[1]]), (rows, lengths), dtype=sg.float32)
    return [sums, sg.scan(lambda a, row: a * 0.5 + row, rows), sg.foldl(lambda a, row: a + row, rows)]


def _cond(given: Given) -> Any:
    flag, x = given(np.bool_(True)), given(_NUMBERS)
    chosen = sg.case([(x[0, 0] > 1.0, lambda: x[1]), (flag, lambda: x[2] * 3.0)], default=lambda: x[0])
    return [sg.cond(flag, lambda: sg.exp(x), lambda: x * 2.0), chosen]


def _squared(given: Given) -> Any:
    @sg.custom_gradient
    def squared(x: Any) -> Any:
        return x * x, lambda dy: 3.0 * dy * x

    x = given(_NUMBERS)
    return sg.gradients(squared(x), x)


def _slope(given: Given) -> Any:
    x = given(_NUMBERS)
    return sg.gradients(sg.reduce_sum(sg.while_loop(lambda y: y[0, 0] < 1.5, lambda y: y * x + 1.0, [x])), x)


def _state(given: Given) -> Any:
    v = sg.Variable(_NUMBERS, name="state")
    before = v.read_value()
    with sg.control_dependencies([before]):
        after = v.assign(given(_NUMBERS))
    with sg.control_dependencies([after]):
        row = v.assign_add(given(_NUMBERS) * 2.0)
    return [before, row, v.initialized_value(), sg.is_variable_initialized(v)]


def _told(given: Given, tell: Callable[[Any], Any]) -> Any:
    x = given(_NUMBERS)
    with sg.control_dependencies([tell(x)]):
        return sg.identity(x)


def _words(given: Given, op: Callable[[Any], Any]) -> Any:
    return op(given(_WORDS))


def _numbers(given: Given, op: Callable[[Any], Any]) -> Any:
    return op(given(_NUMBERS))


_ENCODED = np.array([b"aGVsbG8", b"", b"eA"])
_BYTES = np.array([b"\1\2\3\4", b"abcd"])
_LINES = np.array([b"1,2.5,x", b"7,,y"])
_SETS = (np.array([1, 2, 3, 5, 2], np.int32), np.array([2, 9], np.int32))
_INDICES = (np.array([0, 2], np.int32), np.array([[1], [3]], np.int32))

# By op: what is done with it.
UNSAMPLED: dict[str, tuple[Around, ...]] = {
    "tensor_array": (_rows, _unstacked),
    "while_region": (_loop, _mapped, _slope),
    "branch_region": (_cond,),
    "region_parameter": (_mapped, _loop),
    "ctc_greedy_decoder": (partial(_ctc, decode=sg.nn.ctc_greedy_decoder),),
    "ctc_beam_search_decoder": (partial(_ctc, decode=partial(sg.nn.ctc_beam_search_decoder, beam_width=3)),),
    "string_lower": (partial(_words, op=sg.strings.lower),),
    "string_upper": (partial(_words, op=sg.strings.upper),),
    "string_strip": (partial(_words, op=sg.strings.strip),),
    "string_length": (partial(_words, op=sg.strings.length),),
    "substr": (lambda given: sg.strings.substr(given(_WORDS[:2]), given(np.int32(1)), given(np.int32(2))),),
    "string_join": (lambda given: sg.strings.join([given(_WORDS), given(_WORDS)], separator="-"),),
    "as_string": (partial(_numbers, op=partial(sg.strings.as_string, precision=3, width=9)),),
    "string_to_number": (lambda given: sg.strings.to_number(given(_WORDS[3:])),),
    "encode_base64": (partial(_words, op=sg.io.encode_base64),),
    "decode_base64": (lambda given: sg.io.decode_base64(given(_ENCODED)),),
    "static_regex_replace": (lambda given: sg.strings.regex_replace(given(_WORDS), "(t|T)[a-z]+", r"<\1>"),),
    "regex_replace": (
        lambda given: sg.strings.regex_replace(
            given(_WORDS), given(np.array(b"(t|T)[a-z]+")), given(np.array(rb"<\1>"))
        ),
    ),
    "static_regex_full_match": (lambda given: sg.strings.regex_full_match(given(_WORDS), "[a-z ]*"),),
    "regex_full_match": (
        lambda given: sg.strings.regex_full_match(given(_WORDS), given(np.array(b"[a-z ]*"))),
    ),
    "decode_raw": (lambda given: sg.io.decode_raw(given(_BYTES), sg.int16),),
    "decode_csv": (lambda given: sg.io.decode_csv(given(_LINES), [[0], [1.5], [""]]),),
    "decode_compressed": (lambda given: sg.io.decode_compressed(given(_WORDS)),),
    "edit_distance": (
        lambda given: sg.edit_distance(
            sg.SparseTensor(
                given(np.array([[0, 0], [1, 1]], np.int64)), given(np.array([1, 2], np.int32)), [2, 3]
            ),
            sg.SparseTensor(
                given(np.array([[0, 0], [0, 1]], np.int64)), given(np.array([1, 3], np.int32)), [2, 3]
            ),
        ),
    ),
    "assert_true": (partial(_told, tell=lambda x: sg.Assert(sg.reduce_all(x < 99.0), [x])),),
    "print_values": (partial(_numbers, op=lambda x: sg.Print(x, [x, x[0]], "x")),),
    "print_line": (partial(_told, tell=lambda x: sg.print("x:", x, summarize=2)),),
    "check_numerics": (partial(_numbers, op=lambda x: sg.check_numerics(x, "bad")),),
    "where": (partial(_numbers, op=lambda x: sg.where(x > 0.0)),),
    "unique": (partial(_numbers, op=lambda x: sg.unique(x[0])),),
    "unique_with_counts": (partial(_numbers, op=lambda x: sg.unique_with_counts(x[0])),),
    "setdiff1d": (lambda given: sg.setdiff1d(*map(given, _SETS)),),
    "partition_places": (
        lambda given: sg.dynamic_partition(given(_NUMBERS[:, :2].ravel()[:4]), given(_PLACES), 2),
    ),
    "stitch_sources": (
        lambda given: sg.dynamic_stitch(
            [*map(given, _INDICES)], [given(_NUMBERS[:2]), given(_NUMBERS[:2, None])]
        ),
    ),
    "is_variable_initialized": (_state,),
    "string_to_hash_bucket": (partial(_words, op=partial(sg.strings.to_hash_bucket, num_buckets=7)),),
    "string_to_hash_bucket_fast": (
        partial(_words, op=partial(sg.strings.to_hash_bucket_fast, num_buckets=7)),
    ),
    "string_to_hash_bucket_strong": (
        partial(_words, op=partial(sg.strings.to_hash_bucket_strong, num_buckets=7, key=[3, 4])),
    ),
    "string_split": (partial(_words, op=lambda s: tf1.string_split(s).values),),
    "string_split_v2": (partial(_words, op=lambda s: sg.strings.split(s, "o").values),),
    "reduce_join": (partial(_words, op=lambda s: sg.strings.reduce_join(s, axis=0, separator="+")),),
    "unsorted_segment_join": (
        lambda given: sg.strings.unsorted_segment_join(given(_WORDS), given(_PLACES), given(np.int32(3))),
    ),
    "string_format": (partial(_numbers, op=lambda x: sg.strings.format("<{}>", x, summarize=2)),),
    "unicode_transcode": (
        partial(_words, op=lambda s: sg.strings.unicode_transcode(s, "UTF-8", "UTF-16-BE")),
    ),
    "unicode_decode_with_offsets": (
        partial(_words, op=lambda s: sg.strings.unicode_decode_with_offsets(s[1], "UTF-8")[0]),
    ),
    "string_n_grams": (partial(_words, op=lambda s: sg.strings.ngrams(s, 2)),),
    "unicode_encode": (
        lambda given: sg.strings.unicode_encode(given(np.array([104, 8364], np.int32)), "UTF-8"),
    ),
    "constant": (partial(_numbers, op=lambda x: x + _NUMBERS),),
    "placeholder": (partial(_numbers, op=lambda x: x * 2.0),),
    "placeholder_with_default": (
        partial(_numbers, op=lambda x: sg.placeholder_with_default(x, [None, 4])[0]),
    ),
    "variable": (_state,),
    "read_variable": (_state,),
    "read_value": (_state,),
    "initialized_value": (_state,),
    "report_uninitialized": (lambda given: (_state(given)[0], sg.report_uninitialized_variables()),),
    "identity": (partial(_numbers, op=sg.identity),),
    "stop_gradient": (partial(_numbers, op=sg.stop_gradient),),
    "stationary": (partial(_numbers, op=lambda x: sg.nn.moments(x, [0])),),
    "no_op": (partial(_told, tell=lambda x: sg.no_op()),),
    "symbolic_gradients": (_slope,),
    "shape_of": (partial(_numbers, op=lambda x: sg.reshape(x, sg.shape(x)[::-1])),),
    "size_of": (partial(_numbers, op=lambda x: sg.fill([sg.size(x)], x[0, 0])),),
    "rank_of": (partial(_numbers, op=lambda x: sg.zeros([sg.rank(x), 2])),),
    "custom_gradient": (_squared,),
}


def subjects() -> list[str]:
    """The names of the ops that a file may hold and that there are graphs around."""
    taken = [op for op in OPS.values() if op.samples is not None or op.name in UNSAMPLED]
    return [op.name for op in taken if refusal(op, {}) is None]


def built(
    name: str, sample: int, keeps: bool, derived: bool
) -> tuple[list[sg.Tensor], dict[str, np.ndarray]]:
    """Put a graph around an op into the default graph: its results `y0`, ... and what is fed by name.

    `keeps`: the first operand is a variable. `derived`: the gradient is among the results.
    """
    op = OPS[name]
    inputs: list[Any] = []
    feeds: dict[str, np.ndarray] = {}

    def given(array: Any, dtype: Any = None) -> Any:
        array, n = np.asarray(array), len(inputs)
        dtype = dtype or sg.as_dtype(array.dtype)
        changed = op.variables if op.effect is Effect.WRITE else int(keeps)
        if n < changed and dtype is not sg.string:
            inputs.append(sg.Variable(array, dtype=dtype, name=f"v{n or ''}"))
        else:
            shape = array.shape if n % 2 else [None] * array.ndim
            inputs.append(sg.placeholder(dtype, shape, name=f"x{n}"))
            feeds[f"x{n}"] = array
        return inputs[-1]

    if op.samples is None:
        uses = UNSAMPLED[name]
        found = uses[sample % len(uses)](given)
        found = found if isinstance(found, list | tuple) else [found]
    else:
        use: Use = samples(op)[sample % len(samples(op))]
        found = use.call([given(array, dtype) for array, dtype in use.seen])
    made = [t for t in found if isinstance(t, sg.Tensor)]
    if derived:
        floating = [t for t in made if t.dtype.is_floating]
        reached = [x for x in inputs if x.dtype.base_dtype.is_floating]
        made += [g for g in sg.gradients(floating, reached) if isinstance(g, sg.Tensor)] if reached else []
    return [sg.identity(t, name=f"y{n}") for n, t in enumerate(made)], feeds
