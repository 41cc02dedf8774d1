"""Programs that a session compiled for what a page shows: their open sizes, their guards, and why each is."""

from __future__ import annotations

from typing import Any

from staticgraph.runtime.fetches import Fetches


def programs_of(fetches: Fetches | None, session: Any) -> list[dict[str, Any]]:
    """Return the programs of these fetches, oldest first; those of all runs for a whole graph.

    Args:
        fetches: What the page shows; None for a whole graph.
        session: The session, or None.

    Returns:
        For each program why it was compiled and at which line, where its symbols are, its guards, and the
        guard that failed in the older programs.
    """
    if session is None:
        return []
    return [
        {
            "what": each.what,
            "why": each.why,
            "place": "" if each.where is None else each.where.short,
            "symbols": each.symbols.split(", ") if each.symbols else [],
            "guards": list(each.guards),
            "failed": each.failed,
        }
        for each in session.compiles
        if fetches is None or each.what == fetches.text
    ]
