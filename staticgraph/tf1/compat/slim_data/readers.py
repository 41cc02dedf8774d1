"""Records of many files through a common queue: `slim.parallel_reader` and `slim.prefetch_queue`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import staticgraph as sg
from staticgraph.compiler.graph.errors import misuse
from staticgraph.tf1.compat.legacy import gfile


class ParallelReader:
    """Several readers of one class that put what they read into a common queue.

    Args:
        reader_class: Makes a reader, such as `tf.TFRecordReader`.
        common_queue: A queue of pairs of strings, keys and records.
        num_readers: The number of readers, each with a file of its own.
        reader_kwargs: Arguments of each reader.

    Raises:
        TypeError: The elements of the queue are no pairs of strings.
    """

    def __init__(
        self,
        reader_class: Callable[..., Any],
        common_queue: Any,
        num_readers: int = 4,
        reader_kwargs: Mapping[str, Any] | None = None,
    ) -> None:
        if [dtype.base_dtype for dtype in common_queue.dtypes] != [sg.string, sg.string]:
            raise misuse(TypeError, "common_queue.dtypes must be [tf.string, tf.string]")
        self._readers = [reader_class(**(reader_kwargs or {})) for _ in range(num_readers)]
        self._common_queue = common_queue

    @property
    def num_readers(self) -> int:
        """The number of readers."""
        return len(self._readers)

    @property
    def common_queue(self) -> Any:
        """The queue that all readers fill."""
        return self._common_queue

    def read(self, queue: Any, name: str | None = None) -> Any:
        """Return the key and the record that come next, of the files whose names `queue` holds."""
        self._fill_from(queue)
        return self._common_queue.dequeue(name=name)

    def read_up_to(self, queue: Any, num_records: Any, name: str | None = None) -> Any:
        """Return at most `num_records` keys and records."""
        self._fill_from(queue)
        return self._common_queue.dequeue_up_to(num_records, name)

    def num_records_produced(self, name: str | None = None) -> Any:
        """Return the number of records that all readers have read, an int64 tensor."""
        return sg.add_n([reader.num_records_produced() for reader in self._readers], name=name)

    def num_work_units_completed(self, name: str | None = None) -> Any:
        """Return the number of files that all readers have finished, an int64 tensor."""
        return sg.add_n([reader.num_work_units_completed() for reader in self._readers], name=name)

    def _fill_from(self, queue: Any) -> None:
        fillings = [self._common_queue.enqueue(reader.read(queue)) for reader in self._readers]
        sg.train.add_queue_runner(sg.train.QueueRunner(self._common_queue, fillings))


def parallel_read(
    data_sources: Any,
    reader_class: Callable[..., Any],
    num_epochs: int | None = None,
    num_readers: int = 4,
    reader_kwargs: Mapping[str, Any] | None = None,
    shuffle: bool = True,
    dtypes: Any = None,
    capacity: int = 256,
    min_after_dequeue: int = 128,
    seed: int | None = None,
    scope: str | None = None,
) -> Any:
    """Return the next key and record of many files.

    Args:
        data_sources: Names or patterns of files.
        reader_class: Makes a reader, such as `tf.TFRecordReader`.
        num_epochs: The number of times that each file is read; None for ever.
        num_readers: The number of readers, each with a file of its own.
        reader_kwargs: Arguments of each reader.
        shuffle: If True, files and records come in random order.
        dtypes: The types of key and record; strings by default.
        capacity: The size of the common queue.
        min_after_dequeue: The records that stay in a shuffled queue.
        seed: The seed of the order.
        scope: The name of the operations.

    Raises:
        ValueError: There are no such files.
    """
    files = get_data_files(data_sources)
    with sg.name_scope(scope, "parallel_read"):
        names = sg.train.string_input_producer(files, num_epochs, shuffle, seed, name="filenames")
        kinds = dtypes or [sg.string, sg.string]
        queue: Any
        if shuffle:
            queue = sg.RandomShuffleQueue(capacity, min_after_dequeue, kinds, seed=seed, name="common_queue")
        else:
            queue = sg.FIFOQueue(capacity, kinds, name="common_queue")
        _summarize(queue, capacity)
        return ParallelReader(reader_class, queue, num_readers, reader_kwargs).read(names)


def single_pass_read(
    data_sources: Any,
    reader_class: Callable[..., Any],
    reader_kwargs: Mapping[str, Any] | None = None,
    scope: str | None = None,
) -> Any:
    """Return the next key and record of files that are read once, in order; see `parallel_read`."""
    files = get_data_files(data_sources)
    with sg.name_scope(scope, "single_pass_read"):
        names = sg.train.string_input_producer(files, 1, False, capacity=1, name="filenames")
        return reader_class(**(reader_kwargs or {})).read(names)


def get_data_files(data_sources: Any) -> list[str]:
    """Return the names of files that a name, a pattern, or a list of these stands for.

    >>> from staticgraph.tf1.compat.slim_data.readers import get_data_files
    >>> get_data_files(["a", "b"])
    ['a', 'b']

    Raises:
        ValueError: There are no such files.
    """
    if isinstance(data_sources, list | tuple):
        files = [name for source in data_sources for name in get_data_files(source)]
    elif set(data_sources) & set("*?["):
        files = gfile.Glob(data_sources)
    else:
        files = [data_sources]
    if not files:
        raise misuse(ValueError, f"No data files found in {data_sources}")
    return files


def prefetch_queue(
    tensors: Sequence[Any] | Mapping[str, Any],
    capacity: int = 8,
    num_threads: int = 1,
    dynamic_pad: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Return a queue that threads fill with values of tensors ahead of their use.

    Args:
        tensors: A list of tensors, or a dictionary, whose elements then have its keys.
        capacity: The number of elements.
        num_threads: The number of threads that fill it.
        dynamic_pad: If True, elements of different sizes are padded.
        shared_name: The name under which sessions share it.
        name: The name of the operations.
    """
    if isinstance(tensors, Mapping):
        names: list[str] | None = sorted(tensors)
        values = [tensors[key] for key in sorted(tensors)]
    else:
        names, values = None, list(tensors)
    with sg.name_scope(name, "prefetch_queue", values) as scope:
        make = sg.PaddingFIFOQueue if dynamic_pad else sg.FIFOQueue
        kinds, shapes = [t.dtype for t in values], [t.shape for t in values]
        queue = make(capacity, kinds, shapes, names=names, shared_name=shared_name, name=scope)
        filling = queue.enqueue(tensors)
        sg.train.add_queue_runner(sg.train.QueueRunner(queue, [filling] * num_threads))
        _summarize(queue, capacity)
        return queue


def _summarize(queue: Any, capacity: int) -> None:
    full = sg.cast(queue.size(), sg.float32) * (1.0 / capacity)
    sg.summary.scalar(f"fraction_of_{capacity}_full", full)
