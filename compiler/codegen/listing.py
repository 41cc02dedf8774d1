"""The code of a kernel as someone looks at it: alike for all devices."""

from __future__ import annotations

from typing import Protocol

from staticgraph.compiler.support.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Listing:
    """A function that a kernel runs, or what it asks of a library. Equal ones have equal names.

    `how`: on a GPU, what kind of function it is, its blocks and the threads of each; else empty.
    """

    name: str
    text: str
    how: str = ""


class LaunchCode(Protocol):
    """The code of one kernel."""

    @property
    def cost(self) -> float | None:
        """The estimated time on one core, in nanoseconds; None if there is no estimate."""

    @property
    def listings(self) -> tuple[Listing, ...]:
        """Functions and library calls that the kernel runs, in order."""
