"""Backward operations in the user's graph: one walk from ys to xs, the last operations first.

    gradients(loss, [w])     ->     gradients/Fill, gradients/Mean_grad/..., gradients/MatMul_grad/MatMul_1

At each operation between them, the cotangents of its outputs become those of its inputs, in this order:

* a gradient function that a script gave to the operation is called (`gradient_functions.py`);
* a gather of rows passes its cotangent on as rows;
* the op's own formula adds operations, if it needs no size that is open, or the one operation that TensorFlow
  has for the derivative (`formulas.py`);
* all else, loops and branches among them, has one `Gradients` operation, which the compiler expands.

The compiler gets the same Function whichever of the last two it is, but for the order of its nodes. A
derivative by a variable is the sum of what its operands and its reads receive. A second derivative walks
through backward operations as through all others, so that of a linear function is None, as in TensorFlow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import field

from staticgraph.arrays.indexed_slices import IndexedSlices
from staticgraph.building import inputs
from staticgraph.compiler import ops
from staticgraph.compiler.graph.errors import GradientError, misuse
from staticgraph.compiler.graph.provenance import made_for
from staticgraph.compiler.graph.recording.op_count import uncounted
from staticgraph.compiler.graph.recording.originals import note
from staticgraph.compiler.graph.static_value import static_value
from staticgraph.compiler.graph.tensor import Operation, Tensor, may_use
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.differentiation.formulas import (
    before_writes,
    by_compiler,
    by_other_formula,
    has_formula,
    last_writes,
)
from staticgraph.differentiation.gradient_functions import (
    call,
    gradient_function,
    op_of_type,
    overridden_inputs,
)
from staticgraph.differentiation.reachability import Uses, differentiable_inputs, source

ONE_NODE = ("fused_batch_norm",)  # of many formulas, whose derivative is one node in TensorFlow


@dataclass(slots=True)
class Received:
    """Accumulated gradient of a tensor: the cotangents that it has received so far.

    Rows are kept apart as long as nothing needs their sum: a derivative that consists of rows alone is an
    `IndexedSlices`, which an optimizer applies to these rows only.

    Attributes:
        tensors: Cotangents of the tensor's shape.
        gathers: Operations that gather rows of the tensor, each with the cotangent of its result.
        slices: What gradient functions gave as rows.
    """

    tensors: list[Tensor] = field(default_factory=list)
    gathers: list[tuple[Operation, Tensor]] = field(default_factory=list)
    slices: list[IndexedSlices] = field(default_factory=list)

    def add(self, part: Tensor | IndexedSlices) -> None:
        """Receive one more cotangent."""
        if isinstance(part, IndexedSlices):
            self.slices.append(part)
        else:
            self.tensors.append(part)

    def total(self, spread: Callable[[Operation, Tensor], Tensor]) -> Tensor:
        """Return all of it as one tensor. `spread` makes the derivative by what an operation gathers from."""
        parts = [*self.tensors, *(spread(op, g) for op, g in self.gathers)]
        parts += [each.to_tensor() for each in self.slices]
        if len(parts) > 1:
            parts = [ops.add_n(parts, name="AddN")]
        self.tensors, self.gathers, self.slices = parts, [], []
        return parts[0]


class Backward:
    """One walk back from ys.

    Attributes:
        uses: The paths that derivatives flow along.
    """

    def __init__(
        self,
        ys: Sequence[Tensor],
        seeds: Callable[[], Sequence[Tensor]],
        xs: Sequence[Tensor],
        stops: Sequence[Tensor],
        gate: bool,
        colocate: bool = False,
    ) -> None:
        self.uses = Uses(ys, stops)
        if found := self.uses.lacking(xs):
            raise lacking_error(*found)
        if not any(map(self.uses.reaches, xs)):
            return
        self._gate = gate  # if no cotangent of an operation is used before all of them are there
        self._stopped = {source(t) for t in stops}
        self._received: dict[Tensor, Received] = {}
        for y, seed in zip(ys, seeds(), strict=True):
            if y.dtype.is_differentiable:
                self._of(y).add(seed)
        between = sorted(self.uses.between(xs), key=lambda op: op.id, reverse=True)
        self._depends = {source(x) for x in xs}
        self._depends.update(t for op in between for t in op.outputs if t not in self._stopped)
        if between:
            self._writes = last_writes(between[0].graph.recorded)
        for op in between:
            placed = op.graph.colocate_with(op, ignore_existing=True) if colocate else nullcontext()
            with op.graph.as_default(), placed:
                self._pass(op)

    def by(self, x: Tensor) -> Received | None:
        """Return the accumulated gradient of `x`, None if no path leads to it."""
        return self._received.get(source(x)) if self.uses.reaches(x) else None

    def spread(self, op: Operation, g: Tensor) -> Tensor:
        """Return the derivative by what `op` gathers rows from."""
        with op.graph.as_default(), op.graph.name_scope(f"{op.name}_grad"):
            first = op.graph.version
            [found, *_] = made_for(op.where, lambda: by_compiler(op, [g], [0]))
            note(op.graph.recorded[first:], op)
        assert found is not None
        return found

    def _of(self, tensor: Tensor) -> Received:
        return self._received.setdefault(source(tensor), Received())

    def _cotangent(self, y: Tensor) -> Tensor | None:
        received = self._received.get(y)
        if received is None or y in self._stopped:
            return None
        with uncounted(y.graph):
            return received.total(self.spread)

    def _pass(self, op: Operation) -> None:
        """Pass the cotangents of the outputs of `op` on to its inputs."""
        [y, *_] = op.outputs
        if op.definition.name == "read_value" and y in self._received and y not in self._stopped:
            there, here = self._of(op.tensors[0]), self._received[y]
            there.tensors += here.tensors
            there.gathers += here.gathers
            there.slices += here.slices
            return
        gs = [self._cotangent(y) for y in op.outputs]
        if all(g is None for g in gs):
            return
        wanted = [n for n in differentiable_inputs(op) if source(op.tensors[n]) in self._depends]
        if not wanted:  # they are there by a way that is stopped
            return
        if gathers_rows(op, 0) and overridden_inputs(op) is None and gs[0] is not None:
            self._of(op.tensors[0]).gathers.append((op, gs[0]))
            return
        for place, part in enumerate(self._parts(op, gs, wanted)):
            if part is not None and place in wanted:
                self._of(op.tensors[place]).add(part)

    def _parts(
        self, op: Operation, gs: list[Tensor | None], wanted: list[int]
    ) -> Sequence[Tensor | IndexedSlices | None]:
        function = gradient_function(op) if may_use(op.graph.region, op.region) else None
        if function is not None:
            with uncounted(op.graph):
                given = [
                    ops.zeros_like(y) if g is None and y.dtype.is_differentiable else g
                    for y, g in zip(op.outputs, gs, strict=True)
                ]
            parts = call(op, function, given)
            with op.graph.name_scope(f"{op.name}_grad"), uncounted(op.graph):
                return self._gated(parts)
        with op.graph.name_scope(f"{op.name}_grad"), uncounted(op.graph):
            first = op.graph.version
            made = made_for(op.where, lambda: self._gated(self._made(op, gs, wanted)))
            note(op.graph.recorded[first:], op)
            return made

    def _made(self, op: Operation, gs: list[Tensor | None], wanted: list[int]) -> Sequence[Tensor | None]:
        if op.gradient is not None and (other := op_of_type(op.gradient)) is not None:
            return by_other_formula(op, gs, other)
        made = None
        if op.definition.name not in ONE_NODE and has_formula(op):
            made = before_writes(op, gs, self._writes)
        return by_compiler(op, gs, wanted) if made is None else made

    def _gated(
        self, parts: Sequence[Tensor | IndexedSlices | None]
    ) -> Sequence[Tensor | IndexedSlices | None]:
        return inputs.tuple(parts) if self._gate and sum(g is not None for g in parts) > 1 else parts


def gathers_rows(op: Operation, position: int) -> bool:
    """Return True if `op` gathers rows of its input at `position`."""
    if op.definition.name == "gather_nd" and position == 0:
        shape = op.tensors[1].type.shape
        return shape is not None and len(shape) == 2 and shape[1] == 1  # as TensorFlow has it
    if op.definition.name != "gather" or position != 0 or op.attrs.get("batch_dims", 0) != 0:
        return False
    axis = op.attrs.get("axis") if "axis" not in op.operands else static_value(op.operands["axis"])
    return axis == 0


def lacking_error(op: Operation, x: Tensor) -> GradientError:
    """Return the error of a derivative by `x` through `op`, which has no gradient."""
    text = f"gradients(): {op.name} ({op.type}) has no gradient, and {x.name} is differentiated through it"
    hint = "stop_gradient() of its result takes it as a constant; or give it a gradient: custom_gradient"
    return misuse(GradientError, text, hint, made=[(op.name, op.where)])
