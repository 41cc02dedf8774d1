"""Text of a replay: a table of its ops, the op that failed with its inputs, and the op where NaN began."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from staticgraph.runtime.debug.replay import Numbers, Replay, Row, numbers
from staticgraph.runtime.reports.table import table

_HEAD = ("", "op", "name", "line", "value", "min", "mean", "max", "NaN", "Inf", "times", "round")
_LEFT = (0, 1, 2, 3, 4)
_SPARE = (11, 6)  # in a narrow terminal
_SHOWN = 64  # elements of an array


def rows_text(replay: Replay, rows: Sequence[Row], width: int | None = None) -> str:
    """A table of some rows."""
    lines = [line for row in rows for line in _lines(replay, row)]
    again = any(row.times > 1 for row in rows)
    rounds = any(row.round for row in rows)
    kept = [n for n in range(len(_HEAD)) if (n != 10 or again) and (n != 11 or rounds)]
    spare = [kept.index(n) for n in _SPARE if n in kept]
    shown = ([line[n] for n in kept] for line in lines)
    return table([_HEAD[n] for n in kept], shown, left=_LEFT, width=width, spare=spare)


def _lines(replay: Replay, row: Row) -> Iterator[tuple[str, ...]]:
    """A line for each output of an op, and one for an op without any."""
    mark = ">" if row is replay.failed else "!" if row is replay.source else ""
    line = row.where.short if row.where is not None else ""
    end = (str(row.times or ""), ".".join(map(str, row.round)))
    head = (mark, row.op, row.name, line)
    if not row.outputs:
        what = "fails" if row is replay.failed else ""
        yield (*head, what, *[""] * 5, *end)
    for number, array in enumerate(row.outputs):
        yield (*(head if not number else [""] * 4), type_text(array), *cells(numbers(array)), *end)


def type_text(array: np.ndarray) -> str:
    """The type of a value, such as float32[4, 2]."""
    name = {"O": "string", "V": "bfloat16"}.get(array.dtype.kind, array.dtype.name)
    return f"{name}{list(array.shape)}"


def cells(found: Numbers | None) -> tuple[str, ...]:
    """Least, mean, greatest, how many NaN and Inf; empty if there are none."""
    if found is None:
        return ("",) * 5
    amounts = ("" if n is None else f"{n:.4g}" for n in (found.least, found.mean, found.greatest))
    return (*amounts, *(str(n or "") for n in (found.nans, found.infinities)))


def values_text(row: Row) -> str:
    """The arrays that an op was given and made, of long ones the ends."""
    shown = [*zip(row.input_names, row.inputs, strict=False), *((row.label, a) for a in row.outputs)]
    return "\n".join(f"{name} {type_text(array)}\n{_indented(array_text(array))}" for name, array in shown)


def array_text(array: np.ndarray) -> str:
    """An array, of a long one the ends."""
    return np.array2string(np.asarray(array), threshold=_SHOWN, edgeitems=3, max_line_width=96)


def ending(replay: Replay, path: str) -> str:
    """Describe how the run ended, and say if it ended as it did when the crash dump was written."""
    return "\n\n".join(_ending(replay, path))


def _ending(replay: Replay, path: str) -> Iterator[str]:
    failure = replay.failure
    if replay.source is not None and replay.source is replay.failed:
        yield _about(replay.source, "NaN or Inf begins, and the run fails, in")
    else:
        if replay.source is not None:
            yield _about(replay.source, "NaN or Inf begins in")
        if replay.failed is not None:
            yield _about(replay.failed, "fails in")
    if failure.run.left_out:
        names = ", ".join(failure.run.left_out)
        yield f"not in the file, because no file can hold it: {names}\nwhat it would have been given is above"
    if replay.stopped:
        yield "stopped, as asked"
    elif replay.reproduced:
        yield f"{failure.error}: {failure.message}"
        yield "the run fails as it did"
    elif replay.error is None:
        yield f"it was {failure.error}: {failure.message}"
        yield (
            "the run does not fail when its ops are performed one by one; if it should, compiled code\n"
            f"may be at fault: python -m staticgraph bisect {path}"
        )
    else:
        yield f"it was {failure.error}: {failure.message}"
        yield f"it is {type(replay.error).__name__}: {replay.error}"
        yield "the run fails in another way than it did"


def _about(row: Row, what: str) -> str:
    """An op and what it was given."""
    place = f", {row.where.short}" if row.where is not None else ""
    name = f" ({row.name})" if row.name else ""
    rounds = "".join(f", round {number} of a loop" for number in row.round)
    return "\n".join([f"{what} {row.op}{name}{place}{rounds}", *_inputs(row)])


def _inputs(row: Row) -> Iterable[str]:
    head = ("given", "value", "min", "mean", "max", "NaN", "Inf")
    lines = [
        (name, type_text(array), *cells(numbers(array)))
        for name, array in zip(row.input_names, row.inputs, strict=False)
    ]
    return _indented(table(head, lines, left=(0, 1))).splitlines() if lines else []


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())


def as_dict(replay: Replay, rows: Iterable[Row]) -> dict[str, Any]:
    """The same as dicts, lists, texts and numbers, as for JSON."""
    failure = replay.failure
    return {
        "reproduced": replay.reproduced,
        "stopped": replay.stopped,
        "expected": {"class": failure.error, "message": failure.message, "operation": failure.operation},
        "error": None
        if replay.error is None
        else {"class": type(replay.error).__name__, "message": str(replay.error)},
        "failed": _row_dict(replay.failed),
        "source": _row_dict(replay.source),
        "left_out": list(failure.run.left_out),
        "versions": dict(failure.versions),
        "rows": [_row_dict(row) for row in rows],
    }


def _row_dict(row: Row | None) -> dict[str, Any] | None:
    if row is None:
        return None
    place = None if row.where is None else row.where.short
    given = zip(row.input_names, row.inputs, strict=False)
    return {
        "op": row.op,
        "name": row.name,
        "line": place,
        "times": row.times,
        "round": list(row.round),
        "inputs": [{"name": name, **_array_dict(array)} for name, array in given],
        "outputs": [_array_dict(array) for array in row.outputs],
    }


def _array_dict(array: np.ndarray) -> dict[str, Any]:
    found = numbers(array)
    told: dict[str, Any] = {"dtype": type_text(array).partition("[")[0], "shape": list(array.shape)}
    if found is not None:
        told |= {
            "min": found.least,
            "mean": found.mean,
            "max": found.greatest,
            "nan": found.nans,
            "inf": found.infinities,
        }
    return told
