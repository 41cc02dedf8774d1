"""Loops and branches of a user's graph in a drawing: each is an area around the operations inside.

A loop carries values from round to round. Each is one box, for the condition and for the body: it starts as
what enters the loop, and an arrow comes back to it from what the body makes of it. What leaves is drawn from
the body to the operation itself, as is what a branch gives.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from staticgraph.compiler.capture.regions import regions_of
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.compiler.graph.tensor import Region as GraphRegion
from staticgraph.draw.model import Flow, Region, Work

Arrow = tuple[Tensor, Operation, Flow, str]  # from, to, what it is, its text or "" for the type


def holds_regions(op: Operation) -> bool:
    """Return True if an operation is a loop or branch."""
    return bool(regions_of(op))


def twin(op: Operation) -> Operation | None:
    """For a param of a loop's condition, that of the body, as which it is drawn."""
    if op.region is None or op.region.owner is None or op.definition.name != "region_parameter":
        return None
    cond, body = op.region.owner.attrs["cond"], op.region.owner.attrs["body"]
    return body.params[cond.params.index(op.outputs[0])].op if op.region is cond else None


def frame(region: GraphRegion) -> tuple[str, Region]:
    """The name of the area of a region in a path, and how it is shown."""
    owner = region.owner
    assert owner is not None, region
    if owner.definition.name == "while_region":
        return f"{owner.name} rounds", Region("while: rounds", Work.ROUNDS, f"the rounds of {owner.name}")
    number = owner.attrs["branches"].index(region)
    two = owner.tensors[0].dtype.is_bool
    title = ("cond: true", "cond: false")[number] if two else f"branch {number}"
    return f"{owner.name} {title}", Region(title, Work.BRANCH, f"{title} of {owner.name}")


def arrows(op: Operation) -> Iterator[Arrow]:
    """The arrows of a loop or branch. What the operations inside capture goes to them."""
    if op.definition.name == "branch_region":
        yield op.tensors[0], op, Flow.DATA, "condition"
        for branch in op.attrs["branches"]:
            for result in branch.results:
                yield result, op, Flow.DATA, ""
        return
    body = op.attrs["body"]
    yield op.attrs["cond"].results[0], op, Flow.DATA, "condition"
    for start, param, result in zip(op.tensors, body.params, body.results, strict=False):
        yield start, param.op, Flow.DATA, ""
        yield result, op, Flow.DATA, ""
        if result is not param:
            yield result, param.op, Flow.NEXT, ""


def start_of(param: Operation) -> Tensor:
    """Return the tensor that is the value of a parameter before the first iteration."""
    assert param.region is not None and param.region.owner is not None, param
    return param.region.owner.tensors[param.region.params.index(param.outputs[0])]


def passes_on(op: Operation) -> bool:
    """Return True if an operation only passes on the result of a loop or branch in the same region."""
    plain = op.definition.name == "identity" and holds_regions(op.tensors[0].op)
    return plain and op.region is op.tensors[0].op.region and not op.controls


def given(operations: Iterable[Operation]) -> set[Operation]:
    """Return the operations whose outputs are results of regions."""
    return {t.op for op in operations for region in regions_of(op) for t in region.results}
