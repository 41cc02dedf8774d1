"""Words and numbers by their places in a vocabulary: the op that looks them up."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from staticgraph.arrays.casts import cast
from staticgraph.building.inputs import constant
from staticgraph.compiler.graph.dtypes import int64, string
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.ops.kinds import host
from staticgraph.compiler.ops.text.string_hashes import fingerprint
from staticgraph.sparse.tensor import SparseTensor


@lru_cache(maxsize=64)
def _places(vocabulary: tuple[Any, ...]) -> dict[Any, int]:
    return {key: place for place, key in enumerate(vocabulary)}


@host(
    tf="LookupTableFindV2",
    dtypes=frozenset({string, int64}),
    type=lambda keys, vocabulary, default, buckets: TensorType(int64, keys.shape),
)
def place_in_vocabulary(keys: Any, vocabulary: Any, *, default: int, buckets: int) -> Any:
    """The place of each key in the vocabulary; for others one of `buckets` after it, or `default`."""
    known = _places(tuple(vocabulary.tolist()))

    def other(key: Any) -> int:
        text = key if isinstance(key, bytes) else str(key).encode()
        return len(known) + fingerprint(text) % buckets if buckets else default

    found = [known[key] if key in known else other(key) for key in keys.reshape(-1).tolist()]
    return np.array(found, np.int64).reshape(keys.shape)


def places(keys: Any, vocabulary: Any, default: int = -1, buckets: int = 0, name: str | None = None) -> Any:
    """The places of the elements of a tensor or `SparseTensor` of strings or integers in a vocabulary."""
    if isinstance(keys, SparseTensor):
        return keys.with_values(places(keys.values, vocabulary, default, buckets, name))
    if keys.dtype is string:
        words = constant(list(vocabulary), string)
    else:
        keys, words = cast(keys, int64), constant([int(word) for word in vocabulary], int64)
    return place_in_vocabulary(keys, words, default=default, buckets=buckets, name=name)
