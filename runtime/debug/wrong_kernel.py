"""Kernels that do not do what their ops mean: each is compiled alone and runs beside NumPy, on the same
inputs.

Then the stage at fault is searched. `build_kernel`, the schedule and `parallelize` make loops of a group.
NumPy runs the loops that each of them made, one scalar at a time, on the inputs for which the kernel is
wrong. The first form that is wrong, too, was made by the stage at fault. If none is, the printer of its text
is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from staticgraph.compiler.capture.step import Step
from staticgraph.compiler.compiled_step import CompiledStep
from staticgraph.compiler.fusion.group import Fusion, Group, is_alias, is_control, is_host
from staticgraph.compiler.graph.errors import OpError
from staticgraph.compiler.graph.function import Function, Node, Value
from staticgraph.compiler.graph.provenance import Provenance
from staticgraph.compiler.kernel.interpret import interpret
from staticgraph.compiler.kernel.stmt import If, Kernel, Loop, Share, Stmt, While
from staticgraph.compiler.lower.kernels import build_kernel
from staticgraph.compiler.lower.lower import lower
from staticgraph.compiler.lower.program import Loops, lines_of
from staticgraph.compiler.ops.control.control_flow import functions, taken
from staticgraph.compiler.stages import NAMES, observing
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.runtime.debug.compare import ROUNDING, Difference, Nudge, Tolerance, differing, terms
from staticgraph.runtime.debug.device_under_test import Arrays, DeviceUnderTest
from staticgraph.runtime.interpreter import Interpreter
from staticgraph.runtime.reports.dump import as_kernel

_ROUNDS = 64  # of a loop in which its kernels are looked at


@dataclass(frozen=True, slots=True)
class How:
    """Configuration of a comparison: the back end, the tolerance, and the optional passes to leave out."""

    backend: DeviceUnderTest
    tolerance: Tolerance = ROUNDING
    without: frozenset[str] = frozenset()


class BrokenKernel(Exception):
    """A kernel that does not come to its end, where NumPy does."""

    def __init__(self, name: str, error: OpError) -> None:
        super().__init__(name, error)
        self.name, self.error = name, error


@dataclass(frozen=True, slots=True)
class WrongKernel:
    """A kernel that differs. `rounds`: of the loops around it, of which `outer` is the innermost. `expected`
    and `found` are all its results. `stage`: that of the compiler at fault, None if it is not known.
    """

    name: str
    nodes: tuple[Node, ...]
    rounds: tuple[int, ...]
    difference: Difference
    compiled: CompiledStep
    backend: DeviceUnderTest
    inputs: tuple[np.ndarray, ...]
    expected: tuple[np.ndarray, ...]
    found: tuple[np.ndarray, ...]
    outer: Node | None = None
    stage: str | None = None

    @property
    def ops(self) -> tuple[str, ...]:
        """The ops that it computes."""
        return tuple(n.op.name for n in self.nodes if n.op.name not in ("constant", "parameter"))

    @property
    def lines(self) -> tuple[Provenance, ...]:
        """The user's lines in it."""
        return lines_of(self.nodes, self.outer)


