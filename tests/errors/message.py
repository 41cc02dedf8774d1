"""What an error says, in a form that does not depend on where in a file the test stands."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

_SOURCE = re.compile(r"^    (\d+) \| ")


def message(kind: type[Exception], act: Callable[[], object]) -> str:
    """The whole message of the error that `act` raises, without line numbers."""
    with pytest.raises(kind) as caught:
        act()
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None, (
        "the user sees a second traceback"
    )
    return tidy(str(caught.value))


def tidy(text: str) -> str:
    """Without line numbers, and with carets below what they are about."""
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
        out.append(re.sub(r"(\.py):\d+", r"\1", line))
    return "\n".join(out) + "\n"
