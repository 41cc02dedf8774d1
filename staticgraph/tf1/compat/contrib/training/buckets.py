"""`tf.contrib.training.bucket`: batches of examples of a kind, such as sequences of about the same length."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import staticgraph as sg
from staticgraph.compiler.graph.errors import misuse
from staticgraph.tf1.training.input_batches import BatchInputs

_ENDS = (sg.errors.OutOfRangeError, sg.errors.CancelledError)


def bucket(
    tensors: Any,
    which_bucket: Any,
    batch_size: Any,
    num_buckets: int,
    num_threads: int = 1,
    capacity: int = 32,
    bucket_capacities: Sequence[int] | None = None,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    keep_input: Any = True,
    shared_name: str | None = None,
    name: str | None = None,
) -> tuple[sg.Tensor, Any]:
    """Batches of examples that have the same bucket, each bucket with a queue of its own.

    Args:
        tensors: One example: a list or a dictionary of tensors.
        which_bucket: The bucket of the example, a scalar integer in [0, num_buckets).
        batch_size: The number of examples of a batch, or a list with one number for each bucket.
        num_buckets: How many buckets there are.
        num_threads: How many threads compute examples.
        capacity: The largest number of batches that wait, and of examples in a bucket.
        bucket_capacities: The largest number of examples in each bucket, instead of `capacity`.
        shapes: The shapes of the tensors of an example, by default as they are known.
        dynamic_pad: Pad the examples of a batch at the end to the size of the largest.
        allow_smaller_final_batch: Give the rest of each bucket when the input ends.
        keep_input: A scalar condition; an example is dropped if it is False.
        shared_name: A name under which sessions share the queues.
        name: The name of the scope.

    Returns:
        The bucket of a batch, a scalar, and the batch, nested as `tensors`.

    Raises:
        ValueError: A list has not one entry for each bucket, or shapes are unknown without `dynamic_pad`.

    >>> import staticgraph as sg
    >>> number = sg.train.range_input_producer(6, num_epochs=1, shuffle=False).dequeue()
    >>> parity, numbers = bucket([number], number % 2, batch_size=3, num_buckets=2)
    >>> with sg.train.SingularMonitoredSession() as sess:
    ...     found = dict(sess.run([parity, numbers]) for _ in range(2))
    >>> {int(kind): found[kind].tolist() for kind in sorted(found)}
    {0: [0, 2, 4], 1: [1, 3, 5]}
    """
    sizes = list(batch_size) if isinstance(batch_size, list | tuple) else [batch_size] * num_buckets
    capacities = list(bucket_capacities or [capacity] * num_buckets)
    for label, entries in (("batch_size", sizes), ("bucket_capacities", capacities)):
        if len(entries) != num_buckets:
            text = f"bucket: {label} has {len(entries)} entries, num_buckets is {num_buckets}"
            raise misuse(ValueError, text, "give one entry for each bucket")
    with sg.name_scope(name, "bucket"):
        which = sg.convert_to_tensor(which_bucket, dtype=sg.int32, name="which_bucket")
        inputs = [
            BatchInputs([tensors], sg.logical_and(sg.equal(which, i), keep_input), enqueue_many=False)
            for i in range(num_buckets)
        ]
        types, known = inputs[0].dtypes, inputs[0].shapes(shapes)
        if any(shape is None or (None in shape and not dynamic_pad) for shape in known):
            text = "bucket: shapes must be known: " + ", ".join(map(str, known))
            raise misuse(ValueError, text, "use set_shape on the tensors, dynamic_pad=True, or shapes=")
        kind = sg.PaddingFIFOQueue if dynamic_pad else sg.FIFOQueue
        shared_names = [shared_name and f"{shared_name}_{i}" for i in range(num_buckets)]
        queues = [
            kind(size, types, known, shared_name=shared, name=f"bucket_queue_{i}")
            for i, (size, shared) in enumerate(zip(capacities, shared_names, strict=True))
        ]
        is_fixed = not (allow_smaller_final_batch or isinstance(batch_size, list | tuple))
        rows = sg.get_static_value(sizes[0]) if is_fixed else None
        top = sg.PaddingFIFOQueue(
            capacity,
            [sg.int32, *types],
            [[], *([rows if rows is None else int(rows), *(shape or ())] for shape in known)],
            shared_name=shared_name,
            name="top_queue",
        )
        _fill(top, queues, inputs, sizes, num_threads, allow_smaller_final_batch)
        for queue in queues:
            sg.summary.scalar(f"bucket/{queue.name}/size", sg.cast(top.size(), sg.float32))
        full = sg.cast(top.size(), sg.float32) / capacity
        sg.summary.scalar(f"bucket/{top.name}/fraction_of_{capacity}_full", full)
        found, *batch = top.dequeue(name="dequeue_top")
        return found, inputs[0].restored(batch)


def _fill(
    top: Any, queues: list[Any], inputs: list[Any], sizes: list[Any], num_threads: int, smaller: bool
) -> None:
    """Add the threads that fill the buckets, and those that move batches from the buckets to `top`."""
    (tensors,) = inputs[0].lists
    into_buckets = sg.group(
        *(each.enqueue(queue, tensors) for each, queue in zip(inputs, queues, strict=True)),
        name="group_enqueues",
    )
    into_top = []
    for i, (queue, size) in enumerate(zip(queues, sizes, strict=True)):
        take = queue.dequeue_up_to if smaller else queue.dequeue_many
        taken = take(size, name=f"read_bucket_{i}")
        batch = taken if isinstance(taken, list | tuple) else [taken]
        into_top.append(top.enqueue([sg.constant(i), *batch], name=f"enqueue_from_bucket_{i}"))
    sg.train.add_queue_runner(
        sg.train.QueueRunner(
            queues[0],
            into_top,
            close_op=top.close(),
            cancel_op=top.close(cancel_pending_enqueues=True),
            queue_closed_exception_types=_ENDS,
        )
    )
    sg.train.add_queue_runner(
        sg.train.QueueRunner(
            top,
            [into_buckets] * num_threads,
            close_op=sg.group(*(queue.close() for queue in queues)),
            cancel_op=sg.group(*(queue.close(cancel_pending_enqueues=True) for queue in queues)),
            queue_closed_exception_types=_ENDS,
        )
    )


def bucket_by_sequence_length(
    input_length: Any,
    tensors: Any,
    batch_size: Any,
    bucket_boundaries: Sequence[int],
    num_threads: int = 1,
    capacity: int = 32,
    bucket_capacities: Sequence[int] | None = None,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    keep_input: Any = True,
    shared_name: str | None = None,
    name: str | None = None,
) -> tuple[sg.Tensor, Any]:
    """Batches of sequences whose lengths are between the same two boundaries: see `bucket`.

    Args:
        input_length: The length of the example, a scalar of int32.
        tensors: One example: a list or a dictionary of tensors.
        batch_size: The number of examples of a batch, or a list with one number for each bucket.
        bucket_boundaries: Increasing integers; there is one bucket more than boundaries. A length that
            equals a boundary belongs to the longer ones.
        num_threads, capacity, bucket_capacities, shapes, dynamic_pad, allow_smaller_final_batch, keep_input,
            shared_name, name: As for `bucket`.

    Returns:
        The lengths of a batch, a vector, and the batch, nested as `tensors`.

    Raises:
        TypeError: `bucket_boundaries` is no list of integers.
        ValueError: It is empty, or does not increase.
    """
    ends = bucket_boundaries
    if not isinstance(ends, list | tuple) or not all(isinstance(end, int) for end in ends):
        text = f"bucket_by_sequence_length: bucket_boundaries is a list of integers, not {ends!r}"
        raise misuse(TypeError, text)
    if not ends or any(b <= a for a, b in pairwise(ends)):
        text = (
            f"bucket_by_sequence_length: bucket_boundaries must be given and increase, they are {list(ends)}"
        )
        raise misuse(ValueError, text)
    with sg.name_scope(name, "bucket_by_sequence_length"):
        length = sg.convert_to_tensor(input_length, dtype=sg.int32, name="input_length")
        which = sg.reduce_sum(sg.cast(sg.greater_equal(length, list(ends)), sg.int32))
        keys = sorted(tensors) if isinstance(tensors, Mapping) else None
        listed = [tensors[key] for key in keys] if keys else tensors
        listed = listed if isinstance(listed, list | tuple) else [listed]
        _, (lengths, *batch) = bucket(
            [length, *listed],
            which,
            batch_size,
            len(ends) + 1,
            num_threads,
            capacity,
            bucket_capacities,
            None if shapes is None else [[], *shapes],
            dynamic_pad,
            allow_smaller_final_batch,
            keep_input,
            shared_name,
        )
        if keys:
            return lengths, dict(zip(keys, batch, strict=True))
        return lengths, batch if len(batch) > 1 else batch[0]
