"""Warm start of a variable with a row, or a column, for each word of a vocabulary that has changed."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import numpy as np

from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.tensor import Tensor


class VocabInfo(NamedTuple):
    """The vocabulary of a variable, and the earlier one of the tensor in a checkpoint that it begins as.

    A word that both have keeps its row. Other words, and buckets of words in no vocabulary, begin anew.

    Attributes:
        new_vocab: Path of the new vocabulary, a file with a word in each line.
        new_vocab_size: The number of its words that count, from the first on.
        num_oov_buckets: Rows after those of the words.
        old_vocab: Path of the earlier vocabulary.
        old_vocab_size: The number of its words that count; -1 for all.
        backup_initializer: The initializer of what begins anew. Default: zeros.
        axis: 0 for a row of each word, 1 for a column.

    >>> import staticgraph as sg
    >>> sg.train.VocabInfo("new.txt", 100, 1, "old.txt").old_vocab_size
    -1
    """

    new_vocab: str
    new_vocab_size: int
    num_oov_buckets: int
    old_vocab: str
    old_vocab_size: int = -1
    backup_initializer: Any = None
    axis: int = 0

    def taken_from(self, old: np.ndarray, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Return the value that a variable begins as, and which of its elements the checkpoint had.

        Args:
            old: The tensor of the checkpoint.
            name: The variable's name, for messages.

        Returns:
            Two arrays of one shape: the values, 0 where there are none, and truth values.

        Raises:
            ValueError: If the axis is neither 0 nor 1, a file has too few words, or `old` is not as large as
                the earlier vocabulary.
        """
        if self.axis not in (0, 1) or self.axis >= old.ndim:
            text = (
                f"VocabInfo of {name}: axis is {self.axis}, and must be an axis of {list(old.shape)}, 0 or 1"
            )
            raise misuse(ValueError, text)
        present = _words(self.new_vocab, self.new_vocab_size)
        earlier = _words(self.old_vocab, self.old_vocab_size)
        if len(earlier) > old.shape[self.axis]:
            text = f"{self.old_vocab} has {len(earlier)} words, and the tensor {old.shape[self.axis]} rows"
            raise misuse(
                ValueError, f"VocabInfo of {name}: {text}", "old_vocab_size says how many words count"
            )
        places = {word: place for place, word in reversed([*enumerate(earlier)])}
        rows = [places.get(word, -1) for word in present]
        found = np.array(rows + [-1] * self.num_oov_buckets)
        along = [1] * old.ndim
        along[self.axis] = len(found)
        known = np.broadcast_to((found >= 0).reshape(along), np.take(old, found, self.axis).shape)
        return np.where(known, np.take(old, found, self.axis), np.zeros((), old.dtype)), known

    def begun(self, shape: Any, dtype: Any) -> Tensor:
        """The initial values of what begins anew, a tensor of this shape."""
        from staticgraph.state.initializers import Zeros

        return (self.backup_initializer or Zeros())(shape, dtype)


def _words(path: str, size: int) -> list[bytes]:
    """The first words of a file, all for -1. ValueError if there are fewer."""
    with open(os.fspath(path), "rb") as file:
        words = file.read().splitlines()
    if size > len(words):
        raise misuse(ValueError, f"{path} has {len(words)} words, and {size} were asked for")
    return words if size < 0 else words[:size]
