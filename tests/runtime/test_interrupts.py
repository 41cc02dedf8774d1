"""Ctrl-C at each point of a run, a close and a save at which Python can raise it: the session stays whole."""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

import pytest

import staticgraph as sg

HERE = ("runtime/session.py", "runtime/cached_run.py", "runtime/program_cache.py", "runtime/state/")
HERE = (*HERE, "runtime/cpu/executable.py", "runtime/feeds.py", "runtime/fetches.py")
CHECKS = {"CALL", "CALL_FUNCTION_EX", "JUMP_BACKWARD"}  # CPython looks for signals at the end of these

_names: dict[CodeType, dict[int, str]] = {}


class Interrupt:
    """Context that raises KeyboardInterrupt at the point `number`, and counts points if there are fewer.

    A point is the beginning of a function, and the end of a call of C or of an iteration, in the files HERE.
    The end of a function of Python is none: CPython does not look for signals there. Of the beginning of
    `__exit__`, no code can know.
    """

    def __init__(self, number: int) -> None:
        self.number, self.count, self.raised = number, 0, False
        self._before: dict[FrameType | None, str] = {}

    def __enter__(self) -> Interrupt:
        sys.settrace(self._trace)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        sys.settrace(None)
        self._before.clear()
        return kind is KeyboardInterrupt

    def _trace(self, frame: FrameType, event: str, _: Any) -> Any:
        self._before.pop(frame.f_back, None)  # what it called is a function of Python
        path = frame.f_code.co_filename
        if not any(part in path for part in HERE) or ending(frame):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        if frame.f_code.co_name != "__exit__":
            self._point()
        return self._inside

    def _inside(self, frame: FrameType, event: str, _: Any) -> Any:
        if event == "opcode":
            if self._before.pop(frame, "") in CHECKS:
                self._point()
            self._before[frame] = operation(frame.f_code, frame.f_lasti)
        return self._inside

    def _point(self) -> None:
        self.count += 1
        if self.count == self.number:
            self.raised = True
            raise KeyboardInterrupt


def ending(frame: FrameType | None) -> bool:
    """Return True in the end of an object: CPython only reports what is raised there."""
    while frame is not None and frame.f_code.co_name != "__del__":
        frame = frame.f_back
    return frame is not None


def operation(code: CodeType, offset: int) -> str:
    """The name of the instruction at an offset."""
    if code not in _names:
        _names[code] = {each.offset: each.opname for each in dis.get_instructions(code)}
    return _names[code].get(offset, "")


def swap() -> tuple[Any, list[Any]]:
    """A step that cannot overwrite its variables, since each takes the value of the other."""
    v, w = (sg.get_variable(name, initializer=[1.0, 1.0]) for name in "vw")
    values = [v + 1.0, w + 1.0]
    return sg.group(v.assign(values[1]), w.assign(values[0])), [v, w]


def grow() -> tuple[Any, list[Any]]:
    """A step whose variables change their shapes."""
    variables = [sg.Variable([1.0], validate_shape=False, name=name) for name in "vw"]
    steps = [sg.assign(v, sg.concat([v, v[:1]], 0) + 1.0, validate_shape=False) for v in variables]
    return sg.group(*steps), variables


def add() -> tuple[Any, list[Any]]:
    """A step that overwrites its variables."""
    variables = [sg.get_variable(name, initializer=[1.0, 1.0]) for name in "vw"]
    return sg.group(*(v.assign_add([1.0, 1.0]) for v in variables)), variables


@pytest.mark.compiled
@pytest.mark.takes_long
@pytest.mark.parametrize(
    ("made", "before", "stride"),
    [(swap, 0, 37), (add, 0, 37), (grow, 1, 11), (swap, 1, 1), (add, 1, 1), (swap, 4, 1), (add, 4, 1)],
)
def test_an_interrupted_run_changes_all_variables_or_none(made: Callable[[], Any], before: int, stride: int):
    """At some points of the first run, at all of one that Python does, and of one that machine code does."""
    step, variables = made()
    number, interrupt = 1 - stride, None
    while interrupt is None or interrupt.raised:
        number += stride
        with sg.Session() as sess:
            sess.run(sg.global_variables_initializer())
            for _ in range(before):
                sess.run(step)
            old = [v.tolist() for v in sess.run(variables)]
            with Interrupt(number) as interrupt:
                sess.run(step)
            assert not sess.variables._lock._is_owned(), number
            new = [v.tolist() for v in sess.run(variables)]
            assert [a != b for a, b in zip(old, new, strict=True)] in ([True, True], [False, False]), number
            sess.run(step)
            assert all(v[0] in (2.0 + before, 3.0 + before) for v in sess.run(variables)), number
    assert number > 2


@pytest.mark.compiled
@pytest.mark.takes_long
@pytest.mark.parametrize("work", ["held", "time", "close"])
def test_an_interrupt_leaves_the_lock_as_it_was(work: str):
    step, variables = add()
    number, interrupt = 0, None
    while interrupt is None or interrupt.raised:
        number += 1
        sess = sg.Session()
        sess.run(sg.global_variables_initializer())
        sess.run(step)
        outside = sg.get_default_session(), sg.get_default_graph()
        with Interrupt(number) as interrupt:
            if work == "held":
                with sess.held():
                    sess.run(variables)
            elif work == "time":
                sess.run(step, timeout=100.0)
            else:
                sess.close()
        assert not sess.variables._lock._is_owned(), number
        assert (sg.get_default_session(), sg.get_default_graph()) == outside, number
        sess.close()
        with pytest.raises(sg.errors.FailedPreconditionError, match="closed"):
            sess.run(step)
    assert number > 2


@pytest.mark.compiled
def test_a_with_statement_that_is_interrupted_at_its_end_leaves_the_defaults_as_they_were():
    step, _ = add()
    outside = sg.get_default_session(), sg.get_default_graph()
    number, interrupt = 0, None
    while interrupt is None or interrupt.raised:
        number += 1
        with Interrupt(number) as interrupt:
            sys.settrace(None)
            with sg.Session() as sess:
                sess.run(sg.global_variables_initializer())
                sess.run(step)
                sys.settrace(interrupt._trace)
        assert (sg.get_default_session(), sg.get_default_graph()) == outside, number
        assert not sess.variables._lock._is_owned(), number
        assert not sess._contexts or interrupt.raised
    assert number > 2
