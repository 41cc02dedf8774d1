"""Text, and counting of n-grams."""

from __future__ import annotations

import numpy as np

from staticgraph.building.script_ops import py_func
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import float32, int64, string
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.formats.onnx.errors import OnnxError
from staticgraph.formats.onnx.nodes import Node, operator
from staticgraph.formats.onnx.values import cast, constant, reshape, together

_MOST_WINDOWS = 1 << 16  # places of n-grams in a row, which are listed
_MOST_WEIGHTS = 1 << 26  # n-grams of the pool, times columns of the result


@operator("StringConcat")
def _concat(node: Node, x: Tensor, y: Tensor) -> Tensor:
    return ops.string_join(together(x, y), separator="")


@operator("StringSplit")
def _string_split(node: Node, x: Tensor) -> tuple[Tensor, Tensor]:
    """The parts of each text, with empty ones after them where others have more; and how many there are."""
    delimiter, most = node.get("delimiter"), node.get("maxsplit")

    def split(texts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        given = None if not delimiter else delimiter.encode()
        parts = [text.split(given, -1 if most is None else most) if text else [] for text in texts.ravel()]
        counts = np.array([len(each) for each in parts], np.int64).reshape(texts.shape)
        rows = np.full((len(parts), counts.max(initial=0)), b"", object)
        for row, each in zip(rows, parts, strict=True):
            row[: len(each)] = each
        return rows.reshape(*texts.shape, -1) if rows.size else rows.reshape(
            *texts.shape, rows.shape[1]
        ), counts

    parts, counts = py_func(split, [x], [string, int64], stateful=False)
    shape = x.type.shape
    counts.set_shape(shape)
    parts.set_shape(None if shape is None else [*shape, None])
    return parts, counts


@operator("StringNormalizer")
def _string_normalizer(node: Node, x: Tensor) -> Tensor:
    """Texts without those that are in a list, in small or capital letters."""
    change = {"LOWER": str.lower, "UPPER": str.upper}.get(node.get("case_change_action", "NONE"), str)
    exact, stops = bool(node.get("is_case_sensitive")), node.get("stopwords") or []
    compared = set(stops if exact else map(str.lower, stops))

    def normalize(texts: np.ndarray) -> np.ndarray:
        words = [text.decode() for text in texts.ravel()]
        kept = [change(word).encode() for word in words if (word if exact else word.lower()) not in compared]
        made = np.empty([1] * (texts.ndim - 1) + [max(len(kept), 1)], object)
        made.ravel()[:] = kept or [b""]
        return made

    made = py_func(normalize, [x], string, stateful=False)
    made.set_shape([None] if node.rank(x) == 1 else [1, None])
    return made


@operator("RegexFullMatch")
def _full_match(node: Node, x: Tensor) -> Tensor:
    return ops.static_regex_full_match(x, pattern=node.required("pattern"))


@operator("TfIdfVectorizer")
def _tf_idf(node: Node, x: Tensor) -> Tensor:
    """Count the n-grams of a pool in each row.

    Up to `max_skip_count` elements may be skipped between two elements of an n-gram. Mode TF gives the
    counts, TFIDF the counts times the weights, and IDF the weights of those n-grams that occur.
    """
    pool = node.get("pool_int64s")
    if pool is None:
        raise node.unsupported("n-grams of strings are not supported")
    starts, places = [*node.required("ngram_counts"), len(pool)], node.required("ngram_indexes")
    mode, most = node.required("mode"), node.required("max_skip_count")
    first, last = node.required("min_gram_length"), node.required("max_gram_length")
    flat = node.rank(x) == 1
    rows = cast(reshape(x, [1, -1]) if flat else x, int64)
    batch, length = node.sizes(rows)
    counts: list[Tensor] = []
    for n in range(1, len(starts)):
        grams = np.array(pool[starts[n - 1] : starts[n]], np.int64).reshape(-1, n)
        if not len(grams):
            continue
        wanted = first <= n <= last
        counts.append(
            _occurrences(rows, length, grams, most)
            if wanted
            else constant(np.zeros((batch, len(grams))), float32)
        )
    if not counts:
        raise OnnxError("its pool is empty")
    found = ops.concat(counts, axis=1) if len(counts) > 1 else counts[0]
    weights = np.array(node.get("weights") or [1.0] * len(places), np.float32)
    match mode:
        case "IDF":
            found = cast(found > constant(0, float32), float32) * constant(weights, float32)
        case "TFIDF":
            found = found * constant(weights, float32)
    if min(places, default=0) < 0 or len(places) * (max(places) + 1) > _MOST_WEIGHTS:
        raise OnnxError("its ngram_indexes are negative, or too large for their number")
    spread = np.zeros((len(places), max(places) + 1), np.float32)
    spread[np.arange(len(places)), places] = 1
    made = ops.matmul(found, constant(spread, float32))
    return reshape(made, [-1]) if flat else made


def _occurrences(rows: Tensor, length: int, grams: np.ndarray, most: int) -> Tensor:
    """[batch, n-grams]: at how many places of each row each n-gram stands."""
    count, n = grams.shape
    most = min(most, length) if n > 1 else 0
    starts = [max(length - (n - 1) * (skip + 1), 0) for skip in range(min(most, _MOST_WINDOWS) + 1)]
    if sum(starts) > _MOST_WINDOWS:
        raise OnnxError(
            f"its rows have {sum(starts)} places for {n} words, and at most {_MOST_WINDOWS} are read"
        )
    windows = [
        start + np.arange(n) * (skip + 1) for skip, places in enumerate(starts) for start in range(places)
    ]
    if not windows:
        return cast(ops.zeros_like(rows[:, :1]), float32) * constant(np.zeros((1, count)), float32)
    seen = ops.gather(rows, constant(np.array(windows), int64), axis=1)  # [batch, windows, n]
    same = ops.equal(ops.expand_dims(seen, axis=2), constant(grams, int64))
    return ops.reduce_sum(cast(ops.reduce_all(same, axis=(3,)), float32), axis=(1,))
