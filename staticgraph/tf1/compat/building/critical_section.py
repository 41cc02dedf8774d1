"""`tf.CriticalSection`: a part of a graph that one run at a time carries out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import staticgraph as sg
from staticgraph.building import nest
from staticgraph.compiler.graph.errors import misuse


class CriticalSection:
    """A lock for functions whose operations must not interleave with those of another run.

    A run is all or nothing here: it sees the variables as they are before it, and runs of several threads
    that change them follow one another. So a section has nothing left to lock, and `execute` only calls.

    Args:
        name: The name of the section; `CriticalSection` by default.
        shared_name: The name for sections that are one section; it changes nothing.
        critical_section_def, import_scope: For sections from a file; not supported.

    >>> import staticgraph.compat.tf1 as tf
    >>> count, section = tf.Variable(0), tf.CriticalSection()
    >>> up = section.execute(lambda: count.assign_add(1))
    >>> with tf.Session() as sess:
    ...     sess.run(count.initializer)
    ...     int(sess.run(up))
    1
    """

    def __init__(
        self,
        name: str | None = None,
        shared_name: str | None = None,
        critical_section_def: Any = None,
        import_scope: str | None = None,
    ) -> None:
        if critical_section_def is not None:
            raise misuse(ValueError, "CriticalSection: critical_section_def is not supported", "give a name")
        with sg.name_scope(name, "CriticalSection") as scope:
            self._name = name or shared_name or scope.rstrip("/")
        self._running = False

    @property
    def name(self) -> str:
        """The name of the section."""
        return self._name

    def execute(
        self, fn: Callable[[], Any], exclusive_resource_access: bool = True, name: str | None = None
    ) -> Any:
        """Call `fn`, and return what it returns, each tensor as a new one.

        Args:
            fn: A function without arguments, which returns tensors, nested at will.
            exclusive_resource_access: If no other section may use the same variables. It changes nothing:
                no section waits for another.
            name: The name scope.

        Raises:
            ValueError: If `fn` itself calls `execute` of the same section, or returns None.
        """
        if self._running:
            text = f"the function that {self.name} executes enters {self.name} once more"
            raise misuse(ValueError, text, "a section cannot wait for itself: use two sections")
        with sg.name_scope(name, "critical_section_execute"):
            self._running = True
            try:
                made = fn()
            finally:
                self._running = False
            return nest.map_structure(sg.identity, made)
