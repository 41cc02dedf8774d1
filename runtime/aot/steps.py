"""The functions of a saved graph as compiled steps, which need no Python.

Sizes that the graph and the user leave open are open in the steps.

If the data decide sizes, a function has several steps: see `staged`. What cannot be compiled ahead is said
with the operation at fault.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import count

from staticgraph.compiler.capture.all_sizes import AllSizes, OpenMade, for_all_sizes
from staticgraph.compiler.capture.capture import capture
from staticgraph.compiler.capture.open_shapes import OpenShapes
from staticgraph.compiler.capture.segments import is_padded, stages
from staticgraph.compiler.capture.step import (
    CaptureRequest,
    NeedsFeeds,
    NeedsHost,
    NeedsStage,
    NeedsTypes,
    Step,
)
from staticgraph.compiler.codegen.target import CpuTarget
from staticgraph.compiler.compile import Compiled, compile
from staticgraph.compiler.graph.errors import (
    InvalidArgumentError,
    UnimplementedError,
    layout,
)
from staticgraph.compiler.graph.function import Node
from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.graph.provenance import Provenance
from staticgraph.compiler.graph.shapes import Shape, TensorType, compatible
from staticgraph.compiler.graph.sizes import Size, is_open, symbol
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.runtime.aot.functions import AnyFunction, CompiledFunction
from staticgraph.runtime.fetches import Fetches
from staticgraph.runtime.files.loaded import LoadedFunction, LoadedGraph
from staticgraph.runtime.reports.asked_sizes import asked

_MOST_PROGRAMS = 8  # of one function, for sizes with other guards


@dataclass(frozen=True, slots=True)
class Shapes:
    """Sizes that the user sets if the graph leaves them open: shapes by input, and the first size of others.

    In a compiled function, others are open, and its parameters.

    An input with a default value is a parameter of the function only if it is named here.
    """

    given: Mapping[str, tuple[int, ...]]
    batch: int | None = None

    def of(self, name: str, tensor: Tensor) -> TensorType:
        """The type of an input. InvalidArgumentError if sizes are not known, or do not fit."""
        shape = self.shape(name, tensor)
        if None in shape:
            text = f"the shape of the input {name} ({tensor.type}) is open"
            hint = f"say it: --shape {name}=8,28,28,1, or --batch 8 if only the first size is open"
            raise InvalidArgumentError(layout(text, hint=hint))
        return TensorType(tensor.dtype, shape)

    def shape(self, name: str, tensor: Tensor) -> tuple[int | None, ...]:
        """The shape of an input, None for sizes that are open.

        Raises:
            InvalidArgumentError: If not even the number of axes is known, or if the shape does not fit.
        """
        shape = tensor.type.shape
        chosen: Shape | None = self.given.get(name)
        if chosen is None and shape is not None:
            chosen = (*(self.batch if n is None else n for n in shape[:1]), *shape[1:])
        if chosen is None:
            text = f"the shape of the input {name} ({tensor.type}) is not known"
            raise InvalidArgumentError(layout(text, hint=f"say it: --shape {name}=8,28,28,1"))
        if not compatible(chosen, shape):
            raise InvalidArgumentError(layout(f"--shape {name}={list(chosen)} does not fit {tensor.type}"))
        return tuple(chosen)


def compiled_functions(
    net: LoadedGraph, names: Iterable[str], target: CpuTarget, shapes: Shapes
) -> list[AnyFunction]:
    """These functions of `net`, for a target. UnimplementedError for one that needs Python."""
    with net.session.held() as store:
        variables = [op for op in net.graph.get_operations() if op.definition.name == "variable"]
        types = {op: store.type_of(op) for op in variables}
    return [_compiled(name, net.signatures[name], net.graph, types, target, shapes) for name in names]


def _compiled(
    name: str,
    function: LoadedFunction,
    graph: Graph,
    variables: Mapping[Operation, TensorType | None],
    target: CpuTarget,
    shapes: Shapes,
) -> AnyFunction:
    taken: dict[Tensor, str] = {}
    for label, tensor in function.inputs.items():
        if _is_taken(label, tensor, function, shapes):
            taken.setdefault(tensor, label)  # a second name is not a second input
    given = [shapes.shape(label, tensor) for tensor, label in taken.items()]
    numbers = count()
    start = OpenShapes(
        tuple(tuple(symbol(f"n{next(numbers)}") if n is None else n for n in shape) for shape in given)
    )
    targets = [] if function.step is None else [function.step]
    fetches = Fetches(graph, [*function.outputs.values(), *targets])
    labels, feeds = tuple(taken.values()), tuple(taken)
    around = stages(fetches.tensors, fetches.targets, frozenset(taken))
    hosts = (*around.leading, *around.trailing)
    if in_python := [op for op in hosts if not is_padded(op)]:  # before anything is compiled
        raise _refuse(name, in_python, "is done in Python")
    wanted = name, labels, feeds, start, function.outputs, fetches, variables, target
    if hosts:
        refusal = _refuse(name, hosts, "is done in Python")
    else:
        try:
            return _in_one_step(*wanted)
        except UnimplementedError as error:  # several stages may do
            refusal = error
    from staticgraph.runtime.aot.staged import NeedsPython, staged_function  # few functions need it

    try:
        staged = staged_function(*wanted)
    except NeedsPython as needs:
        raise _refuse(name, needs.operations, needs.why) from None
    if staged is None:
        raise refusal
    return staged


def _in_one_step(
    name: str,
    labels: tuple[str, ...],
    feeds: tuple[Tensor, ...],
    shapes: OpenShapes,
    outputs: Mapping[str, Tensor],
    fetches: Fetches,
    variables: Mapping[Operation, TensorType | None],
    target: CpuTarget,
) -> CompiledFunction:
    """Return a function in one step. The arguments are those of `staged_function`."""
    make = partial(_program, name, fetches, feeds, variables, target)
    match for_all_sizes(shapes, feeds, make, _MOST_PROGRAMS):
        case AllSizes(sized, programs):
            numbers = {label: fetches.tensors.index(t) for label, t in outputs.items()}
            return CompiledFunction(name, labels, numbers, sized, tuple(_of_one_interface(programs)))
        case NeedsFeeds(tensors):
            raise _decided_late(name, tensors)
        case refused:
            raise _asked(name, labels, refused.start, refused.cause)


def _program(
    name: str,
    fetches: Fetches,
    feeds: Sequence[Tensor],
    variables: Mapping[Operation, TensorType | None],
    target: CpuTarget,
    sizes: OpenShapes,
) -> Compiled | NeedsFeeds:
    """Compile a function for some sizes, open ones among them."""
    types = {t: TensorType(t.dtype, s) for t, s in zip(feeds, sizes.shapes, strict=True)}
    contents = sizes.contents_of(feeds)
    request = CaptureRequest(
        fetches.graph, fetches.tensors, fetches.targets, types, variables, contents, checks=True
    )
    match capture(request):
        case Step() as step:
            made = compile(step, target, may_interpret=False)
        case NeedsFeeds() as needs:
            return needs
        case NeedsStage(tensors):
            raise _decided_late(name, tensors)
        case NeedsHost(op):
            raise _refuse(name, [op], "is done in Python")
        case NeedsTypes() as needs:
            raise AssertionError(needs)  # those of all variables are given
    if calls := made.program.host_calls:
        raise _refusal(name, [_described(call.node) for call in calls], "has no machine code")
    return made


def _of_one_interface(programs: Sequence[OpenMade[Compiled]]) -> list[OpenMade[Compiled]]:
    """Return the programs whose results have as many axes as the results of the first one."""

    def ranks(each: OpenMade[Compiled]) -> list[int]:
        fetched = each.made.program.results[
            : each.made.step.fetches
        ]  # then come variables, and what is checked
        return [len(t.static_shape) for t in fetched]

    return [each for each in programs if ranks(each) == ranks(programs[0])]


def _asked(function: str, labels: Sequence[str], shapes: OpenShapes, cause: Exception | None) -> Exception:
    """The error for a function that must know a size that is open."""
    if isinstance(cause, UnimplementedError):
        return cause
    why, lines = asked(cause, labels, shapes)
    text = f"{function} cannot be compiled for all sizes: {why}"
    hint = "let those that are values of inputs be constants, and save the graph again"
    for label, size in zip(labels, shapes.shapes, strict=True):
        if is_open(size):
            given = ",".join("8" if isinstance(n, Size) else str(n) for n in size)
            hint = (
                f"say for which sizes: --shape {label}={given}, or --batch 8 if only the first size is open"
            )
            break
    return UnimplementedError(layout(text, None, lines, hint))


def _is_taken(label: str, tensor: Tensor, function: LoadedFunction, shapes: Shapes) -> bool:
    """Return True if a function takes this input, because the function requires it or the user names it.

    A tensor that is not a placeholder is always taken.
    """
    is_placeholder = tensor.op.definition.name in ("placeholder", "placeholder_with_default")
    return label in function.required or label in shapes.given or not is_placeholder


def _refuse(function: str, operations: Iterable[Operation], why: str) -> UnimplementedError:
    return _refusal(function, [(op.definition.name, op.name, op.where) for op in operations], why)


def _refusal(
    function: str, operations: Iterable[tuple[str, str, Provenance | None]], why: str
) -> UnimplementedError:
    """The error for operations, each as its kind, its name and its line."""
    listed = list(dict.fromkeys(operations))
    kinds = ", ".join(dict.fromkeys(kind for kind, _, _ in listed))
    text = f"{function} cannot be compiled ahead: {kinds} {why}"
    hint = "save a signature that does without, and compile that one: --function NAME"
    return UnimplementedError(layout(text, None, [(name, where) for _, name, where in listed[:3]], hint))


def _described(node: Node) -> tuple[str, str, Provenance | None]:
    if isinstance(operation := node.attrs.get("operation"), Operation):  # prints and assertions
        return operation.definition.name, operation.name, operation.where
    of = f" of {node.inputs[0].dtype}" if node.inputs else ""
    return f"{node.op.name}{of}", node.op.name, node.where


def _decided_late(function: str, tensors: Iterable[Tensor]) -> UnimplementedError:
    names = ", ".join(t.name for t in tensors)
    text = f"{function} cannot be compiled ahead: a shape in it depends on the value of {names}"
    hint = "shapes are fixed when a program is compiled: let it be a constant, and save the graph again"
    return UnimplementedError(layout(text, None, [(t.name, t.op.where) for t in tensors], hint))
