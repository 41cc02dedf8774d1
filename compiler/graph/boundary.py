"""Errors of Python's own that leave a public function become errors that name the user's line.

A public function looks at its arguments where they are first used, and says what is wrong in its own words.
Of the rest, such as a dict in place of a list, Python says "'dict' object has no attribute ...", in a frame
that is none of the user's. `guarded` wraps a function, so that the user sees the call, its arguments and what
Python said. Calls from inside of this project pass unchanged: what they catch stays what it was.

What functions of the user raise stays as it is, too, and so does an error of the system, such as of a file.
"""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from types import CodeType, FrameType, FunctionType, TracebackType
from typing import Any

from staticgraph.compiler.graph.errors import TOLD, GraphError, OpError, ResourceExhaustedError, misuse, shown
from staticgraph.compiler.graph.provenance import is_ours

# What Python raises, and the class that the user sees instead: one that code for bad arguments catches.
_KINDS: tuple[tuple[type[Exception], type[Exception]], ...] = (
    (TypeError, TypeError),
    (AttributeError, TypeError),
    (NotImplementedError, NotImplementedError),
    (MemoryError, ResourceExhaustedError),
    (ValueError, ValueError),
    (LookupError, ValueError),
    (ArithmeticError, ValueError),
    (AssertionError, ValueError),
    (RecursionError, ValueError),
    (StopIteration, ValueError),
)
CAUGHT: tuple[type[Exception], ...] = tuple(kind for kind, _ in _KINDS)
_MOST_SHOWN = 6  # arguments in a hint
_LIBRARY = os.path.join(os.path.dirname(os.__file__), "")
_SITE = f"{os.sep}site-packages{os.sep}"
_MADE = "_staticgraph_guarded"  # an attribute of functions: what users call in their place


def told(error: BaseException) -> bool:
    """Return True if the message of `error` tells the user's line itself."""
    return isinstance(error, OpError | GraphError) or TOLD in vars(error)


def guarded(value: Any) -> Any:
    """Return a public function as users call it, and any other value as it is. A class gets such methods.

    It takes the place of the function in the module that defines it, by all of its names.
    """
    if isinstance(value, type):
        _guard_methods(value)
        return value
    if not _is_ours(value):
        return value
    made = _made(value)
    if made is None:
        made = _guarded(value, value.__name__)
    home = vars(sys.modules.get(value.__module__, sys))
    home.update(dict.fromkeys([name for name, held in home.items() if held is value], made))
    return made


def _is_ours(value: Any) -> bool:
    return type(value) is FunctionType and is_ours(value.__code__)


def _made(function: FunctionType) -> Any:
    """Return what users call in the place of a function, or None if there is nothing yet."""
    made = getattr(function, _MADE, None)  # of another function, if `wraps` took its attributes over
    return made if made is function or getattr(made, "__wrapped__", None) is function else None


def _guard_methods(owner: type) -> None:
    """Guard the constructor and the public methods of a class of the public package.

    Of a class of the runtime, whose methods are called in each run, the constructor alone; of one of the
    compiler, nothing.
    """
    home = owner.__module__
    if not home.startswith("staticgraph.") or issubclass(owner, BaseException):
        return
    if home.startswith("staticgraph.compiler."):
        return
    constructor_alone = home.startswith("staticgraph.runtime.")
    for name, value in [*vars(owner).items()]:
        if name != "__init__" and (name[0] == "_" or constructor_alone):
            continue
        if _is_ours(value) and _made(value) is None:
            called = owner.__name__ if name == "__init__" else f"{owner.__name__}.{name}"
            setattr(owner, name, _guarded(value, called))


def _guarded(function: FunctionType, name: str) -> Callable[..., Any]:
    @wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except CAUGHT as error:
            if not at_users(error, sys._getframe(1)):
                raise
            raise seen_by_user(error, name, _by_name(function, args, kwargs)) from None

    setattr(called, _MADE, called)
    setattr(function, _MADE, called)
    return called


def at_users(error: BaseException, caller: FrameType) -> bool:
    """Return True if an error of Python's is about to reach a user's frame `caller` as it is.

    It must have arisen below the function that was called, and in no function of the user's.
    """
    return not is_ours(caller.f_code) and arose_below(error)


def arose_below(error: BaseException) -> bool:
    """Return True if an error of Python's arose in a function of ours that was called where it is caught.

    What a function of the user raised is none, and neither is what the caller itself raised.
    """
    if told(error):
        return False
    frames: list[TracebackType] = []
    at = error.__traceback__
    while at is not None:
        frames.append(at)
        at = at.tb_next
    return len(frames) > 1 and all(map(_is_below_user, (frame.tb_frame.f_code for frame in frames)))


def _is_below_user(code: CodeType) -> bool:
    """Return True if code is of this project or of Python's own modules, which the project calls."""
    file = code.co_filename
    return is_ours(code) or file.startswith("<frozen") or (file.startswith(_LIBRARY) and _SITE not in file)


def seen_by_user(error: Exception, name: str, given: Sequence[tuple[str, Any]]) -> Exception:
    """Return the error that the user of a public function sees in place of one of Python's.

    Args:
        error: The error of Python's.
        name: What was called.
        given: The arguments by the names of the parameters.
    """
    kind = next(seen for kind, seen in _KINDS if isinstance(error, kind))
    if isinstance(error, RecursionError):
        said = "they are nested too deeply, or hold themselves"
    else:
        said = " ".join(str(error).split()) or type(error).__name__
        said = said if isinstance(error, TypeError | ValueError) else f"{type(error).__name__}: {said}"
    listed = ", ".join(f"{key}={shown(value, 24)}" for key, value in given[:_MOST_SHOWN])
    hint = (
        f"{name} was given {listed or 'nothing'}; if help() says that it takes these, this is a fault of "
        "ours, and SG_ALL_FRAMES=1 shows where"
    )
    made = misuse(kind, f"{name} cannot take these arguments: {said}", hint)
    return made.with_traceback(error.__traceback__)


def _by_name(
    function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> list[tuple[str, Any]]:
    """The arguments of a call by the names of its parameters; a method is told without its object."""
    try:
        bound = inspect.signature(function).bind(*args, **kwargs).arguments
    except (TypeError, ValueError):
        return [*kwargs.items()]
    return [(key, value) for key, value in bound.items() if key != "self"]
