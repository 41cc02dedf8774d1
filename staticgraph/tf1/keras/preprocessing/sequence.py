"""Sequences of numbers of words (TF1's `tf.keras.preprocessing.sequence`)."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence as Listed
from typing import Any

import numpy as np

from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.support.lazy_names import show_public_names
from staticgraph.tf1.keras.utils.sequence import Sequence


def pad_sequences(
    sequences: Any,
    maxlen: int | None = None,
    dtype: Any = "int32",
    padding: str = "pre",
    truncating: str = "pre",
    value: Any = 0.0,
) -> np.ndarray:
    """Sequences of different lengths as the rows of one array.

    Short ones are filled with `value` before ("pre") or after ("post") them, of those longer than `maxlen`
    the beginning ("pre") or the end ("post") is cut off.

    >>> import staticgraph as sg
    >>> sg.keras.preprocessing.sequence.pad_sequences([[1], [2, 3, 4]], maxlen=2)
    array([[0, 1],
           [3, 4]], dtype=int32)
    """
    for name, given in (("padding", padding), ("truncating", truncating)):
        if given not in ("pre", "post"):
            raise misuse(ValueError, f"{name}={given!r} is not pre or post")
    if any(not hasattr(s, "__len__") for s in sequences):
        raise misuse(ValueError, "pad_sequences() takes a list of sequences")
    length = max(map(len, sequences), default=0) if maxlen is None else maxlen
    shape = next((np.asarray(s).shape[1:] for s in sequences if len(s)), ())
    made = np.full((len(sequences), length, *shape), value, dtype)
    for row, sequence in zip(made, sequences, strict=True):
        kept = np.asarray(sequence, dtype)
        kept = (
            (kept[len(kept) - length :] if truncating == "pre" else kept[:length])
            if len(kept) > length
            else kept
        )
        if len(kept) and kept.shape[1:] != shape:
            raise misuse(ValueError, f"an element has shape {kept.shape[1:]}, others have {shape}")
        if len(kept):
            row[length - len(kept) if padding == "pre" else 0 :][: len(kept)] = kept
    return made


def make_sampling_table(size: int, sampling_factor: float = 1e-5) -> np.ndarray:
    """Return the probability to sample the word of each rank, if frequencies follow Zipf's law."""
    rank = np.arange(size)
    rank[0] = 1
    frequency = rank * (np.log(rank) + 0.577) + 0.5 - 1.0 / (12.0 * rank)
    scaled = sampling_factor * frequency
    return np.minimum(1.0, scaled / np.sqrt(scaled))


def skipgrams(
    sequence: Listed[int],
    vocabulary_size: int,
    window_size: int = 4,
    negative_samples: float = 1.0,
    shuffle: bool = True,
    categorical: bool = False,
    sampling_table: Any = None,
    seed: int | None = None,
) -> tuple[list[list[int]], list[Any]]:
    """Pairs of words, and whether the second one is near the first (1) or drawn at random (0)."""
    pairs: list[list[int]] = []
    labels: list[Any] = []
    for i, word in enumerate(sequence):
        if not word or (sampling_table is not None and sampling_table[word] < random.random()):
            continue
        for j in range(max(0, i - window_size), min(len(sequence), i + window_size + 1)):
            if j != i and sequence[j]:
                pairs.append([word, sequence[j]])
                labels.append([0, 1] if categorical else 1)
    if negative_samples > 0:
        words = [pair[0] for pair in pairs]
        random.shuffle(words)
        count = int(len(labels) * negative_samples)
        drawn = [[words[i % len(words)], random.randint(1, vocabulary_size - 1)] for i in range(count)]
        pairs += drawn
        labels += [[1, 0] if categorical else 0] * count
    if shuffle:
        seed = random.randint(0, 10**6) if seed is None else seed
        for items in (pairs, labels):
            random.seed(seed)  # twice the same order
            random.shuffle(items)
    return pairs, labels


class TimeseriesGenerator(Sequence):
    """Windows of a series, and the value after each: batches of (window, target).

    A window has `length // sampling_rate` rows; windows begin `stride` rows apart.
    """

    def __init__(
        self,
        data: Any,
        targets: Any,
        length: int,
        sampling_rate: int = 1,
        stride: int = 1,
        start_index: int = 0,
        end_index: int | None = None,
        shuffle: bool = False,
        reverse: bool = False,
        batch_size: int = 128,
    ) -> None:
        if len(data) != len(targets):
            raise misuse(ValueError, f"there are {len(data)} rows of data and {len(targets)} targets")
        self.data, self.targets, self.length = data, targets, length
        self.sampling_rate, self.stride = sampling_rate, stride
        self.start_index = start_index + length
        self.end_index = len(data) - 1 if end_index is None else end_index
        self.shuffle, self.reverse, self.batch_size = shuffle, reverse, batch_size
        if self.start_index > self.end_index:
            raise misuse(
                ValueError, f"no window of {length} rows fits between rows {start_index} and {self.end_index}"
            )

    def __len__(self) -> int:
        steps = self.end_index - self.start_index + self.batch_size * self.stride
        return steps // (self.batch_size * self.stride)

    def __getitem__(self, index: int) -> Any:
        if self.shuffle:
            rows = np.random.randint(self.start_index, self.end_index + 1, size=self.batch_size)
        else:
            first = self.start_index + self.batch_size * self.stride * index
            last = min(first + self.batch_size * self.stride, self.end_index + 1)
            rows = np.arange(first, last, self.stride)
        samples = np.array([self.data[row - self.length : row : self.sampling_rate] for row in rows])
        targets = np.array([self.targets[row] for row in rows])
        return (samples[:, ::-1] if self.reverse else samples), targets

    def get_config(self) -> dict[str, Any]:
        """The arguments, with data and targets as JSON."""
        names = ("length", "sampling_rate", "stride", "end_index", "shuffle", "reverse", "batch_size")
        arrays = {"data": self.data, "targets": self.targets}
        return {
            **{name: json.dumps(np.asarray(a).tolist()) for name, a in arrays.items()},
            **{name: getattr(self, name) for name in names},
            "start_index": self.start_index - self.length,
        }

    def to_json(self, **kwargs: Any) -> str:
        """The config as JSON."""
        described = {"class_name": type(self).__name__, "config": self.get_config()}
        return json.dumps(described, **kwargs)


show_public_names(__name__)
