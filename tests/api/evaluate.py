"""Values of a user's graph by the NumPy meaning of its operations, one after the other in order of
construction.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from staticgraph.compiler.graph.opdef import Effect
from staticgraph.compiler.graph.static_value import static_value
from staticgraph.compiler.graph.tensor import Operation, Tensor, ancestors
from staticgraph.compiler.ops.structural import changed_variables


class State:
    """The values of variables between runs."""

    def __init__(self) -> None:
        self.values: dict[Tensor, np.ndarray] = {}

    def run(self, fetches: Any, feeds: Mapping[Any, Any] | None = None) -> Any:
        """Like `Session.run`, for fetches without derivatives."""
        if isinstance(fetches, list | tuple):
            return self.run_all(fetches, feeds)
        return self.run_all([fetches], feeds)[0]

    def run_all(self, fetches: Any, feeds: Mapping[Any, Any] | None) -> list[Any]:
        wanted = [f.to_tensor() if hasattr(f, "to_tensor") else f for f in fetches]
        known: dict[Tensor, Any] = {k: k.dtype.round(v) for k, v in (feeds or {}).items()}
        needed = ancestors([f if isinstance(f, Operation) else f.op for f in wanted])
        for op in sorted(needed, key=lambda op: op.id):
            if not (op.outputs and op.outputs[0] in known):
                self._execute(op, known)
        return [None if isinstance(f, Operation) else self._value(f, known) for f in wanted]

    def _value(self, tensor: Tensor, known: dict[Tensor, Any]) -> Any:
        if tensor in known:
            return known[tensor]
        if tensor.op.definition.name == "read_variable":
            tensor = tensor.op.tensors[0]
        return self.values[tensor]

    def _execute(self, op: Operation, known: dict[Tensor, Any]) -> None:
        definition = op.definition
        if definition.name in ("variable", "read_variable", "no_op") or definition.effect is Effect.SOURCE:
            return
        attrs = dict(op.attrs)
        for name, operand in op.operands.items():
            static = static_value(operand)
            value = self._value(operand, known).tolist() if static is None else static
            attrs[name] = tuple(value) if isinstance(value, list) else value
        if definition.effect is Effect.WRITE:
            count = len(changed_variables(op))
            inputs = [self.values.get(t) for t in op.tensors[:count]]
            inputs += [self._value(t, known) for t in op.tensors[count:]]
        else:
            inputs = [self._value(t, known) for t in op.tensors]
        assert definition.reference is not None, op
        given = {p.name: attrs[p.name] for p in definition.params if p.name in attrs}
        if definition.effect is Effect.RANDOM:
            seeds = given["seed"] % 2**64, given["seed2"] % 2**64
            given["state"] = np.array([0, *seeds], np.uint64)  # the stream begins anew in each run
        with np.errstate(all="ignore"):
            made = definition.reference(*inputs, **given)
        results = made if isinstance(made, tuple) else (made,)
        for tensor, array in zip(changed_variables(op), results, strict=False):
            self.values[tensor] = tensor.dtype.round(array)
        results = results[:1] if definition.effect is Effect.WRITE else results
        for tensor, array in zip(op.outputs, results, strict=True):
            known[tensor] = tensor.dtype.round(array)
