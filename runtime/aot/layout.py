"""Memory layout of the interface's functions: their arguments, the state and the weights."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence

from staticgraph.compiler.codegen.llvm.c_interface import (
    NOTHING,
    POOL,
    QUIET_WATCH,
    STATE,
    WEIGHTS,
    WORKSPACE,
    CState,
    Entry,
    Place,
    SharedPool,
    StateCopy,
)
from staticgraph.compiler.graph.errors import UnimplementedError, layout
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.graph.tensor import Operation
from staticgraph.compiler.kernel.stmt import ALIGNMENT, padded
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.runtime.aot.interface import Array, CFunction, Field, Interface
from staticgraph.runtime.aot.names import CNames
from staticgraph.runtime.aot.steps import CompiledFunction
from staticgraph.runtime.variables import VariableStore

_WORD = 8  # bytes: the alignment of a state
_MACROS = ("H", "WEIGHTS", "HELPERS", "NO_POINTER", "NOT_READY", "WRONG_WEIGHTS", "NO_NUMBER", "OUT_OF_RANGE")


@dataclass(frozen=True, slots=True)
class _Values:
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


def interface_of(
    name: str, functions: Sequence[CompiledFunction], store: VariableStore, helpers: int
) -> Interface:
    """The interface of these functions, for programs that call it `name`. `helpers`: threads of a pool."""
    weights, pool = _WORD, 2 * _WORD if helpers else None  # words after the number
    values = _values(functions, store, _WORD + (pool or weights))
    symbols = CNames("init", "pool_open", "pool_help", "pool_close", "pool", "variables")
    macros = CNames(*(f"{name}_{word}" for word in _MACROS))
    made = [_function(f"{name}_{symbols.new(f.name)}", macros, f, values.places) for f in functions]
    after = values.first + values.size
    initial = StateCopy(Place(STATE, values.first), Place(WEIGHTS, values.fixed), values.size)
    state = CState(values.digest, weights, pool, after, initial)
    workspace = max(size for _, size in made) + ALIGNMENT - 1
    private = max(padded(f.compiled.private) for f in functions)
    return Interface(
        name,
        values.fields,
        tuple(function for function, _ in made),
        state,
        values.content,
        workspace,
        _up(after + workspace, _WORD),
        SharedPool(helpers, private) if helpers else None,
    )


def _values(functions: Sequence[CompiledFunction], store: VariableStore, first: int) -> _Values:
    """Variables that a function changes are in the state, and all others are weights."""
    types = _types(functions)
    random = {op for f in functions for op in (*f.step.counters, *f.step.draws)}
    written = {op for f in functions for op in f.step.writes}
    changed = [*_in_order(written), *_in_order(random)]
    places: dict[Operation, Place] = {}
    weights, initial = bytearray(), bytearray()
    for op in _in_order({op for f in functions for op in f.step.reads} - written):
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
    content = bytes(weights + initial + bytes(-len(initial) % _WORD))
    where = [f"{op.name} {types[op]} {place.base} {place.offset}" for op, place in places.items()]
    digest = hashlib.blake2b("\n".join(where).encode(), digest_size=_WORD).digest()
    number = int.from_bytes(digest, "little") or 1
    return _Values(places, tuple(fields), first, len(initial), content, len(weights), number)


def _types(functions: Sequence[CompiledFunction]) -> dict[Operation, TensorType]:
    """The types of variables and random states. UnimplementedError for a variable that changes its shape."""
    found: dict[Operation, TensorType] = {}
    for function in functions:
        step, program = function.step, function.compiled.program
        before = zip((*step.reads, *step.counters), program.arguments[len(step.feeds) :], strict=True)
        after = zip((*step.writes, *step.draws), program.results[step.fetches :], strict=False)
        for op, type in (*before, *after):
            if found.setdefault(op, type) != type:
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


def _function(
    symbol: str, macros: CNames, function: CompiledFunction, places: Mapping[Operation, Place]
) -> tuple[CFunction, int]:
    """A function of the interface, and the bytes of workspace that it needs."""
    compiled, step, program = function.compiled, function.step, function.compiled.program
    names = CNames("self")
    inputs = [Array(names.new(n), t) for n, t in zip(function.inputs, program.arguments, strict=False)]
    outputs = [Array(names.new(n), program.results[fetch]) for n, fetch in function.outputs.items()]
    workspace = _Workspace(_WORD * program.slots)
    blocks = [workspace.reserve(size) for size in (program.arena, compiled.shared, compiled.private)]
    constants = Place(constants_of(symbol)) if program.constants else Place(NOTHING)
    arguments = [*map(_parameter, range(len(inputs)))]
    arguments += [places[op] for op in (*step.reads, *step.counters)]
    results: list[Place] = []
    copies: list[StateCopy] = []
    changed = dict(enumerate((*step.writes, *step.draws), step.fetches))
    for n, type in enumerate(program.results):
        size = type.size * type.dtype.size
        if n < step.fetches:
            first, *others = [
                _parameter(len(inputs) + k) for k, fetch in enumerate(function.outputs.values()) if fetch == n
            ]
            results.append(first)
            copies += [StateCopy(other, first, size) for other in others]
        elif step.updates.get(n, -1) in program.in_place:
            results.append(arguments[step.updates[n]])
        else:
            results.append(workspace.reserve(size))
            if n in changed:
                copies.append(StateCopy(places[changed[n]], results[-1], size))
    lent = [Place(NOTHING), Place(POOL), Place(QUIET_WATCH)]
    arrays = [*inputs, *outputs]
    entry = Entry(
        symbol,
        len(arrays),
        tuple(n for n, array in enumerate(arrays) if array.bytes),
        compiled.entry,
        (*blocks, constants, *arguments, *results, *lent),
        tuple(copies),
        tuple((places[op], steps) for op, steps in zip(step.counters, step.advances, strict=True)),
        step.checked,
    )
    sizes = tuple(macros.new(f"{symbol}_{array.name}").upper() for array in arrays)
    return CFunction(function.name, tuple(inputs), tuple(outputs), sizes, entry), workspace.size


def constants_of(symbol: str) -> str:
    """The symbol of the constants of a function."""
    return f"@constants_{symbol}"


class _Workspace:
    """Memory of which blocks are taken one after the other; the table comes first."""

    def __init__(self, table: int) -> None:
        self.size = table

    def reserve(self, size: int) -> Place:
        start = padded(self.size)
        self.size = start + size
        return Place(WORKSPACE, start)


def _parameter(number: int) -> Place:
    return Place(f"%p{number}")


def _in_order(operations: Iterable[Operation]) -> list[Operation]:
    return sorted(operations, key=lambda op: op.id)


def _up(size: int, alignment: int) -> int:
    return -(-size // alignment) * alignment
