"""Exchange of gradients with other processes: a function that optimizers call before they apply gradients.

The scope of a strategy sets it, and so does a server of a cluster; without either, there is none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

Pairs = list[tuple[Any, Any]]
Exchange = Callable[[Pairs], Pairs]

_exchange: ContextVar[Exchange | None] = ContextVar("exchange_of_gradients", default=None)


def present() -> Exchange | None:
    """Return the function that is set here, or None."""
    return _exchange.get()


def set_for_all(exchange: Exchange | None) -> None:
    """Set the function for the rest of the program."""
    _exchange.set(exchange)


@contextmanager
def exchanging(exchange: Exchange | None) -> Iterator[None]:
    """Context in which optimizers call `exchange`, or nothing if it is None."""
    token = _exchange.set(exchange)
    try:
        yield
    finally:
        _exchange.reset(token)


def exchanged(pairs: Pairs) -> Pairs:
    """Return pairs of gradients and variables as optimizers are to apply them."""
    exchange = _exchange.get()
    return pairs if exchange is None else exchange(pairs)
