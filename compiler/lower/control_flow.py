"""Loops and branches of a program: programs inside it, each with a table of addresses of its own.

A round of a loop reads what is carried and writes what the next round carries: in place where a kernel may
overwrite what it reads, else by turns in two places. Loops that share a body share all that is planned.

A body only runs if there is an iteration, so its open sizes have least values:

    for i in 0..n0:  y[i] = x[i]        asks if x has a row 0. In the body it has, so that is no guard.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from staticgraph.compiler.graph.builder import number
from staticgraph.compiler.graph.function import Function, Node, Value
from staticgraph.compiler.graph.size_contexts import (
    Undecided,
    answering,
    assuming,
    assumptions,
    current_answer,
)
from staticgraph.compiler.graph.sizes import AnySize, Size, bounds, is_open, same
from staticgraph.compiler.kernel.stmt import padded
from staticgraph.compiler.lower.buffer_assignment import bytes_of
from staticgraph.compiler.lower.loop_rows import ByRow, LoopRow, by_row
from staticgraph.compiler.lower.program import (
    Branch,
    Carried,
    Constants,
    Inner,
    LoopInstruction,
    Program,
    Ref,
    RowAt,
)
from staticgraph.compiler.support.dataclass import dataclass, replace

Begin = Callable[[Function, int, Mapping[int, int]], Callable[[], Program]]
Keep = Callable[[Constants], Ref]
_ADDRESS = 8  # bytes
_BOTH = 0, 1  # the numbers of two branches


@dataclass(frozen=True, slots=True)
class ControlPlan:
    """The programs of a loop or branch, and how much memory they need while it runs."""

    programs: tuple[Program, ...]
    size: AnySize
    loop: ByRow | None = None
    others: tuple[AnySize | None, ...] = ()  # offsets of the second place of what a loop carries, if any
    spare: AnySize = 0  # that of memory for rows that do not exist
    row: AnySize = 0  # bytes of the longest row


def plans(nodes: Sequence[Node], begin: Begin) -> dict[Node, ControlPlan]:
    """The programs of the Functions of each node.

    All are begun before the first is finished: kernels of several may share code.
    """
    begun: dict[Hashable, Callable[[], ControlPlan]] = {}
    for node in nodes:
        if (key := _key(node)) not in begun:
            begun[key] = _loop_plan(node, begin) if _is_loop(node) else _branch_plan(node, begin)
    made = {key: finish() for key, finish in begun.items()}
    found: dict[Node, ControlPlan] = {}
    for node in nodes:
        plan = made[key := _key(node)]
        if begun.pop(key, None) is None:  # another node has the programs
            plan = replace(plan, programs=tuple(program.again() for program in plan.programs))
        found[node] = plan
    return found


def _is_loop(node: Node) -> bool:
    return node.op.name == "loop"


def _key(node: Node) -> Hashable:
    """Return a value that is the same for nodes with the same programs."""
    if _is_loop(node):
        return *_body(node), _open_bound(node)
    return node.attrs["branches"], _open_choice(node)


def _branch_plan(node: Node, begin: Begin) -> Callable[[], ControlPlan]:
    begun = [begin(each, len(each.results), {}) for each in node.attrs["branches"]]

    def finish() -> ControlPlan:
        programs = tuple(program() for program in begun)
        return ControlPlan(programs, _longest_of(_open_choice(node), list(map(_memory, programs))))

    return finish


def _open_choice(node: Node) -> Size | None:
    """The number of the branch that runs, 0 or 1, if that is an open size."""
    chosen = node.inputs[0].node
    if chosen.op.name != "extents" or len(node.attrs["branches"]) != len(_BOTH):
        return None
    (second,) = chosen.attrs["sizes"]
    return second if isinstance(second, Size) and bounds(second) == _BOTH else None


def _longest_of(second: Size | None, sizes: Sequence[AnySize]) -> AnySize:
    """Return a size for the branch that runs: for no more than that one, if open sizes choose it."""
    if second is None or not is_open(sizes):
        return _longest(sizes)
    return sizes[0] * (1 - second) + sizes[1] * second


def _loop_plan(node: Node, begin: Begin) -> Callable[[], ControlPlan]:
    loop = by_row(node)
    # The condition comes first, then what is carried, by turns argument and result.
    with assuming_one(_open_bound(node)):
        begun = begin(loop.body, 1, {1 + i: i for i in range(len(loop.carried))})

    def finish() -> ControlPlan:
        with assuming_one(_open_bound(node)):
            program = begun()
        size = _memory(program)
        others: list[AnySize | None] = []
        for i, n in enumerate(loop.carried):
            others.append(None if i in program.in_place else size)
            size += 0 if i in program.in_place else padded(bytes_of(node.outputs[n].type))
        rows = [padded(_row_bytes(tensor)) for tensor in _tensors(node, loop)]
        row = _longest(rows)
        return ControlPlan((program,), size + row, loop, tuple(others), size, row)

    return finish


def _body(node: Node) -> tuple[Function, int]:
    return node.attrs["body"], node.attrs["carried"]


def _open_bound(node: Node) -> Size | None:
    """The greatest trip count of a loop, if that is an open size."""
    bound = node.attrs["bound"]
    return bound if isinstance(bound, Size) else None


def _longest(sizes: Iterable[AnySize]) -> AnySize:
    """Return a size that none of these exceeds: the greatest, or the sum if some are open."""
    listed = list(dict.fromkeys(sizes))
    return sum(listed) if is_open(listed) and len(listed) > 1 else max(listed, default=0)


def _memory(program: Program) -> AnySize:
    """Memory of an inner program: its table, its arena, and the condition of a loop."""
    return padded(program.slots * _ADDRESS) + padded(program.arena) + padded(1)


def _tensors(node: Node, loop: ByRow) -> list[Value]:
    """The tensors of the rows that a loop reads, then of those that it writes."""
    captures = node.inputs[1 + node.attrs["carried"] :]
    return [*(captures[r.tensor] for r in loop.reads), *(node.outputs[r.tensor] for r in loop.writes)]


def _row_bytes(tensor: Value) -> AnySize:
    return 0 if same(tensor.shape[0], 0) else math.prod(tensor.shape[1:]) * tensor.dtype.size


def instruction(
    node: Node, plan: ControlPlan, scratch: Ref, place: Callable[[Value], Ref], keep: Keep
) -> LoopInstruction | Branch:
    """The instruction that runs a plan. `place` tells where values are, `keep` puts constants somewhere."""
    inners = [_inner(program, scratch, keep) for program in plan.programs]
    inputs = [None if v.node.op.name == "unset" else place(v) for v in node.inputs]
    outputs = [place(v) for v in node.outputs]
    if plan.loop is None:
        given = tuple(ref for ref in inputs if ref is not None)
        return Branch(given[0], given[1:], tuple(outputs), tuple(inners), node)
    return _loop(node, plan, plan.loop, scratch, inners[0], inputs, outputs)


def _loop(
    node: Node,
    plan: ControlPlan,
    loop: ByRow,
    scratch: Ref,
    body: Inner,
    inputs: Sequence[Ref | None],
    outputs: Sequence[Ref],
) -> LoopInstruction:
    pred = inputs[0]
    assert pred is not None, node
    end = 1 + node.attrs["carried"]
    captures = inputs[end:]

    def at(offset: AnySize) -> Ref:
        return Ref(scratch.slot, scratch.offset + offset)

    carried = tuple(
        Carried(
            inputs[1 + n],
            outputs[n],
            None if other is None else at(other),
            bytes_of(node.outputs[n].type),
            _counts(node, n),
        )
        for n, other in zip(loop.carried, plan.others, strict=True)
    )
    whole = tuple(
        Carried(inputs[1 + row.tensor], outputs[row.tensor], None, bytes_of(node.outputs[row.tensor].type))
        for row in loop.writes
    )
    bases = [*(captures[r.tensor] for r in loop.reads), *(outputs[r.tensor] for r in loop.writes)]
    rows = tuple(
        _row(node, loop, row, base, tensor)
        for row, base, tensor in zip((*loop.reads, *loop.writes), bases, _tensors(node, loop), strict=True)
    )
    given = tuple(ref for n in loop.captured if (ref := captures[n]) is not None)
    return LoopInstruction(
        pred,
        carried,
        given,
        whole,
        rows[: len(loop.reads)],
        rows[len(loop.reads) :],
        at(plan.spare),
        plan.row,
        body,
        node,
    )


def _counts(node: Node, n: int) -> tuple[int, int] | None:
    """Return start and step of the carried value `n` of a loop, or None if it is no integer that counts."""
    param, made, first = node.attrs["body"].params[n], node.attrs["body"].results[1 + n], node.inputs[1 + n]
    start = number(first) if first.dtype.is_integer and first.rank == 0 else None
    if start is None or made.node.op.name not in ("add", "subtract"):
        return None
    left, right = made.node.inputs
    sign = 1 if made.node.op.name == "add" else -1
    step = number(right) if left is param else number(left) if right is param and sign == 1 else None
    return None if step is None else (int(start), sign * int(step))


def _row(node: Node, loop: ByRow, row: LoopRow, base: Ref | None, tensor: Value) -> RowAt:
    assert base is not None, node
    counter = node.outputs[row.counter]
    return RowAt(
        base,
        loop.carried.index(row.counter),
        counter.dtype.size,
        row.offset,
        tensor.shape[0],
        _row_bytes(tensor),
    )


def _inner(program: Program, table: Ref, keep: Keep) -> Inner:
    arena = Ref(table.slot, table.offset + padded(program.slots * _ADDRESS))
    pred = Ref(arena.slot, arena.offset + padded(program.arena))
    return Inner(program, table, arena, keep(program.constants), pred)


@contextmanager
def assuming_one(size: AnySize | None) -> Iterator[None]:
    """Answer comparisons inside the `with` that follow from a size being at least 1, and others as around it.

    Args:
        size: An open size; nothing follows from None, or from a number.
    """
    if not isinstance(size, Size):
        yield
        return
    outer, rest = current_answer(), size - 1

    def answer(question: Undecided) -> bool:
        if question.comparison is not None and question.comparison[1] == ">=":
            apart = question.comparison[0]
            if bounds(apart - rest)[0] >= 0:
                return True
            if bounds(-1 - apart - rest)[0] >= 0:
                return False
        if outer is None:
            raise question
        return outer(question)

    with assuming((*assumptions(), size)), answering(answer):
        yield
