"""Words as numbers: the bucket that a hash gives each string."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from staticgraph.building.signatures import needed, renamed
from staticgraph.compiler import ops
from staticgraph.compiler.graph.tensor import Tensor


def to_hash_bucket(
    string_tensor: Any = None, num_buckets: int | None = None, name: str | None = None, input: Any = None
) -> Tensor:
    """A number from 0 to `num_buckets - 1` for each string: int64. Same strings have the same number.

    >>> import staticgraph as sg
    >>> with sg.Session() as sess:
    ...     sess.run(sg.strings.to_hash_bucket(["a", "b", "a"], 10)).tolist()
    [8, 0, 8]
    """
    string_tensor = renamed("string_tensor", string_tensor, "input", input)
    needed("to_hash_bucket", string_tensor=string_tensor, num_buckets=num_buckets)
    return ops.string_to_hash_bucket(string_tensor, num_buckets, name)  # type: ignore[arg-type]  # `needed` refuses None


def to_hash_bucket_fast(input: Any, num_buckets: int, name: str | None = None) -> Tensor:
    """As `to_hash_bucket`, by FarmHash's Fingerprint64.

    >>> import staticgraph as sg
    >>> with sg.Session() as sess:
    ...     sess.run(sg.strings.to_hash_bucket_fast(["a", "b", "a"], 10)).tolist()
    [9, 2, 9]
    """
    return ops.string_to_hash_bucket_fast(input, num_buckets=num_buckets, name=name)


def to_hash_bucket_strong(
    input: Any, num_buckets: int, key: Sequence[int], name: str | None = None
) -> Tensor:
    """As `to_hash_bucket`, by SipHash under a key of two 64-bit integers.

    Nobody who has not the key can find strings that all fall into one bucket.

    >>> import staticgraph as sg
    >>> with sg.Session() as sess:
    ...     sess.run(sg.strings.to_hash_bucket_strong(["a", "b", "a"], 10, key=[1, 2])).tolist()
    [6, 4, 6]
    """
    return ops.string_to_hash_bucket_strong(input, num_buckets=num_buckets, key=tuple(key), name=name)
