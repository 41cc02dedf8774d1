"""Function of fused groups -> Program: an order, a place
for every value, and what each kernel reads and writes.
"""

from __future__ import annotations

from collections.abc import Mapping

from staticgraph.compiler.graph.function import Value
from staticgraph.compiler.lower.kernels import build_kernel, updates_in_place
from staticgraph.compiler.lower.memory import plan_arena
from staticgraph.compiler.lower.program import (
    ARENA,
    ARGUMENTS,
    CONSTANTS,
    Copy,
    HostCall,
    Instruction,
    Launch,
    Program,
    Ref,
    padded,
)
from staticgraph.compiler.passes.group import Fusion, Group, is_alias, is_host


def lower(fusion: Fusion, fetches: int, updates: Mapping[int, int]) -> Program:
    """The program of a fused Function.

    `fetches`: how many of its results are fetched; the others are new values of variables. `updates`: for a
    result that is the new value of a variable, the argument that holds the old one.
    """
    return _Lowering(fusion, fetches, updates).program()


class _Lowering:
    def __init__(self, fusion: Fusion, fetches: int, updates: Mapping[int, int]) -> None:
        self.function = fusion.function
        self.fetches = fetches
        self.updates = updates
        self.alias = {g.root.outputs[0]: g.root.inputs[0] for g in fusion.groups if is_alias(g.root)}
        self.groups = self._ordered([g for g in fusion.groups if not is_alias(g.root)])
        self.pool = bytearray()
        self.places: dict[Value, Ref] = {}
        for slot, param in enumerate(self.function.params, ARGUMENTS):
            self.places[param] = Ref(slot)
        self.first_result = ARGUMENTS + len(self.function.params)

    def program(self) -> Program:
        in_place = self._in_place()
        # What overwrites a variable must lie there, so those results choose first;
        # then new values, then fetches.
        for result in sorted(range(len(self.function.results)), key=lambda r: (r not in in_place, -r)):
            value = self.function.results[result]
            if value not in self.places and value not in self.alias and value.constant is None:
                slot = ARGUMENTS + self.updates[result] if result in in_place else self.first_result + result
                self.places[value] = Ref(slot)
        arena = self._place_in_arena()
        params = set(self.function.params)
        copies: dict[bool, list[Copy]] = {True: [], False: []}
        for result, value in enumerate(self.function.results):
            if copy := self._copy(result, in_place):
                copies[self._base(value) in params].append(copy)
        overwritten = {self.function.results[r]: self.function.params[self.updates[r]] for r in in_place}
        body = [self._instruction(g, overwritten) for g in self.groups]
        return Program(
            # Params are copied first: a kernel may overwrite a variable in place.
            (*copies[True], *body, *copies[False]),
            tuple(p.type for p in self.function.params),
            tuple(r.type for r in self.function.results),
            self.fetches,
            frozenset(self.updates[r] for r in in_place),
            arena,
            bytes(self.pool),
        )

    def _ordered(self, groups: list[Group]) -> list[Group]:
        """Groups that nothing in the program reads go last:
        new values of variables, which may then overwrite.
        """
        read = {v for g in groups for v in self._reads(g)}
        final = [g for g in groups if not any(self._base(v) in read for v in g.outputs)]
        return [g for g in groups if g not in set(final)] + final

    def _reads(self, group: Group) -> list[Value]:
        """The buffers that a group's kernel reads."""
        inside = {v for n in group.nodes for v in n.outputs}
        return list(dict.fromkeys(self._base(v) for n in group.nodes for v in n.inputs if v not in inside))

    def _base(self, value: Value) -> Value:
        """The value whose buffer holds `value`: another one after a reshape."""
        while value in self.alias:
            value = self.alias[value]
        return value

    def _in_place(self) -> frozenset[int]:
        """The results that overwrite the variable whose new value they are."""
        found: set[int] = set()
        if any(is_host(g.root) for g in self.groups):
            return frozenset()  # a host call may fail, and then all variables must be as they were
        home = {v: i for i, g in enumerate(self.groups) for v in g.outputs}
        last_read: dict[Value, int] = {}
        for i, group in enumerate(self.groups):
            for value in self._reads(group):
                last_read[value] = i
        claimed: set[Value] = set()
        for result, argument in self.updates.items():
            value, old = self.function.results[result], self.function.params[argument]
            at = home.get(value)
            if at is None or value in claimed or last_read.get(old, -1) > at:
                continue
            if updates_in_place(self.groups[at], value, old, self._base):
                claimed.add(value)
                found.add(result)
        return frozenset(found)

    def _place_in_arena(self) -> int:
        born: dict[Value, int] = {}
        last: dict[Value, int] = {}
        for i, group in enumerate(self.groups):
            for value in group.outputs:
                born[value] = last[value] = i
            for value in self._reads(group):
                last[value] = i
        for value in self.function.results:
            last[self._base(value)] = len(self.groups)
        offsets, size = plan_arena(
            {v: (v.size * v.dtype.size, born[v], last[v]) for v in born if v not in self.places}
        )
        self.places.update({v: Ref(ARENA, offset) for v, offset in offsets.items()})
        return size

    def _place(self, value: Value) -> Ref:
        value = self._base(value)
        if value not in self.places:
            constant = value.constant
            assert constant is not None, value
            self.places[value] = Ref(CONSTANTS, len(self.pool))
            data = value.dtype.to_bytes(constant)
            self.pool += data + bytes(padded(max(len(data), 1)) - len(data))
        return self.places[value]

    def _copy(self, result: int, in_place: frozenset[int]) -> Copy | None:
        """The copy that brings a result to its slot where no kernel has written it there."""
        value = self.function.results[result]
        slot = self.first_result + result
        source = self._place(value)
        if result in in_place or source == Ref(slot):
            return None
        return Copy(Ref(slot), source, value.size * value.dtype.size)

    def _instruction(self, group: Group, overwritten: Mapping[Value, Value]) -> Instruction:
        root = group.root
        if is_host(root):
            assert root.op.reference is not None, root
            return HostCall(
                root.op.reference,
                root.attrs,
                tuple((self._place(v), v.type) for v in root.inputs),
                tuple((self._place(v), v.type) for v in root.outputs),
                root,
            )
        outputs = set(group.outputs)
        made = build_kernel(group, {new: overwritten[new] for new in outputs if new in overwritten})
        args = tuple(self._place(v) for v in made.values)
        writes = tuple(a for a, v in zip(args, made.values, strict=True) if v in outputs)
        reads = tuple(a for a, v in zip(args, made.values, strict=True) if v not in outputs)
        return Launch(made.work, args, tuple(group.nodes), reads, writes)
