"""The sum of the gradients of an accumulator in one session, and the runs that wait for it."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from staticgraph.compiler.graph.errors import CancelledError, InvalidArgumentError
from staticgraph.compiler.graph.shapes import Shape
from staticgraph.compiler.support.forks import brief
from staticgraph.runtime.state.resources import wait, waiting

Parts = tuple[np.ndarray, ...]


class Sum:
    """The sum of gradients, their number, and the global step. A gradient is a tuple of arrays."""

    def __init__(self, label: str, takes_mean: bool, shape: Shape | None) -> None:
        self.label, self.takes_mean, self.shape = label, takes_mean, shape
        self._changed = brief(threading.Condition())
        self._count = self._step = 0
        self._is_closed = False

    def add(self, parts: Parts, step: int) -> None:
        """Add a gradient, unless its step is older than the global one."""
        with self._changed:
            if step >= self._step:
                self._add(parts)
                self._count += 1
                self._changed.notify_all()

    def take(self, required: int) -> Parts:
        """Wait for so many gradients, return their mean or sum, and begin anew with the next step.

        Raises:
            InvalidArgumentError: `required` is not above 0.
            CancelledError: The session was closed.
            DeadlineExceededError: The time that the run was given is over.
        """
        if required < 1:
            raise InvalidArgumentError(f"Argument num_required must be > 0, not {required}")
        with self._changed:
            if self._count >= required:
                return self._taken()
        with waiting(), self._changed:
            while self._count < required:
                if self._is_closed:
                    raise CancelledError(f"{self.label}: take_grad was cancelled, the session is closed")
                wait(self._changed)
            return self._taken()

    def set_step(self, step: int) -> None:
        """Set the global step."""
        with self._changed:
            self._step = step

    def shut(self) -> None:
        """The session is closed: nothing may wait any longer."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def __len__(self) -> int:
        with self._changed:
            return self._count

    def _taken(self) -> Parts:
        found = self._result()
        self._count = 0
        self._step += 1
        return found

    def _add(self, parts: Parts) -> None:
        """Add a gradient to the sum, or begin with it if there is none."""
        raise NotImplementedError

    def _result(self) -> Parts:
        """Return the mean or the sum, and forget it."""
        raise NotImplementedError


class DenseSum(Sum):
    """The sum of arrays."""

    def __init__(self, label: str, takes_mean: bool, shape: Shape | None) -> None:
        super().__init__(label, takes_mean, shape)
        self._total = np.zeros(())

    def _add(self, parts: Parts) -> None:
        (grad,) = parts
        if not self._count:
            self._total = grad.copy()
            return
        if grad.shape != self._total.shape:
            text = f"Shape mismatch: expected {self._total.shape}, got {grad.shape}"
            raise InvalidArgumentError(text, hint="all gradients of one sum have the same shape")
        self._total += grad

    def _result(self) -> Parts:
        if not self.takes_mean:
            return (self._total,)
        return (_divided(self._total, self._count),)


class SparseSum(Sum):
    """The sums of rows by their numbers; the mean of a row is over the gradients that have it."""

    def __init__(self, label: str, takes_mean: bool, shape: Shape | None) -> None:
        super().__init__(label, takes_mean, shape)
        self._rows: dict[int, tuple[np.ndarray, int]] = {}
        self._like = np.zeros((0,))

    def _add(self, parts: Parts) -> None:
        indices, values, _ = parts
        if not self._count:
            self._rows, self._like = {}, values[:0].copy()
        elif values.shape[1:] != self._like.shape[1:]:
            text = f"Shape mismatch: expected rows of {self._like.shape[1:]}, got {values.shape[1:]}"
            raise InvalidArgumentError(text)
        for index, row in _summed(indices, values):
            total, count = self._rows.get(index, (0, 0))
            self._rows[index] = (total + row, count + 1)

    def _result(self) -> Parts:
        places = sorted(self._rows)
        rows = [self._rows[place] for place in places]
        totals = [_divided(total, count) if self.takes_mean else total for total, count in rows]
        values = np.stack(totals).astype(self._like.dtype) if totals else self._like
        first = -1 if not self.shape or self.shape[0] is None else self.shape[0]
        return np.asarray(places, np.int64), values, np.asarray([first, *values.shape[1:]], np.int64)


def _summed(indices: np.ndarray, values: np.ndarray) -> list[tuple[int, Any]]:
    """Return the rows of one gradient, those of the same number added up."""
    places, positions = np.unique(indices, return_inverse=True)
    totals = np.zeros((len(places), *values.shape[1:]), values.dtype)
    np.add.at(totals, positions, values)
    return list(zip(places.tolist(), totals, strict=True))


def _divided(total: Any, count: int) -> Any:
    return total // count if total.dtype.kind in "iu" else total / total.dtype.type(count)
