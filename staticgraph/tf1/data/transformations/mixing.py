"""Elements of several datasets in turn, each taken from the one that another dataset tells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from typing import Any

from staticgraph.arrays.array_ops import expand_dims, squeeze
from staticgraph.building.inputs import convert_to_tensor
from staticgraph.compiler.graph.dtypes import float32, float64, int64
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.shapes import TensorType, compatible
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.mathematics.math_ops import log
from staticgraph.random_numbers.integers import seeds_of
from staticgraph.random_numbers.stateless import stateless_multinomial
from staticgraph.tf1.data.dataset import Dataset
from staticgraph.tf1.data.pipeline import Failed, Node, Run
from staticgraph.tf1.data.sources import Numbers
from staticgraph.tf1.data.structure import Element, relaxed


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Directed(Node):
    """The next element of that source whose number `chosen` tells, until all are at their ends."""

    chosen: Node
    sources: tuple[Node, ...]

    def iterate(self, run: Run) -> Iterator[Element]:
        going: dict[int, Iterator[Element]] = {
            i: source.iterate(run.branch(i)) for i, source in enumerate(self.sources)
        }
        for choice in self.chosen.iterate(run):
            if isinstance(choice, Failed):
                yield choice
                continue
            number = int(choice[0])
            if not 0 <= number < len(self.sources):
                raise self.error(f"dataset {number} was chosen, there are {len(self.sources)}")
            element = next(going[number], None) if number in going else None
            if element is not None:
                yield element
                continue
            going.pop(number, None)
            if not going:
                return


def RandomDataset(seed: Any = None) -> Dataset:
    """Random int64 numbers from 0 to 2**32 - 1, without an end.

    Args:
        seed: With it, or that of `set_random_seed`, the numbers are TensorFlow's.

    >>> import staticgraph as sg
    >>> pair = sg.data.experimental.RandomDataset(seed=1).batch(2).make_one_shot_iterator().get_next()
    >>> pair
    <sg.Tensor 'IteratorGetNext:0' shape=(?,) dtype=int64>
    """
    return Dataset(Numbers(seeds=seeds_of(seed)))


def choose_from_datasets(datasets: Sequence[Dataset], choice_dataset: Dataset) -> Dataset:
    """The next element of `datasets[choice]`, for each `choice`, an int64 scalar, in `choice_dataset`.

    >>> import staticgraph as sg
    >>> words = [sg.data.Dataset.from_tensors(word).repeat() for word in ("a", "b")]
    >>> chosen = sg.data.experimental.choose_from_datasets(words, sg.data.Dataset.range(2).repeat(2))
    >>> with sg.Session() as sess:
    ...     sess.run(sg.data.experimental.get_single_element(chosen.batch(4))).tolist()
    [b'a', b'b', b'a', b'b']
    """
    structure = choice_dataset.node.structure
    if not isinstance(structure, TensorType) or structure.dtype is not int64 or structure.shape != ():
        raise misuse(TypeError, "`choice_dataset` must be a dataset of scalar `tf.int64` tensors.")
    return _directed(choice_dataset, datasets)


def sample_from_datasets(datasets: Sequence[Dataset], weights: Any = None, seed: Any = None) -> Dataset:
    """Elements of `datasets`, each of a dataset that is drawn at random, until all are at their ends.

    `weights`: how likely each is, as float32 or float64; or a dataset of such vectors, one for each element.
    All are equally likely by default. With `seed`, or that of `set_random_seed`, the order is TensorFlow's.
    """
    numbers = RandomDataset(seed).batch(2, drop_remainder=True)
    if isinstance(weights, Dataset):
        pairs = Dataset.zip((weights.map(_logits), numbers))
        return _directed(pairs.map(_drawn), datasets)
    if weights is None:
        logits = [[1.0] * len(datasets)]
    else:
        weights = convert_to_tensor(weights)
        if weights.dtype not in (float32, float64):
            raise misuse(TypeError, f"`weights` must be float32 or float64, they are {weights.dtype}")
        if not compatible(weights.type.shape, (len(datasets),)):
            text = f"`weights` must be a vector of length {len(datasets)}, one for each dataset"
            raise misuse(ValueError, text)
        logits = _logits(weights)
    if len(datasets) == 1:
        return datasets[0]
    return _directed(numbers.map(lambda seed: _drawn(logits, seed)), datasets)


def _logits(weights: Any) -> Any:
    return expand_dims(log(weights), 0)


def _drawn(logits: Any, seed: Any) -> Any:
    return squeeze(stateless_multinomial(logits, 1, seed=seed), axis=[0, 1])


def _directed(chosen: Dataset, datasets: Sequence[Dataset]) -> Dataset:
    nodes = tuple(dataset.node for dataset in datasets)
    structure = reduce(relaxed, (node.structure for node in nodes))
    return Dataset(Directed(structure=structure, chosen=chosen.node, sources=nodes))
