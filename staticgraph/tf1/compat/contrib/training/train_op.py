"""`tf.contrib.training.create_train_op`: the loss as a tensor that trains when it is computed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import staticgraph as sg
from staticgraph.compiler.graph.errors import misuse

__all__ = [
    "add_gradients_summaries",
    "clip_gradient_norms",
    "clip_gradient_norms_fn",
    "create_train_op",
    "multiply_gradients",
]

GLOBAL_STEP_OF_GRAPH = 0  # TensorFlow's default: None means that no step is counted
Pairs = list[tuple[Any, Any]]


def create_train_op(
    total_loss: Any,
    optimizer: Any,
    global_step: Any = GLOBAL_STEP_OF_GRAPH,
    update_ops: Sequence[Any] | None = None,
    variables_to_train: Sequence[Any] | None = None,
    transform_grads_fn: Callable[[Pairs], Pairs] | None = None,
    summarize_gradients: bool = False,
    gate_gradients: int = 1,
    aggregation_method: Any = None,
    colocate_gradients_with_ops: bool = False,
    check_numerics: bool = True,
) -> sg.Tensor:
    """Return the loss as a tensor that makes a step of training when it is computed.

    Args:
        total_loss: A tensor of one number.
        optimizer: An optimizer of `sg.train`.
        global_step: The variable that counts steps; the graph's own by default, None for none.
        update_ops: Operations that run before the loss; those of UPDATE_OPS by default. An empty list leaves
            moving averages alone.
        variables_to_train: All trainable variables by default.
        transform_grads_fn: A function of pairs (gradient, variable) that returns such pairs.
        summarize_gradients: If True, histograms and norms of gradients are summarized.
        gate_gradients, aggregation_method, colocate_gradients_with_ops: As for `compute_gradients`.
        check_numerics: If True, a loss that is NaN or infinite is an error.

    Returns:
        The loss after the step's updates; it also joins the collection TRAIN_OP.
    """
    if global_step is GLOBAL_STEP_OF_GRAPH:
        global_step = sg.train.get_or_create_global_step()
    given = sg.get_collection(sg.GraphKeys.UPDATE_OPS) if update_ops is None else update_ops
    if given:
        with sg.control_dependencies(list(dict.fromkeys(given))):
            total_loss = sg.identity(total_loss)
    wanted = sg.trainable_variables() if variables_to_train is None else list(variables_to_train)
    if not wanted:
        raise misuse(ValueError, "create_train_op: there are no variables to train")
    pairs = optimizer.compute_gradients(
        total_loss,
        wanted,
        gate_gradients=gate_gradients,
        aggregation_method=aggregation_method,
        colocate_gradients_with_ops=colocate_gradients_with_ops,
    )
    if transform_grads_fn is not None:
        pairs = transform_grads_fn(pairs)
    if summarize_gradients:
        with sg.name_scope("summarize_grads"):
            add_gradients_summaries(pairs)
    with nullcontext() if update_ops is None else _without_update_ops():
        updates = optimizer.apply_gradients(pairs, global_step=global_step)
    with sg.name_scope("train_op"):
        if check_numerics:
            total_loss = sg.check_numerics(total_loss, "LossTensor is inf or nan")
        with sg.control_dependencies([updates]):
            trained: sg.Tensor = sg.identity(total_loss)
    waiting = sg.get_collection_ref(sg.GraphKeys.TRAIN_OP)
    if all(each is not trained for each in waiting):
        waiting.append(trained)
    return trained


@contextmanager
def _without_update_ops() -> Iterator[None]:
    """Let an optimizer find no updates to run with its own: the caller has said which ones run."""
    waiting = sg.get_collection_ref(sg.GraphKeys.UPDATE_OPS)
    taken = waiting[:]
    waiting.clear()
    try:
        yield
    finally:
        waiting[:] = taken


def multiply_gradients(grads_and_vars: Pairs, gradient_multipliers: Mapping[Any, Any]) -> Pairs:
    """Return the pairs with the gradients of some variables multiplied.

    Args:
        grads_and_vars: Pairs (gradient, variable).
        gradient_multipliers: Numbers or tensors by variable or by its name.

    Raises:
        ValueError: If there are no multipliers, or a variable with one has no gradient.
    """
    if not gradient_multipliers:
        raise misuse(ValueError, "multiply_gradients: there are no multipliers")
    made = []
    for gradient, variable in grads_and_vars:
        key = variable if variable in gradient_multipliers else variable.op.name
        if key in gradient_multipliers:
            if gradient is None:
                raise misuse(ValueError, f"multiply_gradients: {variable.name} has no gradient")
            by = sg.cast(gradient_multipliers[key], gradient.dtype)
            if isinstance(gradient, sg.IndexedSlices):
                gradient = sg.IndexedSlices(gradient.values * by, gradient.indices, gradient.dense_shape)
            else:
                gradient *= by
        made.append((gradient, variable))
    return made


def clip_gradient_norms(gradients_to_variables: Pairs, max_norm: float) -> Pairs:
    """Return the pairs with each gradient scaled down to the norm `max_norm` where it is larger."""
    return [
        (None if gradient is None else sg.clip_by_norm(gradient, max_norm), variable)
        for gradient, variable in gradients_to_variables
    ]


def clip_gradient_norms_fn(max_norm: float) -> Callable[[Pairs], Pairs]:
    """`clip_gradient_norms` with this norm, as `transform_grads_fn` of `create_train_op`."""
    return lambda pairs: clip_gradient_norms(pairs, max_norm)


def add_gradients_summaries(grads_and_vars: Pairs) -> list[sg.Tensor]:
    """Summarize each gradient, as a histogram and by its norm."""
    return summarized(grads_and_vars, "_")


def summarized(grads_and_vars: Pairs, joint: str) -> list[sg.Tensor]:
    """Summaries of gradients, named by their variables and, after `joint`, "gradient" or "gradient_norm"."""
    made = []
    for gradient, variable in grads_and_vars:
        if gradient is not None:
            values = gradient.values if isinstance(gradient, sg.IndexedSlices) else gradient
            made.append(sg.summary.histogram(f"{variable.op.name}{joint}gradient", values))
            made.append(
                sg.summary.scalar(f"{variable.op.name}{joint}gradient_norm", sg.global_norm([values]))
            )
    return made
