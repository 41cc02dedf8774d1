"""Memory of what a launch leaves to later ones, so that these need not do it again."""

from __future__ import annotations

from staticgraph.compiler.gpu import kept_sorts
from staticgraph.compiler.gpu.kept_sorts import KeptSorts
from staticgraph.compiler.lower.program import Launch
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.runtime.gpu.graphs.order import Span


@dataclass(frozen=True, slots=True)
class KeptResults:
    """`sorts` of a program, whose results lie from `address` on.

    `done`: an earlier run of the same program has left there what is the same in every run.
    """

    sorts: KeptSorts
    address: int
    done: bool

    def places(self, launch: Launch) -> dict[str, Span]:
        """Return where the scratch memory of a launch is that is kept, by name."""
        found = self.sorts.of.get(id(launch))
        if found is None:
            return {}
        starts = {name: self.address + place for name, (place, _) in found.places.items()}
        return {name: (starts[name], starts[name] + size) for name, (_, size) in found.places.items()}

    def is_there(self, launch: Launch, call: int) -> bool:
        """Return True if the result of a call is there: the launch need not make it."""
        found = self.sorts.of.get(id(launch))
        if found is None or not found.start <= call < found.end:
            return False
        return not found.sorts or (found.once and self.done)


NOTHING = KeptResults(kept_sorts.NOTHING, 0, False)
