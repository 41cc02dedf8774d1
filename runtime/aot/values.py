"""The variables and random states of all functions: where they are, and what they hold."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence

from staticgraph.compiler.codegen.llvm.c_interface import STATE, WEIGHTS, Place
from staticgraph.compiler.graph.errors import UnimplementedError, layout
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.graph.sizes import same_shape
from staticgraph.compiler.graph.tensor import Operation
from staticgraph.compiler.kernel.stmt import padded
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.runtime.aot.functions import CompiledFunction
from staticgraph.runtime.aot.interface import Array, CNames, Field
from staticgraph.runtime.state.variables import VariableStore

WORD = 8  # bytes: the alignment of a state


@dataclass(frozen=True, slots=True)
class Values:
    """The variables and random states of all functions: where they are, and what they hold.

    `fields` begin at `first` in a state and have `size` bytes there.
    """

    places: Mapping[Operation, Place]
    fields: tuple[Field, ...]
    first: int
    size: int
    content: bytes
    fixed: int  # bytes of it that are weights
    digest: int  # the same for equal places and types, and not 0


def values_of(functions: Sequence[CompiledFunction], store: VariableStore, first: int) -> Values:
    """Variables that a function changes are in the state, and all others are weights."""
    types = _types(functions)
    steps = [step for f in functions for step in f.steps]
    random = {op for step in steps for op in (*step.counters, *step.draws)}
    written = {op for step in steps for op in step.writes}
    changed = [*_in_order(written), *_in_order(random)]
    places: dict[Operation, Place] = {}
    weights, initial = bytearray(), bytearray()
    for op in _in_order({op for step in steps for op in step.reads} - written):
        places[op] = Place(WEIGHTS, len(weights))
        weights += _value(op, types[op], store)
        weights += bytes(padded(len(weights)) - len(weights))
    names, fields = CNames(), []
    for op in changed:
        array = Array(names.new(op.name), types[op])
        initial += bytes(-len(initial) % array.alignment)
        places[op] = Place(STATE, first + len(initial))
        fields.append(Field(array, op.name))
        initial += _value(op, types[op], store).ljust(array.stored, b"\0")
    # A struct ends at a multiple of its alignment.
    initial += bytes(-len(initial) % max((f.array.alignment for f in fields), default=1))
    content = bytes(weights + initial + bytes(-len(initial) % WORD))
    where = [f"{op.name} {types[op]} {place.base} {place.offset}" for op, place in places.items()]
    digest = hashlib.blake2b("\n".join(where).encode(), digest_size=WORD).digest()
    number = int.from_bytes(digest, "little") or 1
    return Values(places, tuple(fields), first, len(initial), content, len(weights), number)


def _types(functions: Sequence[CompiledFunction]) -> dict[Operation, TensorType]:
    """The types of variables and random states. UnimplementedError for a variable that changes its shape."""
    found: dict[Operation, TensorType] = {}
    for function, compiled in ((f, each.made) for f in functions for each in f.programs):
        step, program = compiled.step, compiled.program
        before = zip((*step.reads, *step.counters), program.arguments[len(step.feeds) :], strict=True)
        after = zip((*step.writes, *step.draws), program.results[step.fetches :], strict=False)
        for op, type in (*before, *after):
            known = found.setdefault(op, type)
            if known.dtype is not type.dtype or not same_shape(known.static_shape, type.static_shape):
                text = f"{function.name} cannot be compiled ahead: it makes a {found[op]} a {type}"
                hint = "in a compiled program a variable has one shape"
                raise UnimplementedError(layout(text, None, [(op.name, op.where)], hint), op)
    return found


def _value(op: Operation, type: TensorType, store: VariableStore) -> bytes:
    """Return the bytes of a variable or of the state of a random op; zeros for a variable without a value.

    Elsewhere, a random op without a seed starts at an arbitrary point. Here it starts at the beginning, so
    that the same file always makes the same object.
    """
    if op.definition.name != "variable":
        state = store.random_state(op)
        return (state if state[1:].any() else state * 0).tobytes()
    return store.stored(op).tobytes() if op in store else bytes(type.size * type.dtype.size)


def _in_order(operations: Iterable[Operation]) -> list[Operation]:
    return sorted(operations, key=lambda op: op.id)
