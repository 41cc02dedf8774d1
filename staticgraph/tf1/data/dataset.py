"""`Dataset`: the methods that users build pipelines with (TF1's `tf.data.Dataset`)."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from staticgraph.building.inputs import convert_to_tensor
from staticgraph.compiler.graph.checks.arguments import function_of, path_of
from staticgraph.compiler.graph.dtypes import bool_, int64, string
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.graph import get_default_graph
from staticgraph.compiler.graph.recording.op_count import count_more
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.graph.static_value import static_value
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.random_numbers.integers import drawn_seeds, seeds_of
from staticgraph.sparse.tensor import SparseTensor
from staticgraph.tf1.data import batching, caching, files, iterators, mapping, selecting, sources, threads
from staticgraph.tf1.data.arguments import flag, negative_unknown, number, padded_shape, padding_value
from staticgraph.tf1.data.function import Function, scalar_type
from staticgraph.tf1.data.operation_counts import NAMES_COUNTED, count_operations, count_parameters
from staticgraph.tf1.data.options import Options
from staticgraph.tf1.data.pipeline import Node
from staticgraph.tf1.data.structure import (
    Nested,
    as_values,
    batched,
    declared,
    leaves,
    map_leaves,
    packed,
    relaxed,
    rows,
    slice_of,
    structure_of,
)

_ALL = 2**31 - 1  # of the names of files, to shuffle them
INTERLEAVED = 4  # datasets that are read in turn where the user leaves it open


class Dataset:
    """A sequence of elements: tensors, or tuples and dicts of tensors. Methods give new datasets.

    An iterator hands the elements to the runs of a session. Numbers such as sizes may be tensors too; a
    dataset that depends on placeholders or variables needs `make_initializable_iterator`. Functions of
    elements are recorded once and compiled. The order of elements is always the same, threads or not.

    >>> import staticgraph as sg
    >>> dataset = sg.data.Dataset.from_tensor_slices([1, 2, 3, 4]).map(lambda x: x * x).batch(2)
    >>> value = dataset.make_one_shot_iterator().get_next()
    >>> with sg.Session() as sess:
    ...     sess.run(value).tolist(), sess.run(value).tolist()
    ([1, 4], [9, 16])
    """

    def __init__(self, node: Node, options: Options | None = None) -> None:
        self.node = node
        self._options = options
        count_operations(node)

    # Sources

    @staticmethod
    def from_tensors(tensors: Any) -> Dataset:
        """One element: the tensors."""
        values = as_values(tensors)
        return Dataset(sources.Tensors(structure=structure_of(values), values=tuple(leaves(values))))

    @staticmethod
    def from_tensor_slices(tensors: Any) -> Dataset:
        """The slices of the tensors along their first axis, which must have one size."""
        values = as_values(tensors)
        structure = map_leaves(slice_of, structure_of(values))
        _check_slices(structure_of(values))
        return Dataset(sources.Slices(structure=structure, values=tuple(leaves(values))))

    @staticmethod
    def from_sparse_tensor_slices(sparse_tensor: SparseTensor) -> Dataset:
        """The slices of a sparse tensor along its first axis, as tuples (indices, values, shape)."""
        if not isinstance(sparse_tensor, SparseTensor):
            text = f"`sparse_tensor` must be a `tf.SparseTensor` object. Was {sparse_tensor!r}"
            raise misuse(TypeError, text)
        slices = Dataset.from_tensor_slices(sparse_tensor)
        return slices.map(lambda x: (x.indices, x.values, x.dense_shape))

    @staticmethod
    def from_generator(
        generator: Callable[..., Any], output_types: Any, output_shapes: Any = None, args: Any = None
    ) -> Dataset:
        """Return a dataset of the values that the iterable `generator(*args)` yields.

        Args:
            generator: A function that returns an iterable. It is called again for each repetition.
            output_types: The types of the values. The values are nested like them.
            output_shapes: The shapes of the values, nested in the same way. Unknown by default.
            args: Tensors. The function gets their values.

        Raises:
            TypeError: `generator` is not callable.
        """
        if not callable(generator):
            raise misuse(TypeError, "`generator` must be callable.")
        structure = declared(output_types, output_shapes)
        arguments = tuple(convert_to_tensor(a) for a in args or ())
        return Dataset(sources.Generated(structure=structure, function=generator, arguments=arguments))

    @staticmethod
    def range(*args: Any) -> Dataset:
        """int64 numbers, as Python's `range`."""
        if not 1 <= len(args) <= 3:
            raise misuse(ValueError, f"range() takes 1 to 3 numbers, {len(args)} were given")
        start, stop, step = (0, *args, 1)[:3] if len(args) == 1 else (*args, 1)[:3]
        return Dataset(sources.Range(start=number(start), stop=number(stop), step=number(step)))

    @staticmethod
    def zip(datasets: Any) -> Dataset:
        """Elements side by side, nested as `datasets` are, until one of these ends."""
        for each in leaves(datasets):
            _require_dataset(each)
        structure = map_leaves(lambda d: d.node.structure, datasets)
        return Dataset(selecting.Zipped(structure=structure, sources=tuple(d.node for d in leaves(datasets))))

    @staticmethod
    def list_files(file_pattern: Any, shuffle: bool | None = None, seed: int | None = None) -> Dataset:
        """The names of the files that match a pattern, or one of several; shuffled, unless that is False."""
        patterns = convert_to_tensor(file_pattern, dtype=string)
        names = Dataset(files.Matching(patterns=patterns))
        if shuffle is not None and not shuffle:
            return names
        count_more(get_default_graph(), NAMES_COUNTED)
        return names.shuffle(_ALL, seed)

    # Which elements, and in which order

    def take(self, count: Any) -> Dataset:
        """At most `count` elements; all where it is -1."""
        return self._like(selecting.Take, count=number(count))

    def skip(self, count: Any) -> Dataset:
        """All but the first `count` elements; none where it is -1."""
        return self._like(selecting.Skip, count=number(count))

    def repeat(self, count: Any = None) -> Dataset:
        """The elements `count` times; without end where it is None or -1."""
        times, node = number(-1 if count is None else count), self.node
        if (
            isinstance(node, selecting.Shuffled) and node.again
        ):  # as TensorFlow, which makes one step of the two
            return Dataset(dataclasses.replace(node, again=False, count=times, joined=True), self._options)
        return self._like(selecting.Repeat, count=times)

    def shuffle(
        self, buffer_size: Any, seed: Any = None, reshuffle_each_iteration: bool | None = None
    ) -> Dataset:
        """Each element drawn at random from `buffer_size` elements; a repetition has another order.

        With `seed`, or that of `set_random_seed`, the orders are TensorFlow's. If `reshuffle_each_iteration`
        is False, each repetition has the same order; without a seed that order is drawn when the dataset is
        made, so that `take` and `skip` of it never overlap.
        """
        again = reshuffle_each_iteration is None or reshuffle_each_iteration
        size = number(buffer_size)
        count_parameters(size)
        seeds = seeds_of(seed)
        if not again and seeds == (0, 0):
            seeds = drawn_seeds()
        return self._like(selecting.Shuffled, size=size, seeds=seeds, again=again)

    def shard(self, num_shards: Any, index: Any) -> Dataset:
        """Every `num_shards`-th element, from that at `index`."""
        return self._like(selecting.Shard, count=number(num_shards), index=number(index))

    def concatenate(self, dataset: Dataset) -> Dataset:
        """These elements, then those of `dataset`, which must be of the same types."""
        _require_dataset(dataset)
        structure = relaxed(self.node.structure, dataset.node.structure)
        return Dataset(selecting.Concatenated(structure=structure, sources=(self.node, dataset.node)))

    def cache(self, filename: Any = "") -> Dataset:
        """The elements of the first complete pass, kept for later ones: in memory, or in a file of that name.

        A file that is there already is read instead, and what is before in the pipeline is not computed. Its
        elements must be of the same types: InvalidFileError, while running.
        """
        if isinstance(filename, Tensor):
            return self._like(caching.CachedInFile, filename=filename)
        name = path_of(filename, "filename")
        return self._like(caching.CachedInFile, filename=name) if name else self._like(caching.Cached)

    def prefetch(self, buffer_size: Any) -> Dataset:
        """Up to `buffer_size` elements are computed ahead, in a thread; two where it is AUTOTUNE."""
        return self._like(threads.Prefetched, size=number(buffer_size))

    def enumerate(self, start: Any = 0) -> Dataset:
        """Tuples (number, element), with int64 numbers from `start`."""
        return Dataset.zip((counter(start, 1, int64), self))

    # Several elements as one

    def batch(self, batch_size: Any, drop_remainder: Any = False) -> Dataset:
        """`batch_size` elements stacked; the last batch may be smaller, unless `drop_remainder`."""
        size = number(batch_size)
        structure = map_leaves(lambda part: batched(part, _batch(size, drop_remainder)), self.node.structure)
        drop = flag(drop_remainder)
        return Dataset(
            batching.Batched(structure=structure, source=self.node, size=size, drop_remainder=drop),
            self._options,
        )

    def padded_batch(
        self, batch_size: Any, padded_shapes: Any, padding_values: Any = None, drop_remainder: Any = False
    ) -> Dataset:
        """Stack elements that are padded at their ends.

        Args:
            batch_size: How many elements are stacked.
            padded_shapes: A shape for each component; None in it is the largest size in the batch.
            padding_values: A value for each component; by default zeros and empty strings.
            drop_remainder: If True, a last batch that is smaller is left out.
        """
        parts = leaves(self.node.structure)
        shapes = [padded_shape(*row) for row in rows(self.node.structure, padded_shapes)]
        if padding_values is None:
            padding = [batching.padding_of(part) for part in parts]
        else:
            padding = [padding_value(*row) for row in rows(self.node.structure, padding_values)]
        size = number(batch_size)
        known = [static_value(s, partial=True) if isinstance(s, Tensor) else s for s in shapes]
        types = [
            batched(TensorType(part.dtype, negative_unknown(shape)), _batch(size, drop_remainder))
            for part, shape in zip(parts, known, strict=True)
        ]
        return Dataset(
            batching.PaddedBatched(
                structure=packed(self.node.structure, types),
                source=self.node,
                size=size,
                shapes=tuple(shapes),
                padding=tuple(padding),
                drop_remainder=flag(drop_remainder),
            ),
            self._options,
        )

    def window(self, size: Any, shift: Any = None, stride: Any = 1, drop_remainder: Any = False) -> Dataset:
        """Make datasets of some elements each, one in place of each component: use `flat_map` on them.

        Args:
            size: The elements of each dataset.
            shift: How many elements after the one before a dataset begins; `size` by default.
            stride: The distance of its elements.
            drop_remainder: If True, last datasets that are smaller are left out.
        """
        node = batching.Windowed(
            structure=map_leaves(Nested, self.node.structure),
            source=self.node,
            size=number(size),
            shift=number(size if shift is None else shift),
            stride=number(stride),
            drop_remainder=flag(drop_remainder),
        )
        return Dataset(node, self._options)

    def unbatch(self) -> Dataset:
        """The slices of each element along its first axis."""
        structure = map_leaves(slice_of, self.node.structure)
        _check_slices(self.node.structure)
        return Dataset(batching.Unbatched(structure=structure, source=self.node), self._options)

    # Functions of elements

    def map(self, map_func: Callable[..., Any], num_parallel_calls: Any = None) -> Dataset:
        """`map_func` of each element, of tensors as arguments; it returns tensors, nested in any way.

        `num_parallel_calls` are computed at once; as many as there are CPUs where it is AUTOTUNE. The order
        stays, and a function that draws random numbers from a seed is computed by one thread.

        On Linux, functions with Python in them (strings, images, `py_func`) are computed in processes that
        are forked when the first element is asked for: one for each CPU at most. Threads do it where a
        function has state in this process, such as a table, or a Python function that refers to a list or
        an object; and all where the environment has `SG_DATA_WORKERS=0`. Each worker has its own stream of
        NumPy's and Python's random numbers, which `np.random.seed` and `random.seed` decide.
        """
        function = traced(map_func, self.node.structure)
        if function.dataset is not None:
            text = "the function of map() returns a dataset"
            raise misuse(TypeError, text, "use flat_map() or interleave()")
        if num_parallel_calls is None:
            return self._mapped(mapping.Mapped, function)
        node = threads.ParallelMapped(
            structure=function.structure,
            source=self.node,
            function=function,
            count=number(num_parallel_calls),
        )
        return Dataset(node, self._options)

    def flat_map(self, map_func: Callable[..., Any]) -> Dataset:
        """The elements of the datasets that `map_func` returns, one after the other."""
        return self._mapped(mapping.FlatMapped, traced_dataset(map_func, self.node.structure))

    def interleave(
        self,
        map_func: Callable[..., Any],
        cycle_length: Any = threads.AUTOTUNE,
        block_length: Any = 1,
        num_parallel_calls: Any = None,
    ) -> Dataset:
        """The elements of the datasets that `map_func` returns: `block_length` of each in turn, of
        `cycle_length` at a time. `num_parallel_calls` changes nothing in their order.
        """
        function = traced_dataset(map_func, self.node.structure)
        cycle = number(cycle_length)
        cycle = INTERLEAVED if isinstance(cycle, int) and cycle == threads.AUTOTUNE else cycle
        node = mapping.Interleaved(
            structure=function.structure,
            source=self.node,
            function=function,
            cycle=cycle,
            block=number(block_length),
        )
        count_parameters(*() if num_parallel_calls is None else (num_parallel_calls,))
        return Dataset(node, self._options)

    def filter(self, predicate: Callable[..., Any]) -> Dataset:
        """The elements for which `predicate` returns true, a scalar bool."""
        return self._like(mapping.Filtered, function=traced_predicate(predicate, self.node.structure))

    def reduce(self, initial_state: Any, reduce_func: Callable[..., Any]) -> Any:
        """The last of the states that `state = reduce_func(state, element)` goes through, as tensors.

        >>> import staticgraph as sg
        >>> total = sg.data.Dataset.range(5).reduce(sg.constant(0, sg.int64), lambda s, x: s + x)
        >>> with sg.Session() as sess:
        ...     int(sess.run(total))
        10
        """
        initial = Dataset.from_tensors(initial_state).node
        function = traced(reduce_func, (initial.structure, self.node.structure))
        structure = relaxed(initial.structure, function.structure)
        node = mapping.Reduced(structure=structure, source=self.node, initial=initial, function=function)
        return iterators.only_element(node)

    def apply(self, transformation_func: Callable[[Dataset], Dataset]) -> Dataset:
        """`transformation_func(self)`, which must be a dataset."""
        made = function_of(transformation_func, "transformation_func")(self)
        if not isinstance(made, Dataset):
            raise misuse(TypeError, f"the function of apply() returns {made!r}, no dataset")
        return made

    map_with_legacy_function = map
    filter_with_legacy_function = filter

    # Iterators, and what the elements are

    def make_one_shot_iterator(self) -> iterators.Iterator:
        """An iterator that starts by itself, in each session. ValueError for a dataset that depends on
        placeholders or variables.
        """
        return iterators.one_shot(self.node)

    def make_initializable_iterator(self, shared_name: str | None = None) -> iterators.Iterator:
        """An iterator whose `initializer` must be run first, with feeds if the dataset depends on any."""
        return iterators.initializable(self.node)

    def options(self) -> Options:
        """Return the options that `with_options` has set."""
        return Options() if self._options is None else self._options

    def with_options(self, options: Options) -> Dataset:
        """Return the dataset with these options beside earlier ones."""
        return Dataset(self.node, self.options().merge(options))

    @property
    def output_types(self) -> Any:
        return iterators.output_types(self.node.structure)

    @property
    def output_shapes(self) -> Any:
        return iterators.output_shapes(self.node.structure)

    @property
    def output_classes(self) -> Any:
        return iterators.output_classes(self.node.structure)

    def _like(self, kind: Callable[..., Node], **parameters: Any) -> Dataset:
        """A dataset with elements of the same structure."""
        return Dataset(kind(structure=self.node.structure, source=self.node, **parameters), self._options)

    def _mapped(self, kind: Callable[..., Node], function: Function) -> Dataset:
        made = kind(structure=function.structure, source=self.node, function=function)
        return Dataset(made, self._options)

    def __iter__(self) -> Any:
        text = "a dataset has no elements while the graph is built"
        hint = "run(dataset.make_one_shot_iterator().get_next()) gives one after the other"
        raise misuse(RuntimeError, text, hint)

    def __repr__(self) -> str:
        return f"<sg.Dataset shapes: {self.output_shapes}, types: {self.output_types}>"


