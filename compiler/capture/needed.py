"""Exceptions for what a compile must be told before it can go on, if shapes depend on more than shapes."""

from __future__ import annotations

from staticgraph.compiler.graph.tensor import Operation, Tensor


class StaticFeedNeeded(Exception):
    """A shape or an axis depends on these feeds: their values must be known to the compile."""

    def __init__(self, feeds: list[Tensor]) -> None:
        super().__init__(", ".join(t.name for t in feeds))
        self.feeds = feeds


class VariableTypeNeeded(Exception):
    """The step depends on whether these variables have values, or of what shape: the compile must be told."""

    def __init__(self, variables: list[Operation]) -> None:
        super().__init__(", ".join(op.name for op in variables))
        self.variables = variables


class ValueNeeded(Exception):
    """A shape or an axis depends on these tensors: an earlier stage must compute them, to be fed."""

    def __init__(self, tensors: list[Tensor]) -> None:
        super().__init__(", ".join(t.name for t in tensors))
        self.tensors = tensors


class HostNeeded(Exception):
    """The step needs the value of this host op, which constants alone do not tell."""

    def __init__(self, op: Operation) -> None:
        super().__init__(op.name)
        self.op = op
