"""Layered layout: places of boxes and ways of arrows, after Sugiyama, Tagawa and Toda (1981).

The steps, each in a file: arrows are made to point down and boxes get ranks (`ranks`); long arrows become
chains of short ones (`chains`); each rank gets an order in which few arrows cross (`order`); boxes and areas
get coordinates (`places`); arrows get curves (`routes`). Ranks and coordinates are both numbers with least
distances between them, and one linear program finds them (`distances`).
"""

from __future__ import annotations

from staticgraph.compiler.graph.errors import misuse
from staticgraph.draw.layout.model import Layout, Plan
from staticgraph.draw.layout.order import chained, ordered
from staticgraph.draw.layout.places import placed
from staticgraph.draw.layout.ranks import ranked
from staticgraph.draw.layout.routes import routed

__all__ = ["lay_out"]

_MOST = 40_000  # boxes, and ranks that arrows pass: a minute of work


def lay_out(plan: Plan, sideways: bool = False) -> Layout:
    """Return where everything of `plan` is. The same plan gives the same layout, on every machine.

    `sideways` lays it out from left to right; then no areas have titles and no arrows have texts.

    Raises:
        ValueError: There is so much to lay out that it would take many minutes.
    """
    if not plan.nodes:
        return Layout(0, 0, (), (), (), {})
    if sideways:
        from staticgraph.draw.layout.model import turned, turned_plan  # few ask for it

        return turned(lay_out(turned_plan(plan)))
    _check(len(plan.nodes))
    ranks = ranked(plan)
    _check(sum(abs(ranks[arc.source] - ranks[arc.target]) for arc in plan.arcs) + len(plan.nodes))
    chains = chained(plan, ranks)
    places = placed(plan, chains, ordered(chains))
    return routed(plan, chains, places)


def _check(size: int) -> None:
    if size > _MOST:
        what = f"visualize: {size:,} boxes and turns of arrows are too many to be laid out"
        hint = "give max_nodes= or depth= to fold them, or write a .dot file, which has no layout"
        raise misuse(ValueError, what, hint)
