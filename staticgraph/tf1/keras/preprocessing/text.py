"""Texts as numbers of words (TF1's `tf.keras.preprocessing.text`)."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from staticgraph.compiler.graph.boundary import CAUGHT
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.support.lazy_names import show_public_names
from staticgraph.runtime.files.attributes import read_json

__all__ = ["Tokenizer", "hashing_trick", "one_hot", "text_to_word_sequence", "tokenizer_from_json"]

_FILTERS = '!"#$%&()*+,-./:;<=>?@[\\]^_`{|}~\t\n'


def text_to_word_sequence(
    text: str, filters: str = _FILTERS, lower: bool = True, split: str = " "
) -> list[str]:
    """The words of a text, without the characters in `filters`.

    >>> import staticgraph as sg
    >>> sg.keras.preprocessing.text.text_to_word_sequence("Hello, old World!")
    ['hello', 'old', 'world']
    """
    text = text.lower() if lower else text
    kept = text.translate(dict.fromkeys(map(ord, filters), split))
    return [word for word in kept.split(split) if word]


def one_hot(text: str, n: int, filters: str = _FILTERS, lower: bool = True, split: str = " ") -> list[int]:
    """A number below `n` for each word, by Python's hash, which differs from process to process."""
    return hashing_trick(text, n, hash, filters, lower, split)


def hashing_trick(
    text: str,
    n: int,
    hash_function: Any = None,
    filters: str = _FILTERS,
    lower: bool = True,
    split: str = " ",
) -> list[int]:
    """A number from 1 to `n - 1` for each word, by a hash function: Python's, "md5", or your own."""
    function: Callable[[str], int] = hash if hash_function is None else hash_function
    if hash_function == "md5":

        def function(word: str) -> int:
            return int(hashlib.md5(word.encode(), usedforsecurity=False).hexdigest(), 16)

    words = text_to_word_sequence(text, filters, lower, split)
    return [function(word) % (n - 1) + 1 for word in words]


class Tokenizer:
    """Numbers for words by how frequent they are, from one on; 0 is no word.

    `num_words`: only that many, less one, of the most frequent words are used. `oov_token` stands for words
    that are not, and has the number 1. `char_level` takes characters for words.

    >>> import staticgraph as sg
    >>> tokenizer = sg.keras.preprocessing.text.Tokenizer()
    >>> tokenizer.fit_on_texts(["the cat", "the dog"])
    >>> tokenizer.texts_to_sequences(["the dog", "a cat"])
    [[1, 3], [2]]
    """

    def __init__(
        self,
        num_words: int | None = None,
        filters: str = _FILTERS,
        lower: bool = True,
        split: str = " ",
        char_level: bool = False,
        oov_token: str | None = None,
        document_count: int = 0,
        **kwargs: Any,
    ) -> None:
        if kwargs:
            raise misuse(TypeError, f"Tokenizer() got an unknown argument {sorted(kwargs)[0]!r}")
        self.num_words, self.filters, self.lower, self.split = num_words, filters, lower, split
        self.char_level, self.oov_token, self.document_count = char_level, oov_token, document_count
        self.word_counts: dict[str, int] = {}
        self.word_docs: dict[str, int] = {}
        self.index_docs: dict[int, int] = {}
        self.word_index: dict[str, int] = {}
        self.index_word: dict[int, str] = {}

    def _words(self, text: Any) -> list[str]:
        if self.char_level or isinstance(text, list):
            if not self.lower:
                return list(text)
            return [w.lower() for w in text]
        return text_to_word_sequence(text, self.filters, self.lower, self.split)

    def fit_on_texts(self, texts: Iterable[Any]) -> None:
        """Count the words of texts, or of lists of words, and number them."""
        for text in texts:
            self.document_count += 1
            words = self._words(text)
            for word in words:
                self.word_counts[word] = self.word_counts.get(word, 0) + 1
            for word in set(words):
                self.word_docs[word] = self.word_docs.get(word, 0) + 1
        ranked = sorted(self.word_counts, key=self.word_counts.__getitem__, reverse=True)
        ordered = ranked if self.oov_token is None else [self.oov_token, *ranked]
        self.word_index = {word: i for i, word in enumerate(ordered, 1)}
        self.index_word = {i: word for word, i in self.word_index.items()}
        self.index_docs = {self.word_index[word]: n for word, n in self.word_docs.items()}

    def fit_on_sequences(self, sequences: Iterable[Iterable[int]]) -> None:
        """Count in how many sequences each number occurs, for `sequences_to_matrix(mode="tfidf")`."""
        for sequence in sequences:
            self.document_count += 1
            for number in set(sequence):
                self.index_docs[number] = self.index_docs.get(number, 0) + 1

    def texts_to_sequences(self, texts: Iterable[Any]) -> list[list[int]]:
        """The numbers of the words of each text."""
        return list(self.texts_to_sequences_generator(texts))

    def texts_to_sequences_generator(self, texts: Iterable[Any]) -> Iterator[list[int]]:
        """The same, one text after the other."""
        unknown = self.word_index.get(self.oov_token) if self.oov_token is not None else None
        for text in texts:
            found = (self.word_index.get(word) for word in self._words(text))
            known = (
                i if i is not None and (not self.num_words or i < self.num_words) else unknown for i in found
            )
            yield [i for i in known if i is not None]

    def sequences_to_texts(self, sequences: Iterable[Iterable[int]]) -> list[str]:
        """The words of each sequence of numbers, with spaces between them."""
        return list(self.sequences_to_texts_generator(sequences))

    def sequences_to_texts_generator(self, sequences: Iterable[Iterable[int]]) -> Iterator[str]:
        """The same, one sequence after the other."""
        for sequence in sequences:
            kept = (i if not self.num_words or i < self.num_words else None for i in sequence)
            words = (
                self.index_word.get(i, self.oov_token) if i is not None else self.oov_token for i in kept
            )
            yield " ".join(word for word in words if word is not None)

    def texts_to_matrix(self, texts: Iterable[Any], mode: str = "binary") -> np.ndarray:
        """A row per text, a column per word: see `sequences_to_matrix`."""
        return self.sequences_to_matrix(self.texts_to_sequences(texts), mode)

    def sequences_to_matrix(self, sequences: Any, mode: str = "binary") -> np.ndarray:
        """A row per sequence, a column per word. `mode`: "binary", "count", "freq" or "tfidf"."""
        if mode not in ("binary", "count", "freq", "tfidf"):
            raise misuse(ValueError, f"mode={mode!r} is not binary, count, freq or tfidf")
        if not self.num_words and not self.word_index:
            raise misuse(ValueError, "give num_words, or fit the tokenizer on texts first")
        columns = self.num_words or len(self.word_index) + 1
        matrix = np.zeros((len(sequences), columns))
        for row, sequence in zip(matrix, sequences, strict=True):
            kept = [i for i in sequence if i < columns]
            for number, count in Counter(kept).items():
                row[number] = self._weight(number, count, len(sequence), mode)
        return matrix

    def _weight(self, number: int, count: int, length: int, mode: str) -> float:
        match mode:
            case "count":
                return count
            case "freq":
                return count / length
            case "tfidf":
                rarity = np.log(1 + self.document_count / (1 + self.index_docs.get(number, 0)))
                return (1 + np.log(count)) * rarity
        return 1

    def get_config(self) -> dict[str, Any]:
        """Settings and counts, the latter as JSON."""
        plain = ("num_words", "filters", "lower", "split", "char_level", "oov_token", "document_count")
        counts = ("word_counts", "word_docs", "index_docs", "index_word", "word_index")
        return {
            **{name: getattr(self, name) for name in plain},
            **{name: json.dumps(getattr(self, name)) for name in counts},
        }

    def to_json(self, **kwargs: Any) -> str:
        """The tokenizer as JSON: see `tokenizer_from_json`."""
        return json.dumps({"class_name": type(self).__name__, "config": self.get_config()}, **kwargs)


