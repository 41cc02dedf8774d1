"""Functions in stages, which need no Python: native code counts what there is, and takes so much of it.

A session calls `where`, `unique` and the like between compiled stages. A stage before has computed the
results with room for the most elements that there may be, and how many there are. What is left to do is to
take as many rows of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from staticgraph.compiler.capture.open_shapes import OpenShapes
from staticgraph.compiler.codegen.llvm.staged_interface import RowCut, RowRange
from staticgraph.compiler.codegen.target import CpuTarget
from staticgraph.compiler.graph.interpret import attributes_of
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.graph.size_contexts import Undecided, answering
from staticgraph.compiler.graph.sizes import AnySize, Size, symbol
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.runtime.aot.functions import CompiledFunction, StagedFunction, StageStep
from staticgraph.runtime.fetches import Fetches
from staticgraph.runtime.files.code.staged_aot import loops_as_they_are, planned_run, types_of
from staticgraph.runtime.host_ops.host_run_state import Call, Event, StageRun


class NeedsPython(Exception):
    """There is no machine code for an operation of a function, or none where it is.

    Attributes:
        operations: The operations.
        why: The reason, to be read behind their names.
    """

    def __init__(self, operations: Sequence[Operation], why: str = "is done in Python") -> None:
        super().__init__(why)
        self.operations, self.why = operations, why


def staged_function(
    name: str,
    labels: tuple[str, ...],
    feeds: tuple[Tensor, ...],
    shapes: OpenShapes,
    outputs: Mapping[str, Tensor],
    fetches: Fetches,
    variables: Mapping[Operation, TensorType | None],
    target: CpuTarget,
) -> StagedFunction | None:
    """Return a function in stages; None if the stages cannot be told without data.

    Args:
        name: Its name in the file.
        labels: The names of its inputs.
        feeds: The tensors that these are.
        shapes: Their shapes.
        outputs: The tensors that it computes, by name.
        fetches: The same, and what it does besides.
        variables: The types of variables.
        target: The processor.

    Raises:
        NeedsPython: If it has operations that cannot be compiled.
    """
    types = types_of(feeds, shapes)
    with loops_as_they_are(fetches.graph):
        events = planned_run(fetches, feeds, target, variables).events(types)
    if events is None:
        return None
    if hosts := [each.operation for each in events if isinstance(each, Call) and not each.padded]:
        raise NeedsPython(hosts)
    plan = _Plan(name, types)
    for event in events:
        plan.add(event)
    found = {label: plan.value(t) for label, t in outputs.items()}
    return StagedFunction(name, labels, tuple(types.values()), tuple(plan.steps), found)


class _Plan:
    """Steps of a function, in which values have numbers."""

    def __init__(self, name: str, feeds: Mapping[Tensor, TensorType]) -> None:
        self.steps: list[StageStep | RowCut] = []
        self._name = name
        self._numbers: dict[Any, int] = {feed: n for n, feed in enumerate(feeds)}
        self._types = [*feeds.values()]
        self._changes = False

    def value(self, tensor: Tensor) -> tuple[int, TensorType]:
        """Return the number and the type of a tensor that was computed."""
        number = self._numbers[tensor]
        return number, self._types[number]

    def add(self, event: Event) -> None:
        """Add what a run does."""
        if isinstance(event, StageRun):
            self._run(event)
        elif self._changes:
            raise NeedsPython([event.operation], "comes after a change of variables")
        else:
            self._cut(event)

    def _run(self, event: StageRun) -> None:
        made: Any = event.program
        step, is_last = made.step, event.programs.calls.final
        stage = CompiledFunction(
            f"{self._name} stage {len(self.steps)}",
            tuple(f"f{n}" for n in range(len(event.programs.feeds))),
            {f"r{n}": n for n in range(step.fetches)},
            made.start,
            tuple(made.programs),
            is_stage=True,
            commits=is_last,
        )
        self.steps.append(StageStep(stage, tuple(self._numbers[t] for t in event.programs.feeds)))
        self._changes = is_last and bool(step.writes or step.draws or step.counters)
        self._keep([*event.tensors, *step.captured], made.fetched)

    def _cut(self, call: Call) -> None:
        """Follow the `cut` of an operation, with symbols for the numbers that it looks at."""
        op = call.operation
        padded = [_Padded(n := self._numbers[op, k], self._types[n]) for k in range(call.padded)]
        conditions: list[tuple[Size, str]] = []

        def holds(question: Undecided) -> bool:
            assert question.comparison is not None, question
            conditions.append(question.comparison)
            return True

        assert op.definition.cut is not None, op
        with answering(holds):
            made = op.definition.cut(*padded, **attributes_of(op))
        made = made if isinstance(made, tuple) else (made,)
        parts = [each if isinstance(each, RowRange) else each.whole for each in made]
        numbers = {name: place for each in padded for name, place in each.numbers.items()}
        self.steps.append(RowCut(numbers, tuple(conditions), tuple(parts)))
        self._keep(op.outputs, [self._type_of(part) for part in parts])

    def _type_of(self, part: RowRange) -> TensorType:
        whole = self._types[part.value]
        return whole if part.count is None else TensorType(whole.dtype, (None, *(whole.shape or ())[1:]))

    def _keep(self, keys: Sequence[Any], types: Sequence[TensorType]) -> None:
        for key, type in zip(keys, types, strict=True):
            self._numbers[key] = len(self._types)
            self._types.append(type)


class _Padded:
    """A result with room for the most elements that there may be, or numbers that tell how many there are."""

    def __init__(self, value: int, type: TensorType) -> None:
        self._value, self._type = value, type
        self.numbers: dict[str, tuple[int, int]] = {}

    @property
    def whole(self) -> RowRange:
        return RowRange(self._value, 0, None)

    def tolist(self) -> list[AnySize]:
        """Return all numbers."""
        return [self[n] for n in range((self._type.shape or ())[0] or 0)]

    def __getitem__(self, key: int | slice) -> Any:
        if isinstance(key, slice):
            start: AnySize = 0 if key.start is None else key.start  # what is true of a size would be asked
            return RowRange(self._value, start, key.stop - start)
        name = f"c{self._value}_{key}"
        self.numbers[name] = self._value, key
        return symbol(name)
