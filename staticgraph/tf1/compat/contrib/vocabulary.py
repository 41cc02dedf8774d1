"""`tf.contrib.learn.preprocessing`: documents as rows of word numbers.

A processor is saved as JSON, where TensorFlow writes a pickle: reading a file never runs what it says. A file
that TensorFlow wrote cannot be restored; fit the processor again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Self

import numpy as np

from staticgraph.compiler.graph.errors import DataLossError, misuse
from staticgraph.runtime.disk.atomic import write_file
from staticgraph.runtime.files.attributes import read_json

# Runs of capitals, capitalised parts of a CamelCase word, and other words with their hyphens and apostrophes.
_WORD = re.compile(r"[A-Z]{2,}(?![a-z])|[A-Z][a-z]+(?=[A-Z])|[\'\w\-]+")

_FORMAT = "staticgraph vocabulary processor 1"
_LONGEST = 1 << 24  # words in a document, of a processor that is read from a file


def tokenizer(iterator: Iterable[str]) -> Iterator[list[str]]:
    """The words of each document.

    >>> from staticgraph.tf1.compat.contrib.vocabulary import tokenizer
    >>> list(tokenizer(["It's well-known, in NYC.", "HelloWorld"]))
    [["It's", 'well-known', 'in', 'NYC'], ['Hello', 'World']]
    """
    for value in iterator:
        yield _WORD.findall(value)


class CategoricalVocabulary:
    """Numbers for words, from 1 in the order of their first appearance; 0 is for unknown words."""

    def __init__(self, unknown_token: str = "<UNK>", support_reverse: bool = True) -> None:
        self._support_reverse = support_reverse
        self._words = [unknown_token]
        self._mapping = {unknown_token: 0}
        self._counts: dict[str, int] = {}
        self._frozen = False

    def __len__(self) -> int:
        return len(self._words)

    def freeze(self, freeze: bool = True) -> None:
        """From now on a new word is unknown."""
        self._frozen = freeze

    def get(self, category: str) -> int:
        """The number of a word; a new one, unless the vocabulary is frozen."""
        if category not in self._mapping:
            if self._frozen:
                return 0
            self._mapping[category] = len(self._words)
            self._words.append(category)
        return self._mapping[category]

    def add(self, category: str, count: int = 1) -> None:
        """Count a word."""
        if self.get(category) > 0:
            self._counts[category] = self._counts.get(category, 0) + count

    def trim(self, min_frequency: int, max_frequency: int = -1) -> None:
        """Keep words counted more than `min_frequency` times, and less than `max_frequency` if that is
        positive.

        They are numbered anew, the most frequent first, and those as frequent in alphabetical order.
        """
        ordered = sorted(self._counts.items(), key=lambda item: (-item[1], item[0]))
        self._counts = {
            word: count for word, count in ordered if count > min_frequency and not 0 < max_frequency <= count
        }
        self._words = [self._words[0], *self._counts]
        self._mapping = {word: number for number, word in enumerate(self._words)}

    def reverse(self, class_id: int) -> str:
        """The word of a number. ValueError without `support_reverse`, IndexError for another number."""
        if not self._support_reverse:
            raise misuse(ValueError, "this vocabulary was made with support_reverse=False")
        return self._words[class_id]

    def words(self) -> list[str]:
        """The words in the order of their numbers, the unknown word first."""
        return list(self._words)


class VocabularyProcessor:
    """Turns documents into rows of `max_document_length` word numbers; shorter ones end in zeros.

    `fit` gathers the vocabulary, from words that occur more than `min_frequency` times. `tokenizer_fn` takes
    documents and gives a list of words for each.

    >>> from staticgraph.tf1.compat.contrib.vocabulary import VocabularyProcessor
    >>> processor = VocabularyProcessor(4)
    >>> np.array(list(processor.fit_transform(["a cat sat", "a dog"])))
    array([[1, 2, 3, 0],
           [1, 4, 0, 0]])
    """

    def __init__(
        self,
        max_document_length: int,
        min_frequency: int = 0,
        vocabulary: Any = None,
        tokenizer_fn: Callable[[Iterable[str]], Iterable[list[str]]] | None = None,
    ) -> None:
        self.max_document_length = max_document_length
        self.min_frequency = min_frequency
        self.vocabulary_ = vocabulary or CategoricalVocabulary()
        self._tokenizer = tokenizer_fn or tokenizer

    def fit(self, raw_documents: Iterable[str], unused_y: Any = None) -> Self:
        """Gather the vocabulary of some documents, and freeze it."""
        for words in self._tokenizer(raw_documents):
            for word in words:
                self.vocabulary_.add(word)
        if self.min_frequency > 0:
            self.vocabulary_.trim(self.min_frequency)
        self.vocabulary_.freeze()
        return self

    def fit_transform(self, raw_documents: Iterable[str], unused_y: Any = None) -> Iterator[np.ndarray]:
        """`fit`, and the rows of the same documents."""
        self.fit(raw_documents)
        return self.transform(raw_documents)

    def transform(self, raw_documents: Iterable[str]) -> Iterator[np.ndarray]:
        """A row of int64 for each document."""
        for words in self._tokenizer(raw_documents):
            row = np.zeros(self.max_document_length, np.int64)
            numbers = [self.vocabulary_.get(word) for word in list(words)[: self.max_document_length]]
            row[: len(numbers)] = numbers
            yield row

    def reverse(self, documents: Iterable[Iterable[int]]) -> Iterator[str]:
        """The words of each row, with spaces between."""
        for row in documents:
            yield " ".join(self.vocabulary_.reverse(number) for number in row)

    def save(self, filename: str) -> None:
        """Write the processor to a file, as JSON. The tokenizer is not saved.

        ValueError for a vocabulary of a class of your own.
        """
        if not isinstance(self.vocabulary_, CategoricalVocabulary):
            text = f"a vocabulary of {type(self.vocabulary_).__name__} cannot be saved"
            raise misuse(ValueError, text, "use a CategoricalVocabulary")
        content = {
            "format": _FORMAT,
            "max_document_length": self.max_document_length,
            "min_frequency": self.min_frequency,
            "support_reverse": self.vocabulary_._support_reverse,
            "words": self.vocabulary_.words(),
        }
        write_file(filename, [json.dumps(content).encode()])

    @classmethod
    def restore(cls, filename: str) -> Self:
        """The processor in a file, frozen. DataLossError for a file that `save` did not write."""
        try:
            content = read_json(Path(filename).read_bytes())
            words, sizes = content["words"], [content["max_document_length"], content["min_frequency"]]
            if content["format"] != _FORMAT or not all(type(n) is int and 0 <= n < _LONGEST for n in sizes):
                raise ValueError(sizes)
            if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
                raise TypeError(words)
            if not 0 < len(words) == len(set(words)):
                raise ValueError(words)
        except (ValueError, KeyError, TypeError, RecursionError):
            hint = "a pickle that TensorFlow wrote is not read: fit the processor again"
            raise misuse(DataLossError, f"{filename} holds no vocabulary processor", hint) from None
        vocabulary = CategoricalVocabulary(words[0], bool(content.get("support_reverse", True)))
        for word in words[1:]:
            vocabulary.get(word)
        vocabulary.freeze()
        return cls(sizes[0], sizes[1], vocabulary)


class ByteProcessor:
    """Turns documents into rows of their bytes in UTF-8, `max_document_length` of them."""

    def __init__(self, max_document_length: int) -> None:
        self.max_document_length = max_document_length

    def fit(self, x: Any) -> None:
        """Do nothing: bytes need no vocabulary."""

    def fit_transform(self, x: Iterable[str | bytes]) -> Iterator[np.ndarray]:
        """`transform`."""
        return self.transform(x)

    def transform(self, x: Iterable[str | bytes]) -> Iterator[np.ndarray]:
        """A row of uint8 for each document, with zeros at the end of shorter ones."""
        for document in x:
            data = document.encode() if isinstance(document, str) else bytes(document)
            row = np.frombuffer(data[: self.max_document_length], np.uint8)
            yield np.pad(row, (0, self.max_document_length - len(row)))

    def reverse(self, x: Iterable[np.ndarray]) -> Iterator[str]:
        """The text of each row, "" where it is not UTF-8."""
        for row in x:
            data = np.trim_zeros(row.astype(np.uint8), trim="b").tobytes()
            try:
                yield data.decode()
            except UnicodeDecodeError:
                yield ""
