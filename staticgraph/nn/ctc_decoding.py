"""Connectionist temporal classification: the label sequences that outputs stand for."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler import ops
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.sparse.tensor import SparseTensor


def ctc_greedy_decoder(
    inputs: Any, sequence_length: Any, merge_repeated: bool = True
) -> tuple[list[SparseTensor], Tensor]:
    """The most likely class of each step, without blanks, of `inputs` [time, batch, classes], logits whose
    last class is the blank: a list with a SparseTensor [batch, length] of int64; and minus the sum of the
    logits [batch, 1]. It is computed in Python.

    >>> import staticgraph as sg
    >>> logits = sg.one_hot([[0], [0], [2], [1]], 3) * 5.0
    >>> (decoded,), _ = sg.nn.ctc_greedy_decoder(logits, [4])
    >>> sg.Session().run(decoded).values.tolist()
    [0, 1]
    """
    *parts, scores = ops.ctc_greedy_decoder(inputs, sequence_length, merge_repeated=merge_repeated)
    return [SparseTensor(*parts)], scores


def ctc_beam_search_decoder(
    inputs: Any, sequence_length: Any, beam_width: int = 100, top_paths: int = 1, merge_repeated: bool = True
) -> tuple[list[SparseTensor], Tensor]:
    """The `top_paths` most likely label sequences of `inputs` [time, batch, classes], logits whose last class
    is the blank: a SparseTensor [batch, length] of int64 for each; and their log probabilities
    [batch, top_paths]. `merge_repeated` makes one of equal labels in a row. It is computed in Python.
    ValueError for more paths than the beam is wide.

    >>> import staticgraph as sg
    >>> logits = sg.one_hot([[0], [2], [0]], 3) * 5.0
    >>> (decoded,), _ = sg.nn.ctc_beam_search_decoder(logits, [3], merge_repeated=False)
    >>> sg.Session().run(decoded).values.tolist()
    [0, 0]
    """
    if not 0 < top_paths <= beam_width:
        raise misuse(ValueError, f"ctc_beam_search_decoder: {top_paths} paths of a beam of {beam_width}")
    *parts, scores = ops.ctc_beam_search_decoder(
        inputs, sequence_length, beam_width=beam_width, top_paths=top_paths, merge_repeated=merge_repeated
    )
    return [SparseTensor(*parts[3 * n : 3 * n + 3]) for n in range(top_paths)], scores


def ctc_beam_search_decoder_v2(
    inputs: Any, sequence_length: Any, beam_width: int = 100, top_paths: int = 1
) -> tuple[list[SparseTensor], Tensor]:
    """`ctc_beam_search_decoder` without `merge_repeated`."""
    return ctc_beam_search_decoder(inputs, sequence_length, beam_width, top_paths, merge_repeated=False)
