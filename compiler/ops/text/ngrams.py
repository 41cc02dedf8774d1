"""The op that joins neighbours in rows of strings: n-grams."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import int32, int64, string
from staticgraph.compiler.graph.errors import InvalidArgumentError, require
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.ops.kinds import host
from staticgraph.compiler.ops.text.strings import STRINGS


def _type(
    data: TensorType, splits: TensorType, ngram_widths: Sequence[int], pad_width: int, **_: Any
) -> tuple[TensorType, ...]:
    require(data.rank in (None, 1), f"the strings have shape {list(data.shape or ())}, and must be a vector")
    require(
        splits.rank in (None, 1), f"the splits have shape {list(splits.shape or ())}, and must be a vector"
    )
    require(
        all(width > 0 for width in ngram_widths), f"the widths are {list(ngram_widths)}: all must be positive"
    )
    require(pad_width >= -1, f"pad_width is {pad_width}, and must be at least -1")
    return TensorType(string, (None,)), TensorType(splits.dtype, splits.shape)


@host(
    tf="StringNGrams",
    type=_type,
    vars={"data_splits": "I"},
    dtypes={"T": STRINGS, "I": frozenset({int32, int64})},
)
def string_n_grams(
    data: Any,
    data_splits: Any,
    *,
    separator: str,
    ngram_widths: Sequence[int],
    left_pad: str,
    right_pad: str,
    pad_width: int,
    preserve_short_sequences: bool,
) -> Any:
    """The n-grams of each row of strings, those of one of `ngram_widths` after those of another, and where
    rows end.

    Row `i` is `data[data_splits[i]:data_splits[i + 1]]`. The strings of an n-gram are joined by `separator`.
    On each side of a row there are `pad_width` paddings, `left_pad` and `right_pad`, and at most one fewer
    than a width; -1 stands for as many. A row that is too short for all widths gives all of it in one if
    `preserve_short_sequences`.
    """
    ends = data_splits.tolist()
    if (
        not ends
        or ends[0] != 0
        or ends[-1] != len(data)
        or any(a > b for a, b in pairwise(ends))
    ):
        raise InvalidArgumentError(f"data_splits must rise from 0 to {len(data)}, the number of strings")
    left, right, between = left_pad.encode(), right_pad.encode(), separator.encode()

    def grams(row: list[bytes], width: int, pads: int) -> Iterator[bytes]:
        pads = min(width - 1 if pads < 0 else pads, width - 1)
        padded = [left] * pads + row + [right] * pads
        yield from (between.join(padded[at : at + width]) for at in range(len(padded) - width + 1))

    made: list[bytes] = []
    counts = [0]
    for begin, end in pairwise(ends):
        row = data[begin:end].tolist()
        found = [gram for width in ngram_widths for gram in grams(row, width, pad_width)]
        if preserve_short_sequences and row and not found:
            found = [*grams(row, len(row) + 2 * max(pad_width, 0), pad_width)]
        made += found
        counts.append(len(made))
    joined = np.empty(len(made), object)
    joined[:] = made
    return joined, np.array(counts, data_splits.dtype)
