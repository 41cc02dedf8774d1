"""Operations on the elements of ragged tensors: those of their innermost values."""

from __future__ import annotations

from typing import Any

from staticgraph.building.framework import control_dependencies
from staticgraph.building.inputs import convert_to_tensor, identity
from staticgraph.compiler import ops
from staticgraph.compiler.graph.errors import DtypeError, misuse
from staticgraph.compiler.graph.opdef import Kind, OpDef, Role
from staticgraph.debugging.comparisons import assert_equal

# Operations that are no elementwise ones to the compiler, but have a result for each element all the same.
_OF_EACH = {
    "as_string", "cast", "check_numerics", "decode_base64", "encode_base64", "identity", "ones_like",
    "regex_full_match", "regex_replace", "static_regex_full_match", "static_regex_replace", "string_length",
    "string_lower", "string_strip", "string_to_hash_bucket", "string_to_hash_bucket_fast",
    "string_to_hash_bucket_strong", "string_to_number", "string_upper", "substr", "zeros_like", "add_n",
    "string_join", "saturate_cast", "select", "one_hot", "stop_gradient", "clip_by_value",
}  # fmt: skip


class Elementwise:
    """Records operations that are called with a ragged tensor: those on elements, and no others."""

    def __init__(self, ragged: Any) -> None:
        self._kind = type(ragged)

    def record(self, op: OpDef, values: dict[str, Any], name: str | None) -> Any:
        """Return the ragged tensor of what `op` makes of the innermost values. TypeError for others."""
        if op.kind is not Kind.ELEMENTWISE and op.name not in _OF_EACH:
            raise misuse(DtypeError, f"{op.name} does not take a RaggedTensor", self._kind.CURE)
        tensors = {p.name: values[p.name] for p in op.params if p.role in (Role.TENSOR, Role.TENSORS)}
        flat, like = self.aligned(tensors)
        return like.with_flat_values(op(**(values | flat), name=name))

    def aligned(self, operands: dict[str, Any]) -> tuple[dict[str, Any], Any]:
        """Return innermost values, and tensors that broadcast to them, and a ragged tensor of their rows."""
        listed = [v for x in operands.values() for v in (x if isinstance(x, list | tuple) else [x])]
        every = [x for x in listed if isinstance(x, self._kind)]
        like = max(every, key=lambda x: x.ragged_rank)
        for other in every:
            if other.ragged_rank != like.ragged_rank:
                ranks = f"{like.ragged_rank} and {other.ragged_rank} levels of rows"
                raise misuse(ValueError, f"RaggedTensors with {ranks} do not broadcast", self._kind.CURE)
        first, like = like, _with_checks(like, [x for x in every if x is not like])

        def flat(x: Any) -> Any:
            x = like if x is first else x
            if isinstance(x, list | tuple) and any(isinstance(v, self._kind) for v in x):
                return [flat(v) for v in x]
            return x.flat_values if isinstance(x, self._kind) else self._broadcast(x, like)

        return {name: flat(x) for name, x in operands.items()}, like

    def _broadcast(self, x: Any, like: Any) -> Any:
        """Return a tensor with the axes of a ragged tensor in a form that fits its innermost values."""
        if not hasattr(x, "shape") and not isinstance(x, list | tuple):
            return x
        x = convert_to_tensor(x, dtype_hint=like.dtype)
        rank, whole = x.type.rank, like.shape.ndims
        if rank == 0:
            return x
        if rank is None or whole is None:
            raise misuse(ValueError, f"{x.name} has an unknown rank", "set_shape tells it")
        while isinstance(like, self._kind):
            if rank == whole:
                sizes = x.type.shape
                if sizes[1] != 1:
                    text = f"a tensor of shape {x.shape} does not broadcast to ragged rows"
                    raise misuse(ValueError, text, "its axis of the ragged one must have size 1")
                x = x[0] if sizes[0] == 1 else ops.gather(x[:, 0], like.value_rowids(), axis=0)
                rank -= 1
            like, whole = like.values, whole - 1
        return x


def _with_checks(like: Any, others: list[Any]) -> Any:
    """Return a ragged tensor that a run refuses if the rows of others have other lengths."""
    checks = []
    for other in others:
        for mine, theirs in zip(like.nested_row_splits, other.nested_row_splits, strict=True):
            if mine is not theirs:
                text = "RaggedTensors must have the same row lengths"
                theirs = ops.cast(theirs, dtype=mine.dtype)
                checks.append(assert_equal(mine, theirs, message=text))
    checks = [check for check in checks if check is not None]
    if not checks:
        return like
    with control_dependencies(checks):
        return like.with_flat_values(identity(like.flat_values))
