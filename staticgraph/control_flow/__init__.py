"""Loops and branches in a graph."""

from staticgraph.control_flow.branches import case, cond, switch_case
from staticgraph.control_flow.loops import while_loop

__all__ = ["case", "cond", "switch_case", "while_loop"]
