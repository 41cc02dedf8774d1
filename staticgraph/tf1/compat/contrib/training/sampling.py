"""`tf.contrib.training`: batches of those examples that a random decision accepts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import staticgraph as sg
from staticgraph.compiler.graph.errors import misuse

_TOLERANCE = 1e-6  # of a sum of probabilities
_FIRST_COUNT = 10  # examples of each class that are taken as seen, until the data tell more


def rejection_sample(
    tensors: Sequence[Any],
    accept_prob_fn: Callable[[list[Any]], Any],
    batch_size: Any,
    queue_threads: int = 1,
    enqueue_many: bool = False,
    prebatch_capacity: int = 16,
    prebatch_threads: int = 1,
    runtime_checks: bool = False,
    name: str | None = None,
) -> list[sg.Tensor]:
    """Batches of accepted examples.

    Args:
        tensors: One example, or a batch of them with `enqueue_many`.
        accept_prob_fn: A function of one example that returns the probability to accept it.
        batch_size: The number of examples of a batch.
        queue_threads: How many threads fill the queue of accepted examples.
        enqueue_many: If True, `tensors` have an axis of examples in front.
        prebatch_capacity, prebatch_threads: Of the queue that takes such a batch apart.
        runtime_checks: Check in each run that the probability is in [0, 1].
        name: The name of the variable scope.

    Returns:
        A list of tensors, each with an axis of `batch_size` in front.
    """
    with sg.variable_scope(name, "rejection_sample", list(tensors)):
        listed = [sg.convert_to_tensor(t) for t in tensors]
        if enqueue_many:
            listed = _one_by_one(listed, prebatch_threads, prebatch_capacity)
        probability = sg.convert_to_tensor(accept_prob_fn(listed))
        if runtime_checks:
            checks = [sg.assert_less_equal(0.0, probability), sg.assert_less_equal(probability, 1.0)]
            with sg.control_dependencies(checks):
                probability = sg.identity(probability, name="prob_with_checks")
        return _accepted(listed, probability, batch_size, queue_threads)


def stratified_sample(
    tensors: Sequence[Any],
    labels: Any,
    target_probs: Any,
    batch_size: Any,
    init_probs: Any = None,
    enqueue_many: bool = False,
    queue_capacity: int = 16,
    threads_per_queue: int = 1,
    name: str | None = None,
) -> tuple[list[sg.Tensor], sg.Tensor]:
    """Batches whose classes have given frequencies, of data that have others: examples are dropped at random.

    Args:
        tensors: One example, or a batch of them with `enqueue_many`.
        labels: The class of it, an integer, or a vector of them.
        target_probs: The frequencies that are wanted, of shape [classes]; they sum to 1.
        batch_size: The number of examples of a batch.
        init_probs: The frequencies in the data; None to estimate them as the data are seen.
        enqueue_many: If True, `tensors` and `labels` have an axis of examples in front.
        queue_capacity: The size of the queue of examples.
        threads_per_queue: How many threads fill each of the two queues.
        name: The name of the scope.

    Returns:
        A list of tensors with an axis of `batch_size` in front, and their labels.

    Raises:
        ValueError: The numbers of classes are not known, or differ.
        InvalidArgumentError: In a run, if the frequencies do not sum to 1, if a class is wanted of which
            there are no data, or if a label is no class.
    """
    with sg.name_scope(name, "stratified_sample", [*tensors, labels]):
        listed, labels = [sg.convert_to_tensor(t) for t in tensors], sg.convert_to_tensor(labels)
        target = sg.convert_to_tensor(target_probs, dtype=sg.float32)
        if not enqueue_many:
            listed, labels = [sg.expand_dims(t, 0) for t in listed], sg.expand_dims(labels, 0)
        if target.shape.ndims != 1 or not target.shape.is_fully_defined():
            text = f"stratified_sample: target_probs must be a vector of known size, not {target.shape}"
            raise misuse(ValueError, text)
        classes = int(target.shape[0])
        initial = _estimated(labels, classes) if init_probs is None else init_probs
        initial = sg.convert_to_tensor(initial, dtype=sg.float32)
        if initial.shape.as_list() != [classes]:
            text = f"stratified_sample: init_probs has shape {initial.shape}, target_probs {target.shape}"
            raise misuse(ValueError, text)
        with sg.control_dependencies([*_is_distribution(initial), *_is_distribution(target)]):
            possible = sg.reduce_all(sg.logical_or(sg.not_equal(initial, 0), sg.equal(target, 0)))
        text = "a class with initial probability zero must have target probability zero"
        with sg.control_dependencies([sg.Assert(possible, [text, initial, target])]):
            accept = _acceptance(initial, target)
        with sg.control_dependencies(
            [sg.assert_non_negative(labels), sg.assert_less(labels, sg.cast(classes, labels.dtype))]
        ):
            labels = sg.identity(labels)
        *listed, label = _one_by_one([*listed, labels], threads_per_queue, queue_capacity)
        *batch, found = _accepted([*listed, label], sg.gather(accept, label), batch_size, threads_per_queue)
        return batch, found


def _one_by_one(tensors: list[Any], threads: int, capacity: int) -> list[Any]:
    """Single examples, through a queue, of a batch of them."""
    rows = sg.train.batch(tensors, batch_size=1, num_threads=threads, capacity=capacity, enqueue_many=True)
    return [sg.squeeze(row, [0]) for row in (rows if isinstance(rows, list) else [rows])]


def _accepted(tensors: list[Any], probability: Any, batch_size: Any, threads: int) -> list[Any]:
    """Batches of the examples that a uniform random number below the probability accepts."""
    keep = sg.random_uniform([]) < probability
    batch = sg.train.maybe_batch(tensors, keep_input=keep, batch_size=batch_size, num_threads=threads)
    return batch if isinstance(batch, list) else [batch]


def _estimated(labels: Any, classes: int) -> Any:
    """Frequencies of the labels that have been seen, these included."""
    seen = sg.Variable([_FIRST_COUNT] * classes, trainable=False, name="class_count", dtype=sg.int64)
    counts = seen.assign_add(sg.reduce_sum(sg.one_hot(labels, classes, dtype=sg.int64), 0))
    return sg.cast(counts, sg.float32) / sg.cast(sg.reduce_sum(counts), sg.float32)


def _is_distribution(probabilities: Any) -> list[Any]:
    total = sg.reduce_sum(probabilities)
    return [
        sg.assert_non_negative(probabilities),
        sg.assert_less(total, 1.0 + _TOLERANCE),
        sg.assert_less(1.0 - _TOLERANCE, total),
    ]


def _acceptance(initial: Any, target: Any) -> Any:
    """Probabilities to accept, in proportion to `target / initial`, of which the largest is 1."""
    ratio = sg.where(sg.equal(initial, 0), sg.zeros_like(initial), target / initial)
    return ratio / sg.reduce_max(ratio)
