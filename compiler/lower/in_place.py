"""Results that may be written over what they are made from.

A loop may overwrite an operand of which each element is read only where the same element is stored. A routine
may overwrite an operand that only its first loops read, and in that way: a scatter begins with a copy of its
first operand, and has nothing to copy where it works in that operand's buffer.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence

from staticgraph.compiler.fusion.group import Group, flops
from staticgraph.compiler.graph.function import Node, Value
from staticgraph.compiler.graph.opdef import Kind
from staticgraph.compiler.graph.sizes import estimate, same_shape
from staticgraph.compiler.kernel.expr import Expr, Load, walk
from staticgraph.compiler.kernel.lower_expressions import Nest
from staticgraph.compiler.kernel.stmt import Kernel, expressions, statements
from staticgraph.compiler.lower.kernel_dedup import KernelTable
from staticgraph.compiler.lower.kernels import RowRange, first_store
from staticgraph.compiler.lower.program import Loops
from staticgraph.compiler.machine import CPU

_UNSTOPPABLE = 3e9  # ns of work of one thread that a run may still do when it should stop


def may_overwrite(
    group: Group,
    new: Value,
    old: Value,
    base: Callable[[Value], Value],
    kernels: KernelTable,
) -> bool:
    """Return True if the kernel of `group` may store `new` in the buffer of `old`.

    `base` maps a value, such as a reshape of `old`, to the value whose buffer holds it.
    """
    if old.type != new.type or not (group.is_loops or group.root.op.statements is not None):
        return False
    if _reads_at_its_place(group, old, base):
        return True
    made = kernels.of(group)
    if any(isinstance(v, RowRange) and base(v.value) is old for v in made.values):
        return False
    values = [v for v in made.values if isinstance(v, Value)]
    buffers = [name for name, v in zip(_buffers(made.work), made.values, strict=True) if isinstance(v, Value)]
    names = {name: v for name, v in zip(buffers, values, strict=True) if base(v) is old}
    if isinstance(made.work, Loops):
        written = next(n for n, v in zip(buffers, values, strict=True) if v is new)
        last = any(s.buffer == written for nest in made.work.sums for s in nest.stores)
        after = made.work.sums if last else (*made.work.nests, *made.work.sums)  # sums come after all rows
        return all(_leaves(nest, written, names) for nest in after)
    return all(v is old for v in names.values()) and _is_begun_with(made.work, names)


def _reads_at_its_place(group: Group, old: Value, base: Callable[[Value], Value]) -> bool:
    """Return True if only arithmetic on corresponding elements reads `old`: then no kernel is looked at."""
    if group.rows or group.nests or group.sums or group.root.op.kind is not Kind.ELEMENTWISE:
        return False

    def is_alike(value: Value) -> bool:
        return same_shape(value.shape, old.shape)

    at_place: set[Node] = set()  # of their results, the kernel computes the element that it stores
    stack = [group.root, *group.stored]
    while stack:
        node = stack.pop()
        if node not in at_place and node.op.kind is Kind.ELEMENTWISE and is_alike(node.outputs[0]):
            at_place.add(node)
            stack += [v.node for v in node.inputs if v.node in group.members]
    depends: set[Node] = set()
    for node in group.nodes:
        read = [v for v in node.inputs if v.node in depends or base(v) is old]
        if read and (node not in at_place or not all(map(is_alike, read))):
            return False
        if read:
            depends.add(node)
    return True


def _buffers(work: Loops | Kernel) -> list[str]:
    buffers = work.buffers if isinstance(work, Loops) else work.buffers.items()
    return [name for name, buffer in buffers if not (buffer.local or buffer.shared)]


def _leaves(nest: Nest, written: str, names: Container[str]) -> bool:
    """Return True if stores to `written` do not disturb what `nest` reads in these buffers.

    The nest either leaves the buffers alone, or reads in them only the elements that it stores in `written`.
    """
    at = next((s.at for s in nest.stores if s.buffer == written), None)
    return _reads_its_own([s.value for s in nest.stores], at, names)


def _reads_its_own(values: list[Expr], at: tuple[Expr, ...] | None, names: Container[str]) -> bool:
    """Return True if values read only the element at `at` of these buffers; for None, nothing of them."""
    return all(e.at == at for e in walk(*values) if isinstance(e, Load) and e.buffer in names)


def _is_begun_with(kernel: Kernel, names: Container[str]) -> bool:
    """Return True if the first loops of `kernel` store its whole result, and only they read these buffers."""
    start = first_store(kernel.body)
    later = (e for stmt in statements(kernel.body[1:]) for e in walk(*expressions(stmt)))
    return (
        start is not None
        and not any(isinstance(e, Load) and e.buffer in names for e in later)
        and _reads_its_own([start.value], start.at, names)
    )


def readers_first(
    changes: Mapping[Group, Sequence[Value]], reads: Mapping[Group, Sequence[Value]]
) -> list[Group]:
    """Groups that change variables, each after the others that read them; as given if that is a circle."""
    if len(changes) < 2:
        return [*changes]
    readers: dict[Value, list[Group]] = {}
    for group in changes:
        for value in reads[group]:
            readers.setdefault(value, []).append(group)
    before = {
        g: {r for v in changed for r in readers.get(v, ()) if r is not g} for g, changed in changes.items()
    }
    following: dict[Group, list[Group]] = {g: [] for g in changes}
    for group, earlier in before.items():
        for reader in earlier:
            following[reader].append(group)
    waiting = {g: len(earlier) for g, earlier in before.items()}
    order: dict[Group, None] = {}
    ready = [g for g, count in waiting.items() if not count]
    for group in ready:  # which grows
        order[group] = None
        for next_one in following[group]:
            waiting[next_one] -= 1
            if not waiting[next_one]:
                ready.append(next_one)
    return [*order, *(g for g in changes if g not in order)]


def unstoppable_from(groups: Sequence[Group]) -> int:
    """The last kernel before which a run must be able to stop, or -1: what is left after it is short.

    When a variable is overwritten, the run has to go on to its end.
    """
    left = 0.0
    for number, group in reversed([*enumerate(groups)]):
        outputs = sum(estimate(v.size) * v.dtype.size for v in group.outputs)
        left += flops(group.nodes) / CPU.sustained_flops_per_ns + outputs / CPU.sustained_bytes_per_ns
        if left > _UNSTOPPABLE:
            return number
    return -1
