"""Targets that do not fit the outputs of a model: they would be broadcast, and teach it something else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.graph.errors import FeedError, misuse
from staticgraph.tf1.keras import losses

# The losses for which TF1 compares shapes; with others, broadcasting may be meant.
_COMPARED = (losses.mean_squared_error, losses.binary_crossentropy, losses.categorical_crossentropy)


def check_targets(outputs: Sequence[Any], targets: Sequence[np.ndarray]) -> None:
    """Raise FeedError, a ValueError, for targets that do not fit their output and its loss.

    Args:
        outputs: The `Output`s of a model that are trained.
        targets: An array for each of them, of the rank of the output.
    """
    for output, target in zip(outputs, targets, strict=True):
        if getattr(output.loss, "fn", None) in _COMPARED:
            _check(output, list(target.shape))


def _check(output: Any, shape: list[int]) -> None:
    wanted = output.tensor.shape
    sizes = wanted.as_list()[1:] if wanted.ndims is not None else []
    if output.loss.fn is losses.categorical_crossentropy and shape[-1] == 1:
        what = f"y: the targets have shape {shape}, and categorical_crossentropy takes rows of classes"
        hint = "numbers of classes go with sparse_categorical_crossentropy; utils.to_categorical makes rows"
    elif any(n not in (None, m) for m, n in zip(shape[1:], sizes, strict=False)):
        what = f"y: the targets have shape {shape}, and the output {output.name} has {wanted}"
        hint = f"{output.loss.name} needs equal shapes: let the last layer have as many units as a target"
    else:
        return
    raise misuse(FeedError, what, hint, made=[(output.name, output.tensor.op.where)])
