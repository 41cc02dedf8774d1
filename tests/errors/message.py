"""Text of an error, in a form that does not depend on where in a file the test stands.

Every message has the form that is checked here: what is wrong, in lines that fit a terminal; the user's line;
and a cure. What goes on inside of us is no part of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

_SOURCE = re.compile(r"^    (\d+) \| ")
_WIDTH = 100
# What Python says where nobody looked at an argument.
_LEAKS = re.compile(
    r"'NoneType' object|has no attribute|not subscriptable|not callable|unhashable|0x[0-9a-f]{6}"
)


def message(kind: type[Exception], act: Callable[[], object], cure: bool = True) -> str:
    """The whole message of the error that `act` raises, without line numbers."""
    with pytest.raises(kind) as caught:
        act()
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None, (
        "the user sees a second traceback"
    )
    return tidy(str(caught.value), cure)


def tidy(text: str, cure: bool = True) -> str:
    """Without line numbers, and with carets below what they are about.

    `cure=False` is for what only the user can know: why an own function or an assertion fails.
    """
    out, margin = [], 0
    for line in text.splitlines():
        found = _SOURCE.match(line)
        if found:
            margin = found.end()
            line = "    | " + line[margin:]
        elif margin and set(line) == {" ", "^"}:
            line = "    | " + line[margin:]
        else:
            margin = 0
            assert len(line) <= _WIDTH or "/" in line, f"too long for a terminal: {line}"
            assert not _LEAKS.search(line), f"this does not help a user: {line}"
        out.append(re.sub(r"(\.py):\d+", r"\1", line))
    assert any(line.startswith("    | ") for line in out), "the user's line is not told"
    assert "  hint: " in text or not cure, "no cure is told"
    return "\n".join(out) + "\n"
