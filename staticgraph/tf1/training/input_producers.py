"""Queues that go through given values again and again: the beginning of an input pipeline of queues."""

from __future__ import annotations

from typing import Any

from staticgraph.arrays.array_ops import shape
from staticgraph.arrays.casts import cast
from staticgraph.arrays.creation import range as number_range
from staticgraph.arrays.indexing import gather
from staticgraph.building.framework import GraphKeys, control_dependencies, name_scope
from staticgraph.building.inputs import constant, convert_to_tensor, identity
from staticgraph.compiler.graph.dtypes import float32, int64, string
from staticgraph.compiler.graph.errors import InvalidArgumentError, RuleError, ShapeError, misuse
from staticgraph.compiler.graph.recording.op_count import count_more, counted_as, op_count
from staticgraph.compiler.graph.shapes import as_shape, merge
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.compiler.ops.kinds import host
from staticgraph.random_numbers.random_ops import random_shuffle
from staticgraph.state.counting import count_up_to
from staticgraph.state.variables import Variable
from staticgraph.tf1 import summary
from staticgraph.tf1.io.whole_files import matching_files
from staticgraph.tf1.queue import FIFOQueue
from staticgraph.tf1.training.queue_runner import QueueRunner, add_queue_runner

# So many operations more TensorFlow makes to compare the number of strings with 0.
_LENGTH_COMPARED = 6


def match_filenames_once(pattern: Any, name: str | None = None) -> Variable:
    """A local variable with the names of the files that match, found when it is initialised."""
    with name_scope(name, "matching_filenames", [pattern]) as scope:
        return Variable(
            matching_files(pattern),
            trainable=False,
            validate_shape=False,
            name=scope,
            collections=[GraphKeys.LOCAL_VARIABLES],
        )


def limit_epochs(tensor: Any, num_epochs: int | None = None, name: str | None = None) -> Tensor:
    """`tensor`, in `num_epochs` runs; OutOfRangeError in the next one.

    A local variable counts them: run `local_variables_initializer()` first.
    """
    if num_epochs is None:
        return convert_to_tensor(tensor)
    if num_epochs <= 0:
        raise misuse(ValueError, f"num_epochs must be > 0 not {num_epochs}.")
    with name_scope(name, "limit_epochs", [tensor]) as scope:
        zero = constant(0, int64)
        epochs = Variable(zero, name="epochs", trainable=False, collections=[GraphKeys.LOCAL_VARIABLES])
        with control_dependencies([count_up_to(epochs, num_epochs)]):
            return identity(convert_to_tensor(tensor), name=scope)


def _shuffled(rows: Tensor, seed: int | None) -> Tensor:
    """Return rows in random order, strings too: one operation in TensorFlow."""
    if seed is None and rows.graph.seed is not None:
        seed = op_count(rows.graph)
    with counted_as(rows.graph, 1):
        return gather(rows, random_shuffle(number_range(shape(rows)[0]), seed=seed))


def input_producer(
    input_tensor: Any,
    element_shape: Any = None,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    summary_name: str | None = None,
    name: str | None = None,
    cancel_op: Any = None,
) -> FIFOQueue:
    """A queue of the rows of `input_tensor`, `num_epochs` times or without end; shuffled anew each time.

    A queue runner fills it: `start_queue_runners` starts it. ValueError if a row's shape is unknown.
    """
    with name_scope(name, "input_producer", [input_tensor]):
        rows = convert_to_tensor(input_tensor, name="input_tensor")
        known = rows.type.shape
        try:
            row = merge(
                None if known is None else known[1:], as_shape(element_shape), "a row and element_shape,"
            )
        except RuleError as error:
            raise misuse(ShapeError, f"input_producer: {error.what}") from None
        if row is None or None in row:
            text = "input_tensor must have a fully defined element shape, or element_shape must be given"
            raise misuse(ValueError, text)
        if shuffle:
            rows = _shuffled(rows, seed)
        rows = limit_epochs(rows, num_epochs)
        queue = FIFOQueue(capacity, [rows.dtype], [row], shared_name=shared_name, name=name or "fifo_queue")
        add_queue_runner(QueueRunner(queue, [queue.enqueue_many([rows])], cancel_op=cancel_op))
        if summary_name is not None:
            summary.scalar(summary_name, cast(queue.size(), float32) * (1.0 / capacity))
        return queue


@host(tf="Assert", type=lambda names: names, dtypes=frozenset({string}), name="some_names")
def _some_names(names: Any) -> Any:
    """The names, if there are any."""
    if not names.size:
        raise InvalidArgumentError("string_input_producer requires a non-null input tensor")
    return names


def string_input_producer(
    string_tensor: Any,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
    cancel_op: Any = None,
) -> FIFOQueue:
    """A queue of strings, such as the names of files; see `input_producer`. ValueError if there are none.

    >>> import staticgraph as sg
    >>> queue = sg.train.string_input_producer(["a", "b"], shuffle=False, num_epochs=1)
    >>> value = queue.dequeue()
    >>> with sg.Session() as sess:
    ...     sess.run(sg.local_variables_initializer())
    ...     coord = sg.train.Coordinator()
    ...     threads = sg.train.start_queue_runners(sess, coord)
    ...     values = [sess.run(value) for _ in range(2)]
    ...     coord.request_stop()
    ...     coord.join(threads)
    >>> values
    [b'a', b'b']
    """
    if not isinstance(string_tensor, Tensor | Variable) and not len(string_tensor):
        text = "string_input_producer requires a non-null input tensor"
        raise misuse(ValueError, text, "no file was found, perhaps")
    with name_scope(name, "input_producer", [string_tensor]) as scope:
        strings = _some_names(convert_to_tensor(string_tensor, dtype=string))
        count_more(strings.graph, _LENGTH_COMPARED)
        return input_producer(
            strings,
            (),
            num_epochs,
            shuffle,
            seed,
            capacity,
            shared_name,
            f"fraction_of_{capacity}_full",
            scope,
            cancel_op,
        )


def range_input_producer(
    limit: Any,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
) -> FIFOQueue:
    """A queue of the numbers from 0 to below `limit`; see `input_producer`."""
    with name_scope(name, "input_producer", [limit]) as scope:
        return input_producer(
            number_range(limit),
            (),
            num_epochs,
            shuffle,
            seed,
            capacity,
            shared_name,
            f"fraction_of_{capacity}_full",
            scope,
        )


def slice_input_producer(
    tensor_list: Any,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
) -> list[Tensor]:
    """The rows of tensors, one of each in a run: all tensors have as many. See `input_producer`."""
    with name_scope(name, "input_producer", tensor_list):
        tensors = [convert_to_tensor(t) for t in tensor_list]
        if not tensors:
            raise misuse(ValueError, "slice_input_producer() needs at least one tensor")
        queue = range_input_producer(shape(tensors[0])[0], num_epochs, shuffle, seed, capacity, shared_name)
        index = queue.dequeue()
        return [gather(t, index) for t in tensors]
