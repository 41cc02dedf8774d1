"""Weights of arrows: the longest way through a drawing is straight, and what belongs together is near."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import networkx as nx

from staticgraph.draw.model import Box, Flow, Link, Role

SPINE = 20  # times the weight, of arrows of the longest way: where it must bend, it does between scopes


def spine(keys: Iterable[str], links: Iterable[Link]) -> set[tuple[str, str]]:
    """Return the arrows of the longest way through a drawing, which is to be straight.

    Args:
        keys: The boxes in order of construction.
        links: The arrows between them.
    """
    graph = nx.DiGraph()
    order = {key: n for n, key in enumerate(keys)}
    for link in links:
        if link.flow is Flow.DATA and order[link.source] < order[link.target]:
            graph.add_edge(link.source, link.target)
    way = nx.dag_longest_path(graph)
    return {*itertools.pairwise(way)}


def weight(link: Link, source: Box, target: Box) -> int:
    """Return how much an arrow wants to be short and straight.

    Links within a scope weigh most, then other data. Links between scopes that begin
    at a variable weigh least, as do links that are not data.
    """
    if link.flow is not Flow.DATA:
        return 1
    if source.path and source.path == target.path:
        return 8
    return 1 if source.role is Role.VARIABLE else 2
