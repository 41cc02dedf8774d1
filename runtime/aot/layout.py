"""Memory layout of the interface's functions: their arguments, the state and the weights."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence

from staticgraph.compiler.capture.all_sizes import OpenMade
from staticgraph.compiler.capture.open_shapes import OpenShapes
from staticgraph.compiler.codegen.llvm.c_interface import (
    NOTHING,
    POOL,
    QUIET_WATCH,
    STATE,
    WEIGHTS,
    WORKSPACE,
    CState,
    EntryPoint,
    Place,
    SharedPool,
    StateCopy,
)
from staticgraph.compiler.codegen.llvm.open_interface import OpenCProgram, OpenEntryPoint, SizeInArray
from staticgraph.compiler.compile import Compiled
from staticgraph.compiler.graph.errors import UnimplementedError, layout
from staticgraph.compiler.graph.open_sizes import linear, replaced
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.graph.sizes import AnySize, Size, same, same_shape
from staticgraph.compiler.graph.sizes import symbol as symbol_of
from staticgraph.compiler.graph.tensor import Operation
from staticgraph.compiler.kernel.stmt import ALIGNMENT, padded
from staticgraph.compiler.lower.program import ARENA
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.runtime.aot.interface import Array, CFunction, CNames, Field, Interface
from staticgraph.runtime.aot.steps import CompiledFunction
from staticgraph.runtime.state.variables import VariableStore

_WORD = 8  # bytes: the alignment of a state
_MACROS = (
    "H", "WEIGHTS", "HELPERS", "NO_POINTER", "NOT_READY", "WRONG_WEIGHTS", "NO_NUMBER", "OUT_OF_RANGE",
    "NEGATIVE_SIZE", "TOO_LARGE", "SIZES_DISAGREE", "OTHER_SIZES", "SMALL_WORKSPACE",
)  # fmt: skip


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
    called = [symbols.new(f.name) for f in functions]
    pairs = [
        (f, each, symbols.new(f"{each}_sizes") if f.is_open else "")
        for f, each in zip(functions, called, strict=True)
    ]
    made = [
        _function(f"{name}_{mine}", f"{name}_{sizes}", macros, f, values.places) for f, mine, sizes in pairs
    ]
    after = values.first + values.size
    initial = StateCopy(Place(STATE, values.first), Place(WEIGHTS, values.fixed), values.size)
    state = CState(values.digest, weights, pool, after, initial)
    workspace = max(size for _, size in made) + ALIGNMENT - 1
    private = max(padded(each.made.private) for f in functions for each in f.programs)
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
    content = bytes(weights + initial + bytes(-len(initial) % _WORD))
    where = [f"{op.name} {types[op]} {place.base} {place.offset}" for op, place in places.items()]
    digest = hashlib.blake2b("\n".join(where).encode(), digest_size=_WORD).digest()
    number = int.from_bytes(digest, "little") or 1
    return _Values(places, tuple(fields), first, len(initial), content, len(weights), number)


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


def _function(
    symbol: str,
    sizes_symbol: str,
    macros: CNames,
    function: CompiledFunction,
    places: Mapping[Operation, Place],
) -> tuple[CFunction, int]:
    """A function of the interface, and the bytes of workspace that it needs in a state."""
    program = function.programs[0].made.program
    names = CNames("self", "workspace", "bytes")
    labels = [names.new(n) for n in function.inputs]
    shapes = function.shapes
    axes = [
        (names.new(f"{label}_{axis}"), number, axis)
        for number, (label, shape) in enumerate(zip(labels, shapes.shapes, strict=True))
        for axis, n in enumerate(shape)
        if isinstance(n, Size)
    ]
    named = tuple(name for name, _, _ in axes)
    axes += [
        (f"{labels[number]}[{place}]", row, place)
        for row, number in enumerate(shapes.sized, len(shapes.shapes))
        for place in range(len(shapes.rows[row]))
    ]
    called = _called(function.programs[0].shapes, axes)
    outputs = [(name := names.new(n), _result(function, f, name)) for n, f in function.outputs.items()]
    typed = zip(labels, program.arguments, strict=False)
    inputs, results = (tuple(Array(n, _named(t, called)) for n, t in some) for some in (typed, outputs))
    arrays = [*inputs, *results]
    sizes = tuple(None if a.is_open else macros.new(f"{symbol}_{a.name}").upper() for a in arrays)
    if not function.is_open:
        workspace = _Workspace(_WORD * program.slots)
        entry = _entry(symbol, function, function.programs[0].made, places, workspace)
        return CFunction(function.name, inputs, results, sizes, entry), workspace.size
    programs = [
        _program(f"{symbol}_{number}", function, each, places, axes, [a.is_open for a in results])
        for number, each in enumerate(function.programs)
    ]
    read = [
        SizeInArray(number, place, program.arguments[number].dtype)
        for number, row in zip(shapes.sized, shapes.contents, strict=True)
        for place in range(len(row))
    ]
    opened = OpenEntryPoint(symbol, sizes_symbol, tuple(programs), tuple(read))
    conditions = tuple(_conditions(each.shapes, axes) for each in function.programs)
    return CFunction(function.name, inputs, results, sizes, opened, named, conditions, shapes.sized), 0


def _result(function: CompiledFunction, fetch: int, label: str) -> TensorType:
    """The type of a result, with a size of its own for an axis that some programs know and others do not."""
    found, *others = (each.made.program.results[fetch] for each in function.programs)
    shape = (
        n if isinstance(n, Size) or all(same(n, o) for o in more) else symbol_of(f"{label}_{axis}")
        for axis, (n, *more) in enumerate(
            zip(found.static_shape, *(t.static_shape for t in others), strict=True)
        )
    )
    return TensorType(found.dtype, tuple(shape))


_Axes = Sequence[
    tuple[str, int, int]
]  # names of sizes, each with a row of `OpenShapes.rows` and its place there


def _called(shapes: OpenShapes, axes: _Axes) -> dict[str, AnySize]:
    """For each symbol, the size in terms of the names of sizes."""
    found: dict[str, AnySize] = {}
    for name, number, axis in axes:
        if (form := linear(shapes.rows[number][axis])) is not None:
            found.setdefault(form[0], (symbol_of(name) - form[2]) // form[1])
    return found


def _named(type: TensorType, called: Mapping[str, AnySize]) -> TensorType:
    return TensorType(type.dtype, tuple(replaced(n, called) for n in type.static_shape))


def _conditions(shapes: OpenShapes, axes: _Axes) -> str:
    """Return the conditions on the sizes of one program, as text."""
    called, texts = _called(shapes, axes), []
    for name, number, axis in axes:
        size = shapes.rows[number][axis]
        if not isinstance(size, Size):
            texts.append(f"{name} == {size}")
        elif not same(known := replaced(size, called), symbol_of(name)):
            texts.append(f"{name} == {known!r}")
        elif (form := linear(size)) is not None and form[2]:
            texts.append(f"{name} >= {form[2]}")
    guards = (guard.replaced(called) for guard in shapes.guards)
    return ", ".join([*texts, *(str(guard) for guard in guards if guard is not None)])


def _program(
    symbol: str,
    function: CompiledFunction,
    each: OpenMade[Compiled],
    places: Mapping[Operation, Place],
    axes: _Axes,
    told: Sequence[bool],
) -> OpenCProgram:
    """One program of a function that takes sizes. `told`: the outputs whose shape the caller may ask for."""
    compiled, program = each.made, each.made.program
    workspace = _Workspace(_WORD * program.slots)
    numbers = workspace.reserve(_WORD * len(compiled.sizes))
    entry = _entry(symbol, function, compiled, places, workspace, numbers)
    outputs = [program.results[n] for n in function.outputs.values()]
    types = [*program.arguments[: len(function.inputs)], *outputs]
    memory = [t.size * t.dtype.size for t in (*program.arguments, *program.results)]
    blocks = dict.fromkeys(n for n in (*compiled.step.open_blocks, *memory) if isinstance(n, Size))
    return OpenCProgram(
        entry,
        tuple(each.shapes.rows[number][axis] for _, number, axis in axes),
        tuple((guard.size, guard.relation) for guard in each.shapes.guards),
        tuple(blocks),
        compiled.sizes,
        numbers.offset,
        program.arena,
        entry.slots[ARENA].offset,
        tuple((n, type.size * type.dtype.size) for n, type in enumerate(types)),
        tuple(t.static_shape for t, is_told in zip(outputs, told, strict=True) if is_told),
    )


def _entry(
    symbol: str,
    function: CompiledFunction,
    compiled: Compiled,
    places: Mapping[Operation, Place],
    workspace: _Workspace,
    numbers: Place | None = None,
) -> EntryPoint:
    """The entry of a program whose memory is in `workspace`. `numbers`: the place of open sizes, if any are.

    The arena is then the last of the blocks, since its size is open.
    """
    step, program, count = compiled.step, compiled.program, len(function.inputs)
    arena = workspace.reserve(program.arena) if numbers is None else None
    scratch = [workspace.reserve(size) for size in (compiled.shared, compiled.private)]
    constants = Place(constants_of(symbol)) if program.constants else Place(NOTHING)
    arguments = [*map(_parameter, range(count))]
    arguments += [places[op] for op in (*step.reads, *step.counters)]
    results: list[Place] = []
    copies: list[StateCopy] = []
    changed = dict(enumerate((*step.writes, *step.draws), step.fetches))
    for n, type in enumerate(program.results):
        size = type.size * type.dtype.size
        if n < step.fetches:
            first, *others = [
                _parameter(count + k) for k, fetch in enumerate(function.outputs.values()) if fetch == n
            ]
            results.append(first)
            copies += [StateCopy(other, first, size) for other in others]
        elif step.updates.get(n, -1) in program.in_place:
            results.append(arguments[step.updates[n]])
        else:
            results.append(workspace.reserve(size))
            if n in changed:
                copies.append(StateCopy(places[changed[n]], results[-1], size))
    if arena is None:
        arena = workspace.reserve(0)
    lent = [Place(NOTHING), Place(POOL), Place(QUIET_WATCH)]
    if numbers is not None and program.opens:
        lent.append(numbers)
    shown = [*program.arguments[:count], *(program.results[fetch] for fetch in function.outputs.values())]
    return EntryPoint(
        symbol,
        len(shown),
        () if numbers is not None else tuple(n for n, type in enumerate(shown) if type.size),
        compiled.entry,
        (arena, *scratch, constants, *arguments, *results, *lent),
        tuple(copies),
        tuple((places[op], steps) for op, steps in zip(step.counters, step.advances, strict=True)),
        step.checked,
    )


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