def traced(function: Callable[..., Any], structure: Any) -> Function:
    """A user's function, recorded for elements of this structure."""
    return Function(
        function, structure, Dataset, lambda made: made.node if isinstance(made, Dataset) else None
    )


def traced_dataset(function: Callable[..., Any], structure: Any) -> Function:
    """A user's function that returns a dataset."""
    made = traced(function, structure)
    if made.dataset is None:
        raise misuse(TypeError, f"`map_func` must return a `Dataset` object, it returns {made.structure}")
    return made


def traced_predicate(function: Callable[..., Any], structure: Any) -> Function:
    """A user's function that returns a scalar bool."""
    made = traced(function, structure)
    if scalar_type(made, "`predicate`").dtype is not bool_:
        raise misuse(ValueError, f"`predicate` must return a bool, it returns {made.structure}")
    return made


def counter(start: Any, step: Any, dtype: Any) -> Dataset:
    """Numbers from `start` without an end."""
    return Dataset(sources.Counter(structure=TensorType(dtype, ()), start=number(start), step=number(step)))


def _batch(size: Any, drop_remainder: Any) -> int | None:
    """The size of all batches, where it is known."""
    return size if isinstance(size, int) and flag(drop_remainder) is True else None


def _check_slices(structure: Any) -> None:
    """ValueError if it is known that components have different numbers of slices."""
    sizes = {part.shape[0] for part in leaves(structure) if part.shape} - {None}
    if len(sizes) > 1:
        text = f"the tensors have {' and '.join(map(str, sorted(sizes)))} slices: all must have as many"
        raise misuse(ValueError, text)


def _require_dataset(value: Any) -> None:
    if not isinstance(value, Dataset):
        raise misuse(TypeError, f"{value!r} is no dataset")
