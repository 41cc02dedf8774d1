"""Function of fused groups -> Program: an order, a place
for every value, and what each kernel reads and writes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from staticgraph.compiler import stages
from staticgraph.compiler.fusion.fuse import fuse
from staticgraph.compiler.fusion.group import (
    Fusion,
    Group,
    flops,
    has_product,
    is_alias,
    is_collective,
    is_control,
    is_host,
    is_whole,
)
from staticgraph.compiler.graph.builder import has_sizes
from staticgraph.compiler.graph.function import Function, Value
from staticgraph.compiler.graph.size_contexts import Undecided
from staticgraph.compiler.graph.sizes import AnySize, estimate, is_open
from staticgraph.compiler.lower.buffer_assignment import (
    Candidate,
    Stored,
    fullest,
    lifetimes,
    plan_arena,
    plan_open,
)
from staticgraph.compiler.lower.kernel_dedup import KernelTable
from staticgraph.compiler.lower.kernels import GroupKernel, RowRange
from staticgraph.compiler.lower.program import (
    ARENA,
    ARGUMENTS,
    CONSTANTS,
    ConstantPool,
    Constants,
    Copy,
    HostCall,
    Instruction,
    Launch,
    OpenPlace,
    Program,
    Ref,
    Require,
    Workspace,
    may_stop,
)

if TYPE_CHECKING:
    from staticgraph.compiler.lower.control_flow import ControlPlan

LARGE_ARENA = 1 << 26  # bytes, of all values: with fewer it matters little how long they are kept
_BYTES_PER_FLOP = 1 / 256  # that may be moved more: about a hundredth of the time, on processors of today


def lower(
    fusion: Fusion,
    fetches: int,
    updates: Mapping[int, int],
    arena_limit: int | None = None,
    may_stop: bool = True,
    fuse: Callable[[Function], Fusion] = fuse,
    kernels: KernelTable | None = None,
    checked: bool = False,
) -> Program:
    """The program of a fused Function; `fuse` does the same for those in its loops and branches.

    `fetches`: how many of its results are fetched; the others are new values of variables. `updates`: for a
    result that is the new value of a variable, the argument that holds the old one. With `arena_limit`, in
    bytes, some kernels run twice so that less has to be kept, as far as that helps. `may_stop`: where a run
    ends early, variables must be as they were. `kernels` has those that are built already. `checked`: the
    last result is a truth value without which the run ends, before any variable is overwritten.
    """
    lowering = _Lowering(fusion, fetches, updates, may_stop, fuse, kernels or KernelTable(), checked)
    groups = lowering.groups
    if arena_limit is not None:
        lowering.limit_arena(arena_limit)
    else:
        lowering.spare_arena()
    stages.report("rematerialize", groups, lowering.groups)
    program = lowering.program()
    stages.report("program", fusion, program)
    return program


def _asks_sizes(function: Function) -> bool:
    """Return True if code for a Function may ask for open sizes: of values, or as numbers of nodes."""
    values = [*function.params]
    attributes: list[Any] = []
    for node in function.nodes:
        values += node.outputs
        attributes += node.attrs.values()
    sizes = [n for v in values for n in v.type.shape or ()]
    return is_open(sizes) or any(map(has_sizes, attributes))


class _Lowering:
    def __init__(
        self,
        fusion: Fusion,
        fetches: int,
        updates: Mapping[int, int],
        may_stop: bool,
        fuse: Callable[[Function], Fusion],
        kernels: KernelTable,
        checked: bool,
    ) -> None:
        self.function = fusion.function
        self.opens = _asks_sizes(self.function)
        self.may_stop = may_stop
        self.fetches = fetches
        self.updates = updates
        self.alias = {g.root.outputs[0]: g.root.inputs[0] for g in fusion.groups if is_alias(g.root)}
        self._taken: dict[Group, list[Value]] = {}  # what each group reads, aliases as such
        self.flag = self._base(self.function.results[-1]) if checked else None
        groups = [g for g in fusion.groups if not is_alias(g.root)]
        self.groups = self._ordered(groups)
        stages.report("order", groups, self.groups)
        self.kernels = kernels
        kernels.expect(self.groups)
        self.overwritten = self._changed()
        stages.report("in_place", {}, self.overwritten)
        self.pool = ConstantPool()
        self.places: dict[Value, Ref] = {}
        for slot, param in enumerate(self.function.params, ARGUMENTS):
            self.places[param] = Ref(slot)
        self.first_result = ARGUMENTS + len(self.function.params)
        outside = {*self.places, *self.alias, *map(self._base, self.function.results)}
        inside = (v for g in self.groups for v in g.outputs if v not in outside)
        self.sizes: dict[Stored, AnySize] = {v: v.size * v.dtype.size for v in inside}  # in the arena
        inner = partial(_inner, fuse, kernels)
        control = {g.root: g for g in self.groups if is_control(g.root)}
        self.inner: dict[Group, ControlPlan] = {}
        if control:
            from staticgraph.compiler.lower.control_flow import plans

            self.inner = {control[node]: plan for node, plan in plans([*control], inner).items()}
        self.opens |= any(each.opens for plan in self.inner.values() for each in plan.programs)
        self.sizes |= {g: plan.size for g, plan in self.inner.items()}
        self.spaces = {g: found for g in self.groups if (found := self._spaces(g))} if self.opens else {}
        self.sizes |= {(g, space): space.bytes for g, spaces in self.spaces.items() for space in spaces}
        if self.inner:
            stages.report("control_flow", {}, self.inner)

    def limit_arena(self, limit: int) -> None:
        """Compute values again rather than keep them, until the arena has at most `limit` bytes."""
        from staticgraph.compiler.lower.rematerialize import recompute  # few programs meet a limit

        self.groups = [item.group for item in recompute(self._items(repeats=True), self.sizes, limit)]

    def spare_arena(self) -> None:
        """Rematerialise values that take little time beside the step's arithmetic, if the arena is large."""
        sizes = {stored: estimate(size) for stored, size in self.sizes.items()}
        if sum(sizes.values()) > LARGE_ARENA:
            from staticgraph.compiler.lower.rematerialize import spared

            traffic = flops(self.function.nodes) * _BYTES_PER_FLOP
            self.groups = [item.group for item in spared(self._items(repeats=True), sizes, traffic)]

    def _items(self, repeats: bool = False) -> list[Candidate]:
        """Return the kernels in order; with `repeats`, it is known which ones may run again."""
        changed = {*self.overwritten, *self.overwritten.values()}
        items = []
        for group in self.groups:
            reads = tuple(self._reads(group))
            again = (
                repeats
                and not is_whole(group.root)
                and group.root.op.statements is None
                and not has_product(group)
                and all(v in self.sizes for v in group.outputs)
                and changed.isdisjoint((*reads, *group.outputs))
            )
            inner = (group,) if group in self.inner else ()  # memory that lives while the group runs
            scratch = ((group, space) for space in self.spaces.get(group, ()))
            items.append(Candidate(group, reads, (*group.outputs, *inner, *scratch), again))
        return items

    def program(self) -> Program:
        in_place = self._in_place()
        stages.report("update_in_place", frozenset(), in_place)
        # What overwrites a variable must lie there, so those results choose first;
        # then new values, then fetches.
        for result in sorted(range(len(self.function.results)), key=lambda r: (r not in in_place, -r)):
            value = self._base(self.function.results[result])
            if value not in self.places and value.constant is None:
                slot = ARGUMENTS + self.updates[result] if result in in_place else self.first_result + result
                self.places[value] = Ref(slot)
        arena = self._place_in_arena()
        stages.report("buffer_assignment", {}, self.versions)
        params = set(self.function.params)
        copies: dict[bool, list[Copy]] = {True: [], False: []}
        for result, value in enumerate(self.function.results):
            if copy := self._copy(result, in_place):
                copies[self._base(value) in params].append(copy)
        for result in in_place:
            value = self._base(self.function.results[result])
            self.overwritten[value] = self.function.params[self.updates[result]]
        body: list[Instruction] = []
        for i, group in enumerate(self.groups):
            self.places.update({v: self.versions[v, i] for v in group.outputs if (v, i) in self.versions})
            body.append(self._instruction(group, i))
        if self.flag is not None:
            body.insert(self._test(in_place), Require(self._place(self.flag)))
        return Program(
            # Params are copied first: a kernel may overwrite a variable in place.
            (*copies[True], *body, *copies[False]),
            tuple(p.type for p in self.function.params),
            tuple(r.type for r in self.function.results),
            self.fetches,
            frozenset(self.updates[r] for r in in_place),
            arena,
            self.pool.constants(),
            self.fullest,
            places=self.open,
            opens=self.opens,
        )

    def _ordered(self, groups: list[Group]) -> list[Group]:
        """Groups that nothing in the program reads wait for the last use of the variable whose new value they
        are, which they may then overwrite, and no longer: what they read need not be kept until the end.
        Those that only read what is there all the time wait until they are read.
        """
        if len(groups) < 2:
            return groups
        from staticgraph.compiler.lower.in_place import readers_first

        reads = {g: self._reads(g) for g in groups}
        groups = self._before_use(groups, reads)
        read = {v for values in reads.values() for v in values}
        inner = [g for g in groups if any(self._base(v) in read for v in g.outputs)]
        if any(is_collective(g.root) for g in inner):
            from staticgraph.compiler.lower.collectives import sent_early  # few programs have some

            inner = sent_early(inner, reads)
        others = set(groups).difference(inner)
        old = {self._base(self.function.results[r]): self.function.params[a] for r, a in self.updates.items()}
        changes = {g: [old[v] for v in g.outputs if v in old] for g in groups if g in others}
        home = {v: i for i, g in enumerate(inner) for v in g.outputs}
        last_read = {v: i for i, g in enumerate(inner) for v in reads[g]}
        after: dict[int, list[Group]] = {}
        # Variables wait for all collectives: so these are under way together, and may still fail.
        exchanged = max((i for i, g in enumerate(inner) if is_collective(g.root)), default=-1)
        tested = -1
        for group in self._flag_first(readers_first(changes, reads)):
            needed = [home.get(v, -1) for v in reads[group]]
            at = max((*needed, *(last_read.get(v, -1) for v in changes[group])), default=-1)
            if self.flag in group.outputs:
                tested = at
            at = max(at, tested, exchanged) if changes[group] else at
            after.setdefault(at, []).append(group)
            last_read.update({v: max(at, last_read.get(v, -1)) for v in reads[group]})
        order = list(after.get(-1, ()))
        for i, group in enumerate(inner):
            order += [group, *after.get(i, ())]
        return order

    def _flag_first(self, groups: list[Group]) -> list[Group]:
        """`groups`, the one that computes the flag of a checked step before those that change variables."""
        return sorted(groups, key=lambda g: self.flag not in g.outputs) if self.flag is not None else groups

    def _test(self, in_place: Collection[int]) -> int:
        """The number of instructions before the test of the flag: as few as can be if they serve the flag
        alone, or else all until a variable is overwritten. A test in the middle divides the work of threads.
        """
        assert self.flag is not None
        home = {v: i for i, g in enumerate(self.groups) for v in g.outputs}
        ready = home.get(self.flag, -1) + 1
        serving, stack = set(), [self.flag]
        while stack:
            i = home.get(stack.pop(), -1)
            if i >= 0 and i not in serving:
                serving.add(i)
                stack += self._reads(self.groups[i])
        if len(serving) == ready:
            return ready
        changed = (home[self._base(self.function.results[r])] for r in in_place)
        return min(changed, default=len(self.groups))

    def _before_use(self, groups: list[Group], reads: Mapping[Group, Sequence[Value]]) -> list[Group]:
        """`groups`, where those that only read arguments come just before the first that reads them."""
        constants = (v for values in reads.values() for v in values if v.constant is not None)
        given = {*self.function.params, *constants}

        def may_wait(group: Group) -> bool:
            outputs = map(self._base, group.outputs)
            return not is_whole(group.root) and given.issuperset(reads[group]) and given.isdisjoint(outputs)

        early = {g for g in groups if may_wait(g)}
        home = {v: g for g in early for v in g.outputs}
        order: dict[Group, None] = {}
        for group in groups:
            if group not in early:
                order |= {home[v]: None for v in reads[group] if v in home}
                order[group] = None
        return [*order, *(g for g in groups if g not in order)]

    def _reads(self, group: Group) -> list[Value]:
        """The buffers that a group's kernel reads."""
        taken = self._taken.get(group)
        if taken is None:
            nodes = group.nodes
            inside = {v for n in nodes for v in n.outputs}
            taken = self._taken[group] = list({v: None for n in nodes for v in n.inputs if v not in inside})
        return list(dict.fromkeys([self._base(v) if v in self.alias else v for v in taken]))

    def _base(self, value: Value) -> Value:
        """The value whose buffer holds `value`: another one after a reshape."""
        while value in self.alias:
            value = self.alias[value]
        return value

    def _changed(self) -> dict[Value, Value]:
        """For results of routines that change a value which nothing needs any more: that value.

        From then on its buffer is theirs.
        """
        routines = [(i, g) for i, g in enumerate(self.groups) if g.root.op.statements is not None]
        if not routines:
            return {}
        from staticgraph.compiler.lower.in_place import may_overwrite

        last_read = self._last_reads()
        kept = {*self.function.params, *map(self._base, self.function.results)}
        made = {v for g in self.groups for v in g.outputs}  # a kernel without elements reads what none makes
        found: dict[Value, Value] = {}
        for i, group in routines:
            if is_host(group.root):
                continue
            new = group.root.outputs[0]
            for old in self._reads(group):
                free = old in made and old not in kept and last_read[old] == i
                if free and may_overwrite(group, new, old, self._base, self.kernels):
                    found[new] = self.alias[new] = old
                    last_read[old] = last_read.get(new, i)
                    if new in kept:
                        kept.add(old)
                    break
        return found

    def _last_reads(self) -> dict[Value, int]:
        """The last kernel that reads each buffer."""
        return {value: i for i, group in enumerate(self.groups) for value in self._reads(group)}

    def _in_place(self) -> frozenset[int]:
        """The results that overwrite the variable whose new value they are."""
        if not self.updates:
            return frozenset()
        from staticgraph.compiler.lower.in_place import may_overwrite, unstoppable_from

        found: set[int] = set()
        # After what may fail or be stopped, nothing may have been overwritten.
        stops = [i for i, g in enumerate(self.groups) if self.may_stop and self._stops(g)]
        stops += [i for i, g in enumerate(self.groups) if self.flag is not None and self.flag in g.outputs]
        last_stop = max((*stops, unstoppable_from(self.groups) if self.may_stop and self.updates else -1))
        home = {v: i for i, g in enumerate(self.groups) for v in g.outputs}
        last_read = self._last_reads()
        claimed: set[Value] = set()
        for result, argument in self.updates.items():
            value, old = self._base(self.function.results[result]), self.function.params[argument]
            at = home.get(value)
            if at is None or value in claimed or last_read.get(old, -1) > at or at <= last_stop:
                continue
            if may_overwrite(self.groups[at], value, old, self._base, self.kernels):
                claimed.add(value)
                found.add(result)
        return frozenset(found)

    def _stops(self, group: Group) -> bool:
        """Return True if a run can end in `group`."""
        if group in self.inner:
            return may_stop(group.root, self.inner[group].programs)
        return is_host(group.root)

    def _place_in_arena(self) -> AnySize:
        items: Sequence[Candidate] = self._items()
        if any(is_collective(g.root) for g in self.groups):
            from staticgraph.compiler.lower.collectives import held  # few programs have some

            items = held(items)
        lives = lifetimes(items, self.sizes)
        places, size = plan_open(lives) if is_open(self.sizes.values()) else plan_arena(lives)
        at, _ = fullest({version: (estimate(n), first, last) for version, (n, first, last) in lives.items()})
        live = (item for (item, _), (_, first, last) in lives.items() if first <= at <= last)
        self.fullest = tuple(v for item in live for v in self._inside(item))
        self.open = tuple(place for place in places.values() if isinstance(place, OpenPlace))
        self.versions = {
            version: Ref(ARENA, place.offset if isinstance(place, OpenPlace) else place)
            for version, place in places.items()
        }
        return size

    def _inside(self, item: Stored) -> tuple[Value, ...]:
        """A value; or what lies in the memory of a loop or branch when it is fullest."""
        if isinstance(item, Value):
            return (item,)
        if isinstance(item, tuple):
            return ()
        return max(self.inner[item].programs, key=lambda program: estimate(program.arena)).fullest

    def _argument(self, value: Value | RowRange | Workspace, group: Group, number: int) -> Ref:
        if isinstance(value, Value):
            return self._place(value)
        if isinstance(value, Workspace):
            return self.versions[(group, value), number]
        start = self._place(value.value)
        return Ref(start.slot, start.offset + value.offset)

    def _place(self, value: Value) -> Ref:
        value = self._base(value)
        if value not in self.places:
            constant = value.constant
            assert constant is not None, value
            self.places[value] = self._keep(Constants.of(value.dtype.memory(constant)))
        return self.places[value]

    def _keep(self, constants: Constants) -> Ref:
        return Ref(CONSTANTS, self.pool.keep(constants))

    def _copy(self, result: int, in_place: frozenset[int]) -> Copy | None:
        """The copy that brings a result to its slot where no kernel has written it there."""
        value = self.function.results[result]
        slot = self.first_result + result
        source = self._place(value)
        if result in in_place or source == Ref(slot):
            return None
        return Copy(Ref(slot), source, value.size * value.dtype.size)

    def _kernel(self, group: Group, in_place: Mapping[Value, Value]) -> GroupKernel:
        try:
            return self.kernels.of(group, in_place)
        except Undecided as undecided:
            undecided.asked_by = undecided.asked_by or tuple((n.op.name, n.where) for n in group.nodes)
            raise

    def _spaces(self, group: Group) -> tuple[Workspace, ...]:
        """The scratch memory that the kernel of a group is called with."""
        root = group.root
        if root.op.statements is None or is_host(root) or is_control(root):
            return ()
        return tuple(v for v in self._kernel(group, {}).values if isinstance(v, Workspace))

    def _instruction(self, group: Group, number: int) -> Instruction:
        root = group.root
        if group in self.inner:
            from staticgraph.compiler.lower.control_flow import instruction

            return instruction(root, self.inner[group], self.versions[group, number], self._place, self._keep)
        if is_host(root):
            assert root.op.meaning is not None, root
            return HostCall(
                root.op.meaning,
                root.attrs,
                tuple((self._place(v), v.type) for v in root.inputs),
                tuple((self._place(v), v.type) for v in root.outputs),
                root,
            )
        outputs = set(group.outputs)
        in_place = {v: self.overwritten[v] for v in group.outputs if v in self.overwritten}
        made = self._kernel(group, in_place)
        args = tuple([self._argument(value, group, number) for value in made.values])
        writes = tuple(a for a, v in zip(args, made.values, strict=True) if v in outputs)
        reads = tuple(a for a, v in zip(args, made.values, strict=True) if v not in outputs)
        return self.kernels.launched(Launch(made.work, args, tuple(group.nodes), reads, writes))


def _inner(
    fuse: Callable[[Function], Fusion],
    kernels: KernelTable,
    function: Function,
    fetches: int,
    updates: Mapping[int, int],
) -> Callable[[], Program]:
    """Begin the program of a Function inside a loop or branch, whose kernels are expected from now on.

    Return what finishes it. What it overwrites is no variable.
    """
    with stages.unobserved():
        lowering = _Lowering(fuse(function), fetches, updates, False, fuse, kernels, False)

    def finish() -> Program:
        with stages.unobserved():
            lowering.spare_arena()
            return lowering.program()

    return finish
