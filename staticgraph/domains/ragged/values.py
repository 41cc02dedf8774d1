"""Values of ragged tensors: what `run` returns for one, and what is fed for one."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler.graph.errors import misuse


class RaggedTensorValue:
    """Rows that may differ in length, as arrays.

    Args:
        values: The elements of all rows, one after another: an array, or a RaggedTensorValue if rows have
            rows.
        row_splits: Where each row begins, and the end of the last one: an int32 or int64 vector.

    Raises:
        ValueError: If `row_splits` is no vector of integers.

    >>> from staticgraph.domains.ragged.values import RaggedTensorValue
    >>> RaggedTensorValue([1, 2, 3], [0, 1, 1, 3]).to_list()
    [[1], [], [2, 3]]
    """

    def __init__(self, values: Any, row_splits: Any) -> None:
        splits = np.asarray(row_splits)
        if splits.ndim != 1 or splits.size == 0 or splits.dtype not in (np.int32, np.int64):
            raise misuse(ValueError, f"row_splits is {splits!r}, and must be a vector of integers, not empty")
        self._values: Any = values if isinstance(values, RaggedTensorValue) else np.asarray(values)
        self._row_splits = splits

    @property
    def values(self) -> Any:
        """The elements of all rows, one after another."""
        return self._values

    @property
    def row_splits(self) -> np.ndarray:
        """The place at which each row begins, and the end of the last one."""
        return self._row_splits

    @property
    def flat_values(self) -> np.ndarray:
        """The innermost values."""
        flat: np.ndarray = self._values.flat_values if self.ragged_rank > 1 else self._values
        return flat

    @property
    def nested_row_splits(self) -> tuple[np.ndarray, ...]:
        """The splits of all levels, outermost first."""
        inner = self._values.nested_row_splits if isinstance(self._values, RaggedTensorValue) else ()
        return self._row_splits, *inner

    @property
    def ragged_rank(self) -> int:
        """The number of levels of rows."""
        return 1 + (self._values.ragged_rank if isinstance(self._values, RaggedTensorValue) else 0)

    @property
    def dtype(self) -> np.dtype:
        """The dtype of the elements."""
        return self.flat_values.dtype

    @property
    def shape(self) -> tuple[int | None, ...]:
        """The number of rows, None for each axis that is ragged, and the shape of an element."""
        return len(self._row_splits) - 1, None, *self._values.shape[1:]

    def to_list(self) -> list[Any]:
        """The rows as nested lists."""
        inner = self._values
        rows = inner.to_list() if isinstance(inner, RaggedTensorValue) else inner.tolist()
        pairs = zip(self._row_splits[:-1], self._row_splits[1:], strict=True)
        return [rows[start:stop] for start, stop in pairs]

    def __repr__(self) -> str:
        return f"tf.RaggedTensorValue(values={self._values!r}, row_splits={self._row_splits!r})"

    def __str__(self) -> str:
        return f"<tf.RaggedTensorValue {self.to_list()}>"
