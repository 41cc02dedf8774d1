"""Reviews of films as numbers of words, and whether they are favourable.

The file that Keras distributes holds pickled lists, which can run code when they are read. It is refused;
files of plain arrays (`x_train`, ..., padded to one length with zeros) are read.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from staticgraph.compiler.support.lazy_names import show_public_names
from staticgraph.tf1.keras.datasets.arrays import read_npz
from staticgraph.tf1.keras.utils.download import get_file

_FOLDER = "https://storage.googleapis.com/tensorflow/tf-keras-datasets/"


def load_data(
    path: str = "imdb.npz",
    num_words: int | None = None,
    skip_top: int = 0,
    maxlen: int | None = None,
    seed: int = 113,
    start_char: int = 1,
    oov_char: int = 2,
    index_from: int = 3,
    **kwargs: Any,
) -> Any:
    """(reviews, favourable or not) for training and for testing; a review is a list of numbers of words.

    Words are numbered by how frequent they are. Those beyond `num_words`, and the `skip_top` most frequent,
    become `oov_char`; reviews begin with `start_char`; those of `maxlen` words or more are left out.
    """
    found = read_npz(get_file(path, _FOLDER + "imdb.npz"), ("x_train", "y_train", "x_test", "y_test"))
    chosen = np.random.RandomState(seed)
    made = []
    for x, y in ((found[0], found[1]), (found[2], found[3])):
        order = chosen.permutation(len(x))
        rows = [[int(word) for word in row if word] for row in x[order]]
        reviews = [[start_char, *(word + index_from for word in row)] for row in rows]
        kept = [(r, t) for r, t in zip(reviews, y[order], strict=True) if maxlen is None or len(r) < maxlen]
        most = num_words or max(max(r) for r, _ in kept) + 1
        words = [[w if skip_top <= w < most else oov_char for w in r] for r, _ in kept]
        made.append((np.array(words + [None], dtype=object)[:-1], np.array([t for _, t in kept])))
    return made[0], made[1]


def get_word_index(path: str = "imdb_word_index.json") -> dict[str, int]:
    """The number of each word."""
    origin, checksum = _FOLDER + "imdb_word_index.json", "bfafd718b763782e994055a2d397834f"
    with open(get_file(path, origin, file_hash=checksum), encoding="utf-8") as file:
        return json.load(file)


show_public_names(__name__)
