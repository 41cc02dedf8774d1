"""Neighbouring strings joined: n-grams."""

from __future__ import annotations

from typing import Any

from staticgraph.arrays.array_ops import concat, reshape, shape
from staticgraph.building.framework import name_scope
from staticgraph.building.inputs import convert_to_tensor
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import string
from staticgraph.compiler.graph.errors import misuse
from staticgraph.domains.ragged.tensor import RaggedTensor


def ngrams(
    data: Any,
    ngram_width: Any,
    separator: str = " ",
    pad_values: Any = None,
    padding_width: int | None = None,
    preserve_short_sequences: bool = False,
    name: str | None = None,
) -> Any:
    """Join the strings in each window along the last axis.

    Args:
        data: A tensor of strings of at least one axis, or a RaggedTensor of strings.
        ngram_width: The number of strings in a window; for a list, windows of each width in its order.
        separator: The text between strings.
        pad_values: A pair of texts before and after each row, or one for both. Default: no padding.
        padding_width: The number of paddings on each side, at most `ngram_width - 1`, which is the default.
        preserve_short_sequences: True for the whole row in one, if it is too short for all windows.
        name: The name of the operations.

    Returns:
        A RaggedTensor if `data` is one, and otherwise a tensor, whose last axis has the windows.

    Raises:
        TypeError: If `pad_values` are not texts.
        ValueError: If a width is not positive, the rank of `data` is 0 or unknown, or `padding_width` is
            given without `pad_values`.

    >>> import staticgraph as sg
    >>> with sg.Session() as sess:
    ...     sess.run(sg.strings.ngrams(["a", "b", "c"], 2, separator="-")).tolist()
    [b'a-b', b'b-c']
    """
    left, right = pad_values if isinstance(pad_values, list | tuple) else (pad_values, pad_values)
    widths = list(ngram_width) if isinstance(ngram_width, list | tuple) else [ngram_width]
    _check(left, right, widths, padding_width)
    pads = 0 if pad_values is None else -1 if padding_width is None else padding_width

    def joined(rows: RaggedTensor) -> RaggedTensor:
        if rows.ragged_rank > 1:
            return rows.with_values(joined(rows.values))
        values, splits = ops.string_n_grams(
            rows.flat_values,
            rows.row_splits,
            separator=separator,
            ngram_widths=tuple(widths),
            left_pad=left or "",
            right_pad=right or "",
            pad_width=pads,
            preserve_short_sequences=preserve_short_sequences,
        )
        return RaggedTensor.from_row_splits(values, splits, validate=False)

    with name_scope(name, "StringNGrams", [data]):
        if isinstance(data, RaggedTensor):
            return joined(data)
        data = convert_to_tensor(data, dtype=string, name="data")
        if not data.type.rank:
            text = "Rank of data must be known" if data.type.rank is None else "Data must have rank>0"
            raise misuse(ValueError, f"ngrams: {text}")
        if data.type.rank == 1:
            return joined(RaggedTensor.from_row_starts(data, [0], validate=False))[0]
        rows = RaggedTensor.from_tensor(data, ragged_rank=data.type.rank - 1)
        return reshape(joined(rows).flat_values, concat([shape(data)[:-1], [-1]], axis=0))


def _check(left: Any, right: Any, widths: list[Any], padding_width: int | None) -> None:
    """TypeError or ValueError for arguments that make no windows."""
    if (left is None) != (right is None) or not all(isinstance(p, str | None) for p in (left, right)):
        raise misuse(TypeError, "ngrams: pad_values must be a string, tuple of strings, or None.")
    if padding_width is not None and left is None:
        raise misuse(ValueError, "ngrams: pad_values must be provided if padding_width is set.")
    if padding_width is not None and padding_width < 1:
        raise misuse(ValueError, f"ngrams: padding_width must be greater than 0, not {padding_width}")
    if not widths or any(not isinstance(width, int) or width < 1 for width in widths):
        raise misuse(ValueError, f"ngrams: All ngram_widths must be greater than 0. Got {widths}")
