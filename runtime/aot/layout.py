"""Memory layout of the interface's functions: their arguments, the state and the weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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
from staticgraph.compiler.codegen.llvm.staged_interface import (
    RowCut,
    StageCall,
    StagedEntryPoint,
    StagedOutput,
)
from staticgraph.compiler.compile import Compiled
from staticgraph.compiler.graph.open_sizes import linear, replaced
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.graph.sizes import AnySize, Size, same
from staticgraph.compiler.graph.sizes import symbol as symbol_of
from staticgraph.compiler.graph.tensor import Operation
from staticgraph.compiler.kernel.stmt import ALIGNMENT, padded
from staticgraph.compiler.lower.program import ARENA
from staticgraph.runtime.aot.functions import AnyFunction, CompiledFunction, StagedFunction, StageStep
from staticgraph.runtime.aot.interface import Array, CFunction, CNames, Interface
from staticgraph.runtime.aot.values import WORD, values_of
from staticgraph.runtime.state.variables import VariableStore

_MACROS = (
    "H", "WEIGHTS", "HELPERS", "NO_POINTER", "NOT_READY", "WRONG_WEIGHTS", "NO_NUMBER", "OUT_OF_RANGE",
    "NEGATIVE_SIZE", "TOO_LARGE", "SIZES_DISAGREE", "OTHER_SIZES", "SMALL_WORKSPACE", "SMALL_RESULT",
)  # fmt: skip


def interface_of(
    name: str, functions: Sequence[AnyFunction], store: VariableStore, helpers: int
) -> Interface:
    """The interface of these functions, for programs that call it `name`. `helpers`: threads of a pool."""
    weights, pool = WORD, 2 * WORD if helpers else None  # words after the number
    stages = [stage for f in functions for stage in f.stages]
    values = values_of(stages, store, WORD + (pool or weights))
    symbols = CNames("init", "pool_open", "pool_help", "pool_close", "pool", "variables")
    macros = CNames(*(f"{name}_{word}" for word in _MACROS))
    called = [symbols.new(f.name) for f in functions]
    pairs = [
        (f, each, symbols.new(f"{each}_sizes") if f.is_open else "")
        for f, each in zip(functions, called, strict=True)
    ]
    made = [
        _function(f"{name}_{mine}", f"{name}_{sizes}", macros, f, values.places)
        if isinstance(f, CompiledFunction)
        else (_staged(f"{name}_{mine}", macros, f, values.places), 0)
        for f, mine, sizes in pairs
    ]
    after = values.first + values.size
    initial = StateCopy(Place(STATE, values.first), Place(WEIGHTS, values.fixed), values.size)
    state = CState(values.digest, weights, pool, after, initial)
    workspace = max(size for _, size in made) + ALIGNMENT - 1
    private = max(padded(each.made.private) for stage in stages for each in stage.programs)
    return Interface(
        name,
        values.fields,
        tuple(function for function, _ in made),
        state,
        values.content,
        workspace,
        _up(after + workspace, WORD),
        SharedPool(helpers, private) if helpers else None,
    )


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
        workspace = _Workspace(WORD * program.slots)
        entry = _entry(symbol, function, function.programs[0].made, places, workspace)
        return CFunction(function.name, inputs, results, sizes, entry), workspace.size
    programs = [
        _program(f"{symbol}__{number}", function, each, places, axes, [a.is_open for a in results])
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


def _staged(
    symbol: str, macros: CNames, function: StagedFunction, places: Mapping[Operation, Place]
) -> CFunction:
    """A function of the interface that runs several stages."""
    names = CNames("self", "workspace", "bytes")
    labels = [names.new(n) for n in function.inputs]
    inputs = [Array(n, _with_names(t, n)) for n, t in zip(labels, function.types, strict=True)]
    outputs = [Array(n := names.new(label), _with_names(t, n)) for label, (_, t) in function.outputs.items()]
    steps = [
        step if isinstance(step, RowCut) else _stage_call(f"{symbol}__stage{n}", step, places)
        for n, step in enumerate(function.steps)
    ]
    told = zip(function.outputs.values(), outputs, strict=True)
    entry = StagedEntryPoint(
        symbol,
        tuple((t.shape or (), t.dtype) for t in function.types),
        tuple(steps),
        tuple(StagedOutput(number, array.is_open) for (number, _), array in told),
    )
    arrays = [*inputs, *outputs]
    sizes = tuple(None if a.is_open else macros.new(f"{symbol}_{a.name}").upper() for a in arrays)
    axes = tuple(repr(n) for array in inputs for n in array.type.static_shape if isinstance(n, Size))
    return CFunction(function.name, tuple(inputs), tuple(outputs), sizes, entry, axes)


def _stage_call(symbol: str, step: StageStep, places: Mapping[Operation, Place]) -> StageCall:
    stage = step.stage
    made, _ = _function(symbol, f"{symbol}_sizes", CNames(), stage, places)
    assert isinstance(made.entry, OpenEntryPoint)
    taken = zip(step.feeds, stage.shapes.shapes, strict=True)
    results = tuple((_left_open(array.type.static_shape), array.type.dtype) for array in made.outputs)
    return StageCall(made.entry, tuple((n, _left_open(s)) for n, s in taken), results, stage.commits)


def _left_open(shape: Sequence[AnySize]) -> tuple[int | None, ...]:
    return tuple(None if isinstance(n, Size) else n for n in shape)


def _with_names(type: TensorType, name: str) -> TensorType:
    """Return a type with names for the sizes that are not known: `x_0` for the first size of `x`."""
    sizes = enumerate(type.shape or ())
    return TensorType(type.dtype, tuple(symbol_of(f"{name}_{d}") if n is None else n for d, n in sizes))


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
    workspace = _Workspace(WORD * program.slots)
    numbers = workspace.reserve(WORD * len(compiled.sizes))
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
            if n in changed and function.commits:
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
        tuple((places[op], steps) for op, steps in zip(step.counters, step.advances, strict=True))
        if function.commits
        else (),
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


def _up(size: int, alignment: int) -> int:
    return -(-size // alignment) * alignment
