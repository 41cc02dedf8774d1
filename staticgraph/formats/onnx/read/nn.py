"""Products of matrices, losses, and dropout."""

from __future__ import annotations

import math

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import bool_, float32, int32, int64, uint64
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.formats.onnx.nodes import Node, operator
from staticgraph.formats.onnx.values import cast, constant, permuted, reshape, select, sizes, vector
from staticgraph.mathematics.products import einsum
from staticgraph.random_numbers.random_ops import random_uniform


@operator("MatMul")
def _matmul(node: Node, a: Tensor, b: Tensor) -> Tensor:
    return multiplied(a, b)


def multiplied(a: Tensor, b: Tensor) -> Tensor:
    """The product of matrices, or of many; a vector counts as a row on the left, as a column on the right."""
    left, right = (len(t.type.shape or ()) for t in (a, b))
    if a.dtype in (uint64,):
        return cast(multiplied(cast(a, int64), cast(b, int64)), a.dtype)
    if left == 2 and right == 2:
        return ops.matmul(a, b)
    rows = ops.expand_dims(a, axis=0) if left == 1 else a
    columns = ops.expand_dims(b, axis=1) if right == 1 else b
    made = ops.batch_matmul(rows, columns)
    dropped = [axis for axis, count in ((-2, left), (-1, right)) if count == 1]
    return ops.squeeze(made, axis=tuple(dropped)) if dropped else made


@operator("Gemm")
def _gemm(node: Node, a: Tensor, b: Tensor, c: Tensor | None = None) -> Tensor:
    made = ops.matmul(a, b, transpose_a=bool(node.get("transA")), transpose_b=bool(node.get("transB")))
    if node.get("alpha", 1.0) != 1.0:
        made = constant(node.get("alpha"), made) * made
    if c is None or node.get("beta", 1.0) == 0.0:
        return made
    return made + (c if node.get("beta", 1.0) == 1.0 else constant(node.get("beta"), c) * c)


@operator("Einsum")
def _einsum(node: Node, *values: Tensor) -> Tensor:
    equation = node.required("equation").replace(" ", "")
    terms, arrow, result = equation.partition("->")
    inputs, letters = list(values), terms.split(",")
    for i, term in enumerate(letters[: len(inputs)]):
        inputs[i], letters[i] = _on_diagonals(inputs[i], term)
    if not arrow and letters != terms.split(","):
        result = "..." * ("..." in terms) + "".join(
            sorted(c for c in set(terms) if c.isalpha() and terms.count(c) == 1)
        )
        arrow = "->"
    return einsum(",".join(letters) + arrow + result, *inputs)


def _on_diagonals(x: Tensor, term: str) -> tuple[Tensor, str]:
    """An operand that names two axes alike: only its elements with equal places on both count."""
    for letter in set(term) - {"."}:
        while term.count(letter) > 1:
            rank = len(x.type.shape or ())
            ahead, behind = term.split("...") if "..." in term else (term, "")
            axes = [i for i, c in enumerate(ahead) if c == letter]
            axes += [rank - len(behind) + i for i, c in enumerate(behind) if c == letter]
            x = ops.matrix_diag_part(
                permuted(x, [*(a for a in range(rank) if a not in axes[-2:]), *axes[-2:]])
            )
            dropped = [i for i, c in enumerate(term) if c == letter][-2:]
            term = "".join(c for i, c in enumerate(term) if i not in dropped) + letter
    return x, term


# Losses. Classes are on the second axis.


@operator("NegativeLogLikelihoodLoss")
def _negative_log_likelihood(node: Node, x: Tensor, target: Tensor, weight: Tensor | None = None) -> Tensor:
    return likelihood_loss(node, x, target, weight)


@operator("SoftmaxCrossEntropyLoss")
def _softmax_cross_entropy(
    node: Node, scores: Tensor, labels: Tensor, weights: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    logs = ops.log_softmax(scores, axis=1)
    return likelihood_loss(node, logs, labels, weights), logs


def likelihood_loss(node: Node, logs: Tensor, target: Tensor, weight: Tensor | None) -> Tensor:
    """Minus the logarithm of each target's probability, times the weight of its class; ignored ones are 0."""
    ignored = node.get("ignore_index")
    last = permuted(logs, [0, *range(2, node.rank(logs)), 1])
    target = cast(target, int64)
    counts = ops.ones_like(cast(target, logs.dtype))
    if ignored is not None:
        kept = ops.not_equal(target, constant(ignored, int64))
        target = select(kept, target, ops.zeros_like(target))
        counts = select(kept, counts, ops.zeros_like(counts))
    if weight is not None:
        counts = counts * ops.gather(weight, target, axis=0)
    rank = node.rank(target)
    found = ops.gather(last, target, axis=rank, batch_dims=rank)
    loss = -found * counts
    match node.get("reduction", "mean"):
        case "none":
            return loss
        case "sum":
            return ops.reduce_sum(loss)
    return ops.reduce_sum(loss) / ops.reduce_sum(counts)


# Dropout


@operator("Dropout")
def _dropout(
    node: Node, x: Tensor, ratio: Tensor | None = None, training: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    trains = training is not None and bool(node.known(training, "training_mode"))
    share = 0.5 if ratio is None else float(node.known(ratio, "ratio"))
    if node.version < 12:
        share = node.get("ratio", 0.5)
    if not trains or share == 0.0:
        return ops.identity(x), ops.cast(ops.ones_like(x), dtype=bool_)
    drawn = random_uniform(vector(sizes(x)), dtype=float32, seed=node.get("seed"))
    mask = drawn >= constant(share, float32)
    return select(mask, x / constant(1 - share, x), ops.zeros_like(x)), mask


@operator("Col2Im")
def _col2im(node: Node, x: Tensor, image: Tensor, block: Tensor) -> Tensor:
    """Blocks laid over an image, where they lie on each other they add up."""
    space, taps = node.ints(image, "image_shape"), node.ints(block, "block_shape")
    rank = len(space)
    strides, dilations = node.get("strides") or [1] * rank, node.get("dilations") or [1] * rank
    pads = node.get("pads") or [0] * (2 * rank)
    batch, columns, _ = node.sizes(x)
    room = [n + pads[i] + pads[rank + i] for i, n in enumerate(space)]
    counts = [
        (n - d * (k - 1) - 1) // s + 1 for n, k, s, d in zip(room, taps, strides, dilations, strict=True)
    ]
    channels = columns // math.prod(taps)
    places = np.zeros((*taps, *counts), np.int64)
    for i in range(rank):
        along = np.arange(taps[i])[:, None] * dilations[i] + np.arange(counts[i])[None, :] * strides[i]
        shape = [1] * (2 * rank)
        shape[i], shape[rank + i] = along.shape
        places = places * room[i] + along.reshape(shape)
    rows = permuted(reshape(x, [batch * channels, places.size]), [1, 0])
    summed = ops.unsorted_segment_sum(rows, constant(places.reshape(-1), int32), num_segments=math.prod(room))
    made = reshape(permuted(summed, [1, 0]), [batch, channels, *room])
    begin = (0, 0, *pads[:rank])
    return ops.slice(made, begin=begin, size=(batch, channels, *space))
