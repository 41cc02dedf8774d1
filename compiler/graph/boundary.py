"""Errors of Python's own that leave an operation become errors that name the user's line.

An operation looks at its arguments where they are first used, and says what is wrong in its own words. Of the
rest, such as a dict in place of a list, Python says "'dict' object has no attribute ...", in a frame that is
none of the user's. Then the user sees the call, its arguments and what Python said. So it is where the name
scope of a function of several operations ends. Calls from inside of this project pass unchanged: what they
catch stays what it was.

What functions of the user raise stays as it is, too, and so does an error of the system, such as of a file.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Sequence
from types import CodeType, FrameType
from typing import Any

from staticgraph.compiler.graph.errors import ResourceExhaustedError, misuse, shown, told
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
# What leaves a function of several operations as another error; what is looked up may be missed on purpose.
_TELLABLE = (TypeError, AttributeError, ValueError, RecursionError, ArithmeticError)
_MOST_SHOWN = 6  # arguments in a hint
_LIBRARY = os.path.join(os.path.dirname(os.__file__), "")
_SITE = f"{os.sep}site-packages{os.sep}"


def at_users(error: BaseException, caller: FrameType) -> bool:
    """Return True if an error of Python's is about to reach a user's frame `caller` as it is.

    It must have arisen below the function that was called, and in no function of the user's.
    """
    return not is_ours(caller.f_code) and arose_below(error)


def tell_user(error: BaseException | None, frame: FrameType) -> None:
    """Raise what the user of a function sees in place of one of Python's errors that leaves the function.

    Functions that are made of several operations call this where their name scope ends. An error that leaves
    a function which this project itself has called stays as it is, and so does one that says enough.

    Args:
        error: The error, or None if there is none.
        frame: The frame of the function.
    """
    if not isinstance(error, _TELLABLE) or not is_ours(frame.f_code) or not _called_by_user(frame):
        return
    if told(error) or not all(map(_is_below_user, _codes(error))):
        return
    code = frame.f_code
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    given = [(name, frame.f_locals[name]) for name in names if name in frame.f_locals and name != "self"]
    name = code.co_qualname.rpartition("<locals>.")[2].removesuffix(".__init__")
    raise seen_by_user(error, name, given) from None


def _called_by_user(frame: FrameType) -> bool:
    """Return True if the caller is a user's, not counting decorators, which take whatever they are given."""
    anything = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
    caller = frame.f_back
    while caller is not None and is_ours(caller.f_code) and caller.f_code.co_flags & anything == anything:
        caller = caller.f_back
    return caller is not None and not is_ours(caller.f_code)


def _codes(error: BaseException) -> list[CodeType]:
    """The functions through which an error has come."""
    codes, at = [], error.__traceback__
    while at is not None:
        codes.append(at.tb_frame.f_code)
        at = at.tb_next
    return codes


def arose_below(error: BaseException) -> bool:
    """Return True if an error of Python's arose in a function of ours that was called where it is caught.

    What a function of the user raised is none, and neither is what the caller itself raised.
    """
    if told(error):
        return False
    codes = _codes(error)
    return len(codes) > 1 and all(map(_is_below_user, codes))


def _is_below_user(code: CodeType) -> bool:
    """Return True if code is of this project or of Python's own modules, which the project calls."""
    file = code.co_filename
    return is_ours(code) or file.startswith("<frozen") or (file.startswith(_LIBRARY) and _SITE not in file)


def seen_by_user(error: Exception, name: str, given: Sequence[tuple[str, Any]]) -> Exception:
    """Return the error that the user of an operation sees in place of one of Python's.

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
