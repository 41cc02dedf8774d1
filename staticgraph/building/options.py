"""`options`: switches chosen for a part of a program."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from staticgraph.compiler.graph.errors import misuse
from staticgraph.runtime.cpu.threads import get_num_threads, set_num_threads
from staticgraph.runtime.switches import SWITCHES, checked, choose


def options(**switches: Any) -> AbstractContextManager[None]:
    """Context in which switches have these values: those of sessions for the sessions that are made in it,
    the others, such as `threads`, for the whole process.

    TypeError for a switch that there is not, TypeError or ValueError for a value that it does not take. The
    page docs/switches.md lists them.

    >>> import staticgraph as sg
    >>> with sg.options(threads=1, math="fast"):
    ...     sg.get_num_threads(), sg.Session().settings.math
    (1, 'fast')
    """
    for name in switches:
        if name not in SWITCHES:
            from staticgraph.compiler.support.nearest import nearest_name  # only for mistakes

            close = nearest_name(name, SWITCHES)
            hint = f"did you mean {close}? All of them are" if close else "all of them are"
            raise misuse(TypeError, f"there is no switch {name!r}", f"{hint} in docs/switches.md")
    return _in_force({name: checked(name, value) for name, value in switches.items()})


@contextmanager
def _in_force(values: Mapping[str, Any]) -> Iterator[None]:
    threads, before = values.get("threads"), get_num_threads()
    restore = choose(**{name: value for name, value in values.items() if name != "threads"})
    if threads is not None:
        set_num_threads(threads)
    try:
        yield
    finally:
        restore()
        if threads is not None:
            set_num_threads(before)