class KernelChecks:
    """Runs the kernels of fused Functions one by one, each beside the meaning of its ops."""

    def __init__(self, names: Mapping[tuple[Node, ...], str], how: How) -> None:
        self.count = 0
        self._names = names
        self._how = how
        self._quiet = Interpreter(effects=False)
        self._programs: dict[Group, CompiledStep] = {}

    def first_wrong(
        self, fusion: Fusion, arguments: Arrays, rounds: tuple[int, ...] = ()
    ) -> WrongKernel | None:
        """The first kernel that differs, in the order in which they run."""
        values = _KernelValues(fusion.function.params, arguments)
        for group in fusion.groups:
            reads = _reads(group)
            inputs = tuple(values[v] for v in reads)
            if is_alias(group.root) or is_host(group.root) or _has_effects(group):
                values.update(group.outputs, self._meaning(group, reads, inputs))
                continue
            expected = self._meaning(group, reads, inputs)
            if (wrong := self._compared(group, reads, inputs, expected, rounds)) is not None:
                inside = self._inside(group.root, inputs, reads, rounds) if is_control(group.root) else None
                return inside or wrong
            values.update(group.outputs, expected)
        return None

    def _compared(
        self, group: Group, reads: Sequence[Value], inputs: Arrays, expected: Arrays, rounds: tuple[int, ...]
    ) -> WrongKernel | None:
        compiled = self._programs.get(group)
        if compiled is None:
            compiled = self._programs[group] = self._compiled(group, reads)
            self.count += 1
        found = self._called(compiled, inputs, self._name(group))
        dtypes = [v.dtype for v in group.outputs]
        compute = partial(self._meaning, group, reads, inputs)

        def differences_of(results: Arrays) -> list[Difference]:
            return differing(compute, expected, results, dtypes, terms(group.nodes), self._how.tolerance)

        differences = differences_of(found)
        if not differences:
            return None
        stage = None
        if not is_control(group.root):
            known = dict(zip(reads, inputs, strict=True))
            compile_again = partial(self._compiled, group, reads)
            stage = wrong_stage(group, compile_again, known, lambda made: bool(differences_of(made)))
        return WrongKernel(
            self._name(group),
            tuple(group.nodes),
            rounds,
            differences[0],
            compiled,
            self._how.backend,
            tuple(inputs),
            tuple(expected),
            tuple(found),
            stage=stage,
        )

    def _name(self, group: Group) -> str:
        return self._names.get(tuple(group.nodes), group.root.op.name)

    def _called(self, compiled: CompiledStep, inputs: Arrays, name: str) -> list[np.ndarray]:
        try:
            return self._how.backend.called(compiled, inputs)
        except OpError as error:
            raise BrokenKernel(name, error) from None

    def _compiled(self, group: Group, reads: Sequence[Value]) -> CompiledStep:
        """The kernel of a group as a program of its own."""
        fusion = Fusion(Function(tuple(reads), group.outputs), (group,))
        count = len(group.outputs)
        fused = partial(self._how.backend.fused, without=self._how.without)
        program = lower(fusion, count, {}, fuse=fused)
        step = Step(fusion.function, (), (), (), (), count, ())
        return self._how.backend.kernel(step, fusion, program)

    def _meaning(
        self, group: Group, reads: Sequence[Value], inputs: Arrays, nudge: Nudge = lambda array: array
    ) -> list[np.ndarray]:
        """Compute the outputs of a group by NumPy, from the meaning of its ops."""
        values, quiet = (
            _KernelValues(reads, list(map(nudge, inputs))),
            Interpreter(effects=False, nudge=nudge),
        )
        for node in group.nodes:
            if node.op.name != "constant":
                made = quiet.perform(node, tuple(values[v] for v in node.inputs))
                values.update(node.outputs, made)
        return [values[v] for v in group.outputs]

    def _inside(
        self, node: Node, inputs: Arrays, reads: Sequence[Value], rounds: tuple[int, ...]
    ) -> WrongKernel | None:
        """The first wrong kernel inside of a loop or branch."""
        values = _KernelValues(reads, inputs)
        given = [values[v] for v in node.inputs]
        for number, function, arguments in self._entered(node, given):
            fusion = self._how.backend.fused(function, self._how.without)
            found = self.first_wrong(fusion, arguments, (*rounds, number) if number else rounds)
            if found is not None:
                return found if found.outer is not None else replace(found, outer=node)
        return None

    def _entered(self, node: Node, given: Arrays) -> Iterator[tuple[int, Function, Arrays]]:
        """The Functions that a node runs and with what, with the number of the round where it is a loop."""
        if node.op.name == "branch":
            yield 0, taken(node.attrs["branches"], int(given[0])), given[1:]
            return
        body, carried = node.attrs["body"], node.attrs["carried"]
        state, captures = [*given[: 1 + carried]], given[1 + carried :]
        for number in range(1, _ROUNDS + 1):
            if not state[0]:
                return
            arguments = (*state[1:], *captures)
            yield number, body, arguments
            state = self._quiet.results(body, arguments)


class _KernelValues:
    """Values of a Function. What no kernel stores, since nobody needs an element of it, is made by NumPy."""

    def __init__(self, values: Sequence[Value], arrays: Arrays) -> None:
        self._known = dict(zip(values, arrays, strict=True))

    def __getitem__(self, value: Value) -> np.ndarray:
        if value not in self._known:
            node = value.node
            made = Interpreter(effects=False).perform(node, tuple(self[v] for v in node.inputs))
            self.update(node.outputs, made)
        return self._known[value]

    def update(self, values: Sequence[Value], arrays: Arrays) -> None:
        self._known.update(zip(values, arrays, strict=True))


