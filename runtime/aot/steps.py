"""The functions of a saved graph as compiled steps, whose shapes are fixed and which need no Python.

What cannot be compiled ahead is said with the operation at fault: ops that are called in Python, and shapes
that depend on values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from staticgraph.compiler.capture.capture import capture
from staticgraph.compiler.capture.needs import NeedsFeeds, NeedsHost, NeedsStage, NeedsTypes
from staticgraph.compiler.capture.request import CaptureRequest
from staticgraph.compiler.capture.segments import stages
from staticgraph.compiler.capture.step import Step
from staticgraph.compiler.codegen.target import CpuTarget
from staticgraph.compiler.compile import Compiled, compile
from staticgraph.compiler.graph.errors import InvalidArgumentError, UnimplementedError, layout
from staticgraph.compiler.graph.function import Node
from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.graph.provenance import Provenance
from staticgraph.compiler.graph.shapes import Shape, TensorType, compatible
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.runtime.fetches import Fetches
from staticgraph.runtime.files.loaded import LoadedFunction, LoadedGraph


@dataclass(frozen=True, slots=True)
class Shapes:
    """Sizes that the user sets if the graph leaves them open: shapes by input, and the first size of others.

    An input with a default value is a parameter of the function only if it is named here.
    """

    given: Mapping[str, tuple[int, ...]]
    batch: int | None = None

    def of(self, name: str, tensor: Tensor) -> TensorType:
        """The type of an input, all sizes known. InvalidArgumentError where they are not, or do not fit."""
        shape = tensor.type.shape
        chosen: Shape | None = self.given.get(name)
        if chosen is None and shape is not None:
            chosen = (*(self.batch if n is None else n for n in shape[:1]), *shape[1:])
        if chosen is None or None in chosen:
            text = f"the shape of the input {name} ({tensor.type}) is open"
            hint = f"say it: --shape {name}=8,28,28,1, or --batch 8 if only the first size is open"
            raise InvalidArgumentError(layout(text, hint=hint))
        if not compatible(chosen, shape):
            raise InvalidArgumentError(layout(f"--shape {name}={list(chosen)} does not fit {tensor.type}"))
        return TensorType(tensor.dtype, chosen)


@dataclass(frozen=True, slots=True)
class CompiledFunction:
    """One function of the file: its inputs in order, and for each output the fetch that it is."""

    name: str
    inputs: tuple[str, ...]
    outputs: dict[str, int]
    compiled: Compiled

    @property
    def step(self) -> Step:
        return self.compiled.step


def compiled_functions(
    net: LoadedGraph, names: Iterable[str], target: CpuTarget, shapes: Shapes
) -> list[CompiledFunction]:
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
) -> CompiledFunction:
    taken: dict[Tensor, str] = {}
    for label, tensor in function.inputs.items():
        if _is_taken(label, tensor, function, shapes):
            taken.setdefault(tensor, label)  # a second name is not a second input
    feeds = {tensor: shapes.of(label, tensor) for tensor, label in taken.items()}
    targets = [] if function.step is None else [function.step]
    fetches = Fetches(graph, [*function.outputs.values(), *targets])
    needed = stages(fetches.tensors, fetches.targets, frozenset(feeds))
    if hosts := (*needed.leading, *needed.trailing):
        raise _refuse(name, [(op.definition.name, op.name, op.where) for op in hosts], "is done in Python")
    request = CaptureRequest(graph, fetches.tensors, fetches.targets, feeds, variables, checks=True)
    match capture(request):
        case Step() as step:
            made = compile(step, target, may_interpret=False)
        case NeedsFeeds(tensors) | NeedsStage(tensors):
            raise _decided_late(name, tensors)
        case NeedsHost(op):
            raise _refuse(name, [(op.definition.name, op.name, op.where)], "is done in Python")
        case NeedsTypes() as needs:
            raise AssertionError(needs)  # those of all variables are given
    if calls := made.program.host_calls:
        raise _refuse(name, [_described(call.node) for call in calls], "has no machine code")
    return CompiledFunction(
        name,
        tuple(taken.values()),
        {label: fetches.tensors.index(t) for label, t in function.outputs.items()},
        made,
    )


def _is_taken(label: str, tensor: Tensor, function: LoadedFunction, shapes: Shapes) -> bool:
    """Return True if a function takes this input, because the function requires it or the user names it.

    A tensor that is not a placeholder is always taken.
    """
    is_placeholder = tensor.op.definition.name in ("placeholder", "placeholder_with_default")
    return label in function.required or label in shapes.given or not is_placeholder


def _refuse(
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