def tokenizer_from_json(json_string: str) -> Tokenizer:
    """Return the tokenizer of `Tokenizer.to_json`. ValueError for a text that is none of such."""
    try:
        config = read_json(json_string)["config"]
        by_word = {name: _table(config.pop(name)) for name in ("word_counts", "word_docs", "word_index")}
        by_number = {name: _table(config.pop(name)) for name in ("index_docs", "index_word")}
        for name, value in config.items():
            if type(value) not in _KINDS[name]:
                raise TypeError(f"{name} is {value!r}")
        tokenizer = Tokenizer(**config)
        vars(tokenizer).update(by_word)
        for name, found in by_number.items():
            setattr(tokenizer, name, {int(key): value for key, value in found.items()})
    except CAUGHT as error:
        raise _no_tokenizer(f"{type(error).__name__}: {error}") from None
    wrong = [name for name, is_right in _checks(tokenizer).items() if not is_right]
    if wrong:
        raise _no_tokenizer(f"{wrong[0]} holds values of another kind")
    return tokenizer


# The kinds of the settings in a text.
_KINDS = {
    "num_words": (int, type(None)), "filters": (str,), "lower": (bool,), "split": (str,),
    "char_level": (bool,), "oov_token": (str, type(None)), "document_count": (int,),
}  # fmt: skip


def _table(text: str) -> dict[str, Any]:
    """Return the entries of a table that is written as JSON inside of JSON."""
    found = read_json(text)
    if not isinstance(found, dict):
        raise TypeError(f"{found!r} is no table")
    return found


def _checks(tokenizer: Tokenizer) -> dict[str, bool]:
    """Return if each part of a tokenizer is of the kind that it must be."""

    def are_counts(table: dict[Any, Any]) -> bool:
        return all(type(count) is int and count >= 0 for count in table.values())

    numbers = (*tokenizer.word_index.values(), *tokenizer.index_word, *tokenizer.index_docs)
    return {
        "num_words": tokenizer.num_words is None or tokenizer.num_words >= 0,
        "split": bool(tokenizer.split),
        "document_count": tokenizer.document_count >= 0,
        "word_counts": are_counts(tokenizer.word_counts),
        "word_docs": are_counts(tokenizer.word_docs),
        "index_docs": are_counts(tokenizer.index_docs),
        "word_index": all(type(number) is int and number > 0 for number in numbers),
        "index_word": all(isinstance(word, str) for word in tokenizer.index_word.values()),
    }


def _no_tokenizer(why: str) -> Exception:
    text = f"no tokenizer is described by this text: {why}"
    return misuse(ValueError, text, "give the text of Tokenizer.to_json()")


show_public_names(__name__)