def _reads(group: Group) -> tuple[Value, ...]:
    """The values from outside that a group takes."""
    nodes = group.nodes
    inside = {v for n in nodes for v in n.outputs}
    taken_in = (v for n in nodes for v in n.inputs if v not in inside)
    return tuple(dict.fromkeys(v for v in taken_in if v.constant is None and v.node.op.name != "unset"))


def _has_effects(group: Group) -> bool:
    return any(map(_effects_in, group.nodes))


def _effects_in(node: Node) -> bool:
    inner = (n for each in functions(node.attrs) for n in each.nodes)
    return node.op.name == "effect" or any(map(_effects_in, inner))


MOST = 200_000  # statements that are interpreted per form: some seconds
_ASSUMED_ROUNDS = 64  # that a loop without a known end is taken to have


def wrong_stage(
    group: Group,
    compile: Callable[[], object],
    known: Mapping[Value, np.ndarray],
    is_wrong: Callable[[Arrays], bool],
) -> str | None:
    """Return the name of the stage at fault, None if the kernel is too large to interpret.

    Args:
        group: The group that the kernel computes.
        compile: Compiles the group alone.
        known: The values that it takes.
        is_wrong: Tells if outputs of the group are wrong.
    """
    printer: str | None = None
    for stage, form in _forms(compile):
        kernels = _kernels(form)
        if kernels is None:
            printer = stage if NAMES[stage].makes == "text" else printer
            continue
        if sum(map(_statements_of, kernels)) > MOST:
            return None
        if is_wrong(_interpreted(kernels, group, known)):
            return stage
    return printer


def _forms(compile: Callable[[], object]) -> list[tuple[str, Any]]:
    """Compile, and return what each stage of the kernel made."""
    seen: list[tuple[str, Any]] = []

    def observe(stage: str, before: Any, after: Any) -> None:
        if NAMES[stage].part == "kernel":
            seen.append((stage, after))

    with observing(observe):
        compile()
    return seen


def _kernels(form: Any) -> tuple[Kernel, ...] | None:
    """Return a form as kernels that run one after the other, None if it has no loops."""
    if isinstance(form, Loops | Kernel):
        return (as_kernel(form),)
    return form if isinstance(form, tuple) and all(isinstance(each, Kernel) for each in form) else None


def _interpreted(
    kernels: Sequence[Kernel], group: Group, known: Mapping[Value, np.ndarray]
) -> list[np.ndarray]:
    """Return the outputs of a group as these kernels compute them."""
    arrays: dict[str, np.ndarray] = {}
    of_value: dict[Value, np.ndarray] = {}
    # A group that is compiled alone takes whole values: windows are for many that are alike.
    values = [v for v in build_kernel(group).values if isinstance(v, Value)]
    for (name, buffer), value in zip(kernels[0].arguments.items(), values, strict=True):
        given = value.constant if value.constant is not None else known.get(value)
        made = np.zeros(buffer.shape, buffer.dtype.numpy)
        arrays[name] = made if given is None else np.array(given).reshape(buffer.shape)
        of_value[value] = arrays[name]
    arrays |= {n: np.zeros(b.shape, b.dtype.numpy) for n, b in kernels[0].shared.items()}
    for kernel in kernels:
        interpret(kernel, arrays)
    return [of_value[value].reshape(value.shape) for value in group.outputs]


def _statements_of(kernel: Kernel) -> float:
    """Return about how many statements a kernel performs."""
    return sum(_counted(kernel.body))


def _counted(body: Sequence[Stmt]) -> Iterator[float]:
    for stmt in body:
        match stmt:
            case Loop(index, inside, _, share):
                rounds = math.ceil(index.extent / share.count) if isinstance(share, Share) else index.extent
                yield rounds * sum(_counted(inside))
            case While(_, inside):
                yield _ASSUMED_ROUNDS * sum(_counted(inside))
            case If(_, inside):
                yield sum(_counted(inside))
            case _:
                yield 1.0
