"""What a saved graph takes and gives: named inputs, named outputs, perhaps a step of training."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from staticgraph.compiler.graph.dependencies import ancestors
from staticgraph.compiler.graph.errors import SaveError, layout
from staticgraph.compiler.graph.graph import Graph, get_default_graph
from staticgraph.compiler.graph.provenance import user_frame
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.compiler.passes.regions import whole

STRUCTURES = ("dict", "list", "one")  # what a call returns


@dataclass(frozen=True, slots=True)
class Signature:
    """Inputs and outputs by name; `structure` is what the user gave as outputs, and what a call returns."""

    graph: Graph
    inputs: dict[str, Tensor]
    outputs: dict[str, Tensor]
    structure: str
    step: Operation | None

    @property
    def operations(self) -> list[Operation]:
        """Everything that a file must hold, in order of construction."""
        ports = [*self.inputs.values(), *self.outputs.values()]
        return whole(ancestors([*(t.op for t in ports), *self.steps]))

    @property
    def steps(self) -> list[Operation]:
        """The training step, if there is one."""
        return [] if self.step is None else [self.step]

    @property
    def fetches(self) -> Any:
        """The outputs in their structure."""
        match self.structure:
            case "dict":
                return self.outputs
            case "list":
                return list(self.outputs.values())
        return next(iter(self.outputs.values()))

    def required(self, targets: Iterable[Operation] = ()) -> list[str]:
        """The names of the inputs without which the outputs, and `targets`, cannot be computed."""
        given = set(self.inputs.values())
        roots = [*(t.op for t in self.outputs.values() if t not in given), *targets]
        used = set(whole(ancestors(roots, _cut(given))))
        return [n for n, t in self.inputs.items() if t.op.definition.name == "placeholder" and t.op in used]


def _cut(given: Iterable[Tensor]) -> set[Tensor]:
    """The tensors above which nothing is needed if they are given; a placeholder has nothing above it."""
    return {t for t in given if t.op.definition.name != "placeholder"}


def signature_of(outputs: Any, inputs: Any = None, session: Any = None, step: Any = None) -> Signature:
    """The signature that a user asks for, as for `staticgraph.saving.save`. SaveError where impossible."""
    graph = _graph(outputs, session)
    structure, named = _named(graph, outputs)
    target = None if step is None else _element(graph, step, "step")
    target = target.op if isinstance(target, Tensor) else target
    roots = [*(t.op for t in named.values()), *([] if target is None else [target])]
    if inputs is None:
        fed = [
            op
            for op in whole(ancestors(roots))
            if op.definition.name in ("placeholder", "placeholder_with_default")
        ]
        taken = {op.name: op.outputs[0] for op in fed}
    else:
        _, taken = _named(graph, inputs, "input")
        _check_given(roots, taken)
    return Signature(graph, taken, named, structure, target)


def _graph(outputs: Any, session: Any) -> Graph:
    if session is not None:
        found = session.graph
    else:
        listed = (
            outputs.values() if isinstance(outputs, Mapping) else outputs if _is_list(outputs) else [outputs]
        )
        found = next((t.graph for t in listed if hasattr(t, "graph")), get_default_graph())
    return found


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple)


def _named(graph: Graph, given: Any, kind: str = "output") -> tuple[str, dict[str, Tensor]]:
    """The structure of what the user gave, and its tensors by name."""
    if isinstance(given, Mapping):
        named = {_name(n, kind): _tensor(graph, t, kind) for n, t in given.items()}
        structure = "dict"
    else:
        listed = [_tensor(graph, t, kind) for t in (given if _is_list(given) else [given])]
        named = {t.name if t.value_index else t.op.name: t for t in listed}
        structure = "list" if _is_list(given) else "one"
        if len(named) < len(listed):
            raise SaveError(
                layout(
                    f"one {kind} is given twice", user_frame(), hint=f"name them: {kind}s={{name: tensor}}"
                )
            )
    if not named and kind == "output":
        raise SaveError(layout("a saved graph needs an output", user_frame(), hint='outputs={"loss": loss}'))
    return structure, named


def _name(name: Any, kind: str) -> str:
    if not isinstance(name, str) or not name.isprintable() or not name:
        raise SaveError(
            layout(f"{name!r} is not a name for an {kind}: names are strings of letters", user_frame())
        )
    return name


def _tensor(graph: Graph, value: Any, kind: str) -> Tensor:
    found = _element(graph, value, kind)
    if isinstance(found, Operation):
        hint = "outputs are tensors; an operation that trains is given as step="
        raise SaveError(layout(f"the {kind} {found.name} is an operation", user_frame(), hint=hint))
    if found.op.region is not None:
        text = f"the {kind} {found.name} is part of a loop or branch"
        hint = "take what the loop or branch gives"
        raise SaveError(layout(text, user_frame(), [(found.op.name, found.op.where)], hint), found.op)
    return found


def _element(graph: Graph, value: Any, kind: str) -> Any:
    try:
        return graph.as_graph_element(value)
    except (KeyError, TypeError, ValueError) as error:
        text = error.args[0] if error.args else str(error)
        raise SaveError(layout(f"the {kind} {value!r} cannot be saved: {text}", user_frame())) from None


def _check_given(roots: list[Operation], inputs: dict[str, Tensor]) -> None:
    """Every placeholder that is needed must be among the inputs."""
    given = set(inputs.values())
    for op in whole(ancestors((r for r in roots if not set(r.outputs) & given), _cut(given))):
        if op.definition.name == "placeholder" and op.outputs[0] not in given:
            raise SaveError(
                layout(
                    f"the outputs need the placeholder {op.name}, which is not among the inputs",
                    user_frame(),
                    [(op.name, op.where)],
                    "add it to inputs=, or leave inputs= out for all placeholders that are needed",
                ),
                op,
            )
