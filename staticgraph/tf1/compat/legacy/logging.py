"""`tf.logging`: the standard library's logger called `tensorflow`, which writes to the error stream."""

from __future__ import annotations

import logging
import sys
from collections import Counter
from typing import Any

DEBUG, INFO, WARN = logging.DEBUG, logging.INFO, logging.WARNING
ERROR, FATAL = logging.ERROR, logging.FATAL

_LOGGER = logging.getLogger("tensorflow")
_calls: Counter[tuple[str, int]] = Counter()


class _ErrorStream(logging.StreamHandler):
    """Writes to what `sys.stderr` is at the time, as a test or a notebook may replace it."""

    def emit(self, record: logging.LogRecord) -> None:
        self.stream = sys.stderr
        super().emit(record)


def get_logger() -> logging.Logger:
    """The logger, ready to write: unless the program set up logging itself, with a handler of its own."""
    if not _LOGGER.handlers and not logging.getLogger().handlers:
        handler = _ErrorStream()
        handler.setFormatter(logging.Formatter(logging.BASIC_FORMAT))
        _LOGGER.addHandler(handler)
    return _LOGGER


def set_verbosity(v: int | str) -> None:
    """Show messages of this level and above. Without it, warnings and above."""
    get_logger().setLevel(v)


def get_verbosity() -> int:
    """The level from which messages are shown."""
    return get_logger().getEffectiveLevel()


def log(level: int, msg: Any, *args: Any, **kwargs: Any) -> None:
    """Log `msg % args` at a level."""
    get_logger().log(level, msg, *args, **kwargs)


vlog = log


def debug(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Log at the level DEBUG."""
    get_logger().debug(msg, *args, **kwargs)


def info(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Log at the level INFO."""
    get_logger().info(msg, *args, **kwargs)


def warning(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Log at the level WARN."""
    get_logger().warning(msg, *args, **kwargs)


warn = warning


def error(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Log at the level ERROR."""
    get_logger().error(msg, *args, **kwargs)


def fatal(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Log at the level FATAL. The program goes on."""
    get_logger().critical(msg, *args, **kwargs)


def TaskLevelStatusMessage(msg: Any) -> None:
    """Log at the level ERROR."""
    error(msg)


def flush() -> None:
    """Write out what the handlers hold."""
    for handler in get_logger().handlers:
        handler.flush()


def log_if(level: int, msg: Any, condition: Any, *args: Any) -> None:
    """Log if the condition holds."""
    if condition:
        log(level, msg, *args)


def log_every_n(level: int, msg: Any, n: int, *args: Any) -> None:
    """Log the first of every `n` calls from one line."""
    log_if(level, msg, not (_count() - 1) % n, *args)


def log_first_n(level: int, msg: Any, n: int, *args: Any) -> None:
    """Log the first `n` calls from one line."""
    log_if(level, msg, _count() <= n, *args)


def _count() -> int:
    """Count a call from the line of the caller's caller, and return the number of calls up to now."""
    code = sys._getframe(2)
    line = code.f_code.co_filename, code.f_lineno
    _calls[line] += 1
    return _calls[line]
