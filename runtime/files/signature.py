"""Signatures: the functions of a saved graph, each with a name, inputs, outputs and perhaps a step.

A user writes a `Signature`. In a graph it becomes a `BoundFunction`, with tensors that were found.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from staticgraph.compiler.graph.errors import SaveError, headline, layout, misuse, shown
from staticgraph.compiler.graph.graph import Graph, get_default_graph
from staticgraph.compiler.graph.provenance import user_frame
from staticgraph.compiler.graph.tensor import Operation, Tensor, ancestors, whole
from staticgraph.compiler.support.dataclass import dataclass

STRUCTURES = ("dict", "list", "one", "none")  # what a call returns
PREDICT, TRAIN = "predict", "train"  # the names of what `save` is given without a name
InputShapes = Mapping[str, Sequence[int | None]]  # by the name of the input
_PLACEHOLDERS = ("placeholder", "placeholder_with_default")


@dataclass(frozen=True, slots=True)
class Signature:
    """One function of a saved graph: what a call computes, what it takes, and what it does besides.

    `outputs`: a dict of names and tensors; or a list of tensors, or one, which are then called after their
    operations; None if a call returns nothing. `inputs`: the same for what a caller gives; by default all
    placeholders that are needed, under their own names. `step`: an operation that a call runs, such as one
    that trains.

    >>> import staticgraph as sg
    >>> w = sg.Variable(0.0, name="w")
    >>> sg.Signature(step=w.initializer).outputs is None
    True
    """

    outputs: Any = None
    inputs: Any = None
    step: Any = None


@dataclass(frozen=True, slots=True)
class BoundFunction:
    """A signature in its graph. `structure` is what the user gave as outputs, and what a call returns."""

    graph: Graph
    inputs: dict[str, Tensor]
    outputs: dict[str, Tensor]
    structure: str
    step: Operation | None

    @property
    def roots(self) -> list[Operation]:
        """The operations that a call computes or runs."""
        return [*(t.op for t in self.outputs.values()), *([] if self.step is None else [self.step])]

    @property
    def fetches(self) -> Any:
        """The fetches of a call: the outputs in their structure.

        If there is a step, the outputs and the step.
        """
        match self.structure:
            case "none":
                return self.step
            case "dict":
                made: Any = self.outputs
            case "list":
                made = list(self.outputs.values())
            case _:
                made = next(iter(self.outputs.values()))
        return made if self.step is None else [made, self.step]

    def returned(self, fetched: Any) -> Any:
        """Return the result of a call, extracted from the values of `fetches`."""
        return fetched if self.step is None or self.structure == "none" else fetched[0]

    @property
    def required(self) -> list[str]:
        """The names of the inputs without which a call is not possible."""
        cut = _cut(self.inputs.values())
        fed = {t.op for t in cut.intersection(self.outputs.values())}
        used = set(whole(ancestors((op for op in self.roots if op not in fed), cut)))
        return [n for n, t in self.inputs.items() if t.op.definition.name == "placeholder" and t.op in used]


def operations_of(signatures: Iterable[BoundFunction]) -> list[Operation]:
    """Everything that a file with these signatures must hold, in order of construction."""
    roots = [op for s in signatures for op in (*(t.op for t in s.inputs.values()), *s.roots)]
    return whole(ancestors(roots))


def bind(asked: Mapping[str, Signature], session: Any) -> dict[str, BoundFunction]:
    """The signatures in their graph. SaveError for one that is not possible."""
    graph = _graph(asked.values(), session)
    return {_name(name, "a signature"): _bound(graph, name, signature) for name, signature in asked.items()}


def _bound(graph: Graph, name: str, asked: Signature) -> BoundFunction:
    if asked.outputs is None and asked.step is None:
        raise misuse(
            SaveError, f"the signature {name!r} has neither outputs nor a step", 'outputs={"loss": loss}'
        )
    structure, outputs = ("none", {}) if asked.outputs is None else _named(graph, asked.outputs, "output")
    step = None if asked.step is None else _element(graph, asked.step, "step")
    step = step.op if isinstance(step, Tensor) else step
    roots = [*(t.op for t in outputs.values()), *([] if step is None else [step])]
    if asked.inputs is None:
        fed = [op for op in whole(ancestors(roots)) if op.definition.name in _PLACEHOLDERS]
        inputs = {op.name: op.outputs[0] for op in fed}
    else:
        _, inputs = _named(graph, asked.inputs, "input")
        _check_given(roots, inputs)
    return BoundFunction(graph, inputs, outputs, structure, step)


def _cut(given: Iterable[Tensor]) -> set[Tensor]:
    """The tensors above which nothing is needed if they are given; a placeholder has nothing above it."""
    return {t for t in given if t.op.definition.name != "placeholder"}


def _graph(asked: Iterable[Signature], session: Any) -> Graph:
    if session is not None:
        if not isinstance(found := getattr(session, "graph", None), Graph):
            raise misuse(TypeError, f"session is {shown(session)}, and must be a Session")
        return found
    elements = (e for s in asked for e in (*_listed(s.outputs), s.step))
    return next((e.graph for e in elements if hasattr(e, "graph")), get_default_graph())


def _listed(given: Any) -> list[Any]:
    return [*given.values()] if isinstance(given, Mapping) else [*given] if _is_list(given) else [given]


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple)


def _named(graph: Graph, given: Any, kind: str) -> tuple[str, dict[str, Tensor]]:
    """The structure of what the user gave, and its tensors by name."""
    if isinstance(given, Mapping):
        named = {_name(n, f"an {kind}"): _tensor(graph, t, kind) for n, t in given.items()}
        structure = "dict"
    else:
        listed = [_tensor(graph, t, kind) for t in _listed(given)]
        named = {t.name if t.value_index else t.op.name: t for t in listed}
        structure = "list" if _is_list(given) else "one"
        if len(named) < len(listed):
            hint = f"name them: {kind}s={{name: tensor}}"
            raise misuse(SaveError, f"one {kind} is given twice", hint)
    if not named and kind == "output":
        raise misuse(SaveError, "a saved graph needs an output", 'outputs={"loss": loss}')
    return structure, named


def _name(name: Any, what: str) -> str:
    if not isinstance(name, str) or not name.isprintable() or not name:
        raise misuse(SaveError, f"{name!r} is not a name for {what}: names are strings of letters")
    return name


def _tensor(graph: Graph, value: Any, kind: str) -> Tensor:
    found = _element(graph, value, kind)
    if isinstance(found, Operation):
        hint = "outputs are tensors; an operation that trains is given as step="
        raise misuse(SaveError, f"the {kind} {found.name} is an operation", hint)
    tensor: Tensor = found
    if tensor.op.region is not None:
        text = f"the {kind} {tensor.name} is part of a loop or branch"
        hint = "take what the loop or branch gives"
        raise SaveError(layout(text, user_frame(), [(tensor.op.name, tensor.op.where)], hint), tensor.op)
    return tensor


def _element(graph: Graph, value: Any, kind: str) -> Any:
    try:
        return graph.as_graph_element(value)
    except (KeyError, TypeError, ValueError) as error:
        text = headline(error)
        raise misuse(SaveError, f"the {kind} {value!r} cannot be saved: {text}") from None


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
