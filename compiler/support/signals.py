"""Exceptions of signal handlers: they come anywhere, and are no errors of what was going on."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from functools import partial
from types import CodeType
from typing import Any


def from_handler(error: BaseException) -> bool:
    """Return True if a handler of a signal raised an exception, and the code that it interrupted did not."""
    codes = set(_handlers())
    at = error.__traceback__
    while at is not None and at.tb_frame.f_code not in codes:
        at = at.tb_next
    return at is not None


def _handlers() -> Iterator[CodeType]:
    """The code of the functions that handle signals now."""
    for number in signal.valid_signals():
        handler: Any = signal.getsignal(number)
        while isinstance(handler, partial):
            handler = handler.func
        handler = getattr(handler, "__func__", handler)
        code = getattr(handler, "__code__", None) or getattr(type(handler).__call__, "__code__", None)
        if code is not None:
            yield code
