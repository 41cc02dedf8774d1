"""Parts around a cell that all recurrent networks share: checks, batch sizes, states, ends of sequences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from staticgraph.arrays.array_ops import expand_dims, reshape, shape, transpose
from staticgraph.building import nest
from staticgraph.building.inputs import convert_to_tensor
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import DType, as_dtype, int32
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.recording.op_count import counted_as, uncounted
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.control_flow.tensor_array import TensorArray
from staticgraph.state.layer import Layer


def check_cell(cell: Any, name: str) -> None:
    """TypeError for what is not a cell."""
    missing = [what for what in ("output_size", "state_size") if not _has(cell, what)]
    if not (_has(cell, "get_initial_state") or _has(cell, "zero_state")):
        missing.append("zero_state")
    if not callable(cell):
        missing.append("__call__")
    if missing:
        raise misuse(TypeError, f"{name}: {cell!r} is not an RNNCell, it has no {', '.join(missing)}")


def _has(cell: Any, name: str) -> bool:
    try:
        getattr(cell, name)
    except AttributeError:
        return False
    return True


def batch_size_of(inputs: Sequence[Tensor], axis: int) -> Any:
    """The size of the batch axis, a number if one of the inputs tells it. ValueError if they disagree."""
    shapes = [t.type.shape for t in inputs if t.type.shape is not None and len(t.type.shape) > axis]
    known = {n for n in (sizes[axis] for sizes in shapes) if n is not None}
    if len(known) > 1:
        raise misuse(ValueError, f"the inputs are batches of different sizes: {sorted(known)}")
    return known.pop() if known else shape(inputs[0])[axis]


def first_state(cell: Any, initial_state: Any, batch_size: Any, dtype: Any) -> Any:
    """The state before the first step. ValueError if there is neither a state nor a dtype for one."""
    if initial_state is not None:
        return nest.map_structure(as_carried, initial_state)
    if dtype is None:
        raise misuse(ValueError, "a dtype must be given where there is no initial state")
    if hasattr(cell, "get_initial_state"):
        return cell.get_initial_state(inputs=None, batch_size=batch_size, dtype=dtype)
    return cell.zero_state(batch_size, dtype)


def one_step(cell: Any, inputs: Any, state: Any) -> tuple[Any, Any]:
    """Return the output and the state of a cell after a step.

    A cell of Keras takes and gives its states as a list, also a single one, which is a tensor here.
    """
    alone = isinstance(cell, Layer) and not _has(cell, "zero_state") and not nest.is_nested(state)
    output, after = cell(inputs, [state] if alone else state)
    return output, after[0] if alone else after


def as_carried(leaf: Any) -> Any:
    """A part of a state, as loops take it: a tensor, or a TensorArray."""
    return leaf if isinstance(leaf, TensorArray) else convert_to_tensor(leaf)


def dtype_of(dtype: Any, state: Any) -> DType:
    """The dtype of outputs: `dtype`, or that of the state. ValueError for a state of several dtypes."""
    if dtype is not None:
        return as_dtype(dtype)
    found = {s.dtype for s in nest.flatten(state)}
    if len(found) != 1:
        text = f"the state has the dtypes {sorted(d.name for d in found)}: the dtype of outputs must be given"
        raise misuse(ValueError, text)
    single: DType = found.pop()
    return single


def lengths_of(sequence_length: Any, batch_size: Any) -> Tensor | None:
    """The lengths of the sequences of a batch, as int32.

    Another shape than [batch] is a ValueError, or an error of the run that finds it out.
    """
    if sequence_length is None:
        return None
    lengths = convert_to_tensor(sequence_length, name="sequence_length")
    batch = batch_size if isinstance(batch_size, int) else None
    if not lengths.shape.is_compatible_with([batch]):
        wanted = "?" if batch is None else batch
        text = f"sequence_length must be a vector with a number for each sequence, of shape ({wanted},)"
        raise misuse(ValueError, f"{text}, not {lengths.shape}")
    if batch is None or not lengths.type.is_static:
        with uncounted(lengths.graph):
            lengths = reshape(lengths, [batch_size], name="CheckSeqLen")
    return lengths if lengths.dtype is int32 else ops.cast(lengths, dtype=int32)


def limited_step(
    time: Any, lengths: Tensor | None, call: Callable[[], tuple[Any, Any]], state: Any
) -> tuple[Any, Any]:
    """A step that gives zeros and keeps the state of those sequences that have ended."""
    output, after = call()
    nest.assert_same_structure(state, after)
    if lengths is None:
        return output, after
    goes_on = ops.less(time, lengths)
    return (
        nest.map_structure(lambda new: where_rows(goes_on, new, ops.zeros_like(new)), output),
        nest.map_structure(lambda new, old: where_rows(goes_on, new, old), after, state),
    )


def where_rows(condition: Tensor, x: Any, y: Any) -> Any:
    """The rows of `x` where the vector `condition` holds, of `y` elsewhere. A TensorArray or a number is that
    of `x`.
    """
    if isinstance(x, TensorArray) or x.shape.ndims == 0:
        return x
    with counted_as(x.graph, 1):
        for _ in range((x.shape.ndims or 1) - 1):
            condition = expand_dims(condition, -1)
        chosen = ops.select(condition, x, y)
    chosen.set_shape(x.shape)
    return chosen


def swapped(x: Tensor) -> Tensor:
    """`x` with its first two axes, batch and time, in the other order. A vector or a number stays."""
    rank = x.shape.ndims
    if rank is None:
        raise misuse(ValueError, f"the number of axes of {x.name} must be known")
    with counted_as(x.graph, 0 if rank < 2 else 8):
        return x if rank < 2 else transpose(x, [1, 0, *range(2, rank)])
