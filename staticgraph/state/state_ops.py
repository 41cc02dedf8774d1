"""Operations that change variables, as functions: `assign(w, value)` is `w.assign(value)`.

Their output is the new value. Operations built later that use the variable see it in the same run.
"""

from __future__ import annotations

from typing import Any

from staticgraph.building.framework import name_scope
from staticgraph.building.inputs import convert_to_tensor
from staticgraph.building.sizes import size_of
from staticgraph.compiler import ops
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.opdef import Effect
from staticgraph.compiler.graph.recording.op_count import count_more, is_resource
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.compiler.ops.structural import variable_of
from staticgraph.state import replicas
from staticgraph.state.variables import Variable


def _handle(ref: Any, function: str) -> Tensor:
    """Return the tensor that stands for a variable to change.

    Args:
        ref: the variable, or the result of an operation that changed it, which is then done first.
        function: the name of the function that changes it, for a message.
    """
    if isinstance(ref, Variable):
        return ref.handle
    found = ref
    while isinstance(found, Tensor) and found.op.definition.effect is Effect.READ:
        found = found.op.tensors[0]
    if isinstance(found, Tensor) and variable_of(found, through_writes=True) is not None:
        return found
    raise misuse(TypeError, f"{function}: ref must be a Variable, not {ref!r}")


def _changed(ref: Any, function: Any, value: Any, **attributes: Any) -> Tensor:
    """Return `function(handle, value)` of a variable to change, once for all replicas of a model."""
    handle = _handle(ref, function.name)
    operation = variable_of(handle, through_writes=True)
    assert operation is not None  # or there were no handle
    if replicas.present() is None:
        if is_resource(operation):
            count_more(handle.graph, 1)  # TensorFlow reads the new value
        return function(handle, value, **attributes)
    variable = handle.graph.variables[operation.name]
    return variable.changed(lambda _, value, **more: function(handle, value, **more), value, **attributes)


def assign(
    ref: Any,
    value: Any,
    validate_shape: bool | None = None,
    use_locking: bool | None = None,
    name: str | None = None,
) -> Tensor:
    """Give the variable the value `value`, of the variable's shape unless `validate_shape` is False.

    `ref` may be a part of a variable, such as `v[1:3]`.

    >>> import staticgraph as sg
    >>> w = sg.Variable([1.0, 2.0])
    >>> sg.assign(w, [3.0, 4.0])
    <sg.Tensor 'Assign:0' shape=(2,) dtype=float32>
    """
    if isinstance(ref, Tensor) and hasattr(ref, "assign"):
        part: Tensor = ref.assign(value, name=name)
        return part
    return _changed(ref, ops.assign, value, validate_shape=validate_shape is not False, name=name)


def assign_add(ref: Any, value: Any, use_locking: bool | None = None, name: str | None = None) -> Tensor:
    """Add `value`, of the variable's shape, to the variable.

    >>> w = sg.Variable([1, 2])
    >>> with sg.Session() as sess:
    ...     sess.run(sg.global_variables_initializer())
    ...     sess.run(sg.assign_add(w, [10, 10]))
    array([11, 12], dtype=int32)
    """
    return _changed(ref, ops.assign_add, value, name=name)


def assign_sub(ref: Any, value: Any, use_locking: bool | None = None, name: str | None = None) -> Tensor:
    """Subtract `value`, of the variable's shape, from the variable.

    >>> w = sg.Variable([1, 2])
    >>> with sg.Session() as sess:
    ...     sess.run(sg.global_variables_initializer())
    ...     sess.run(sg.assign_sub(w, [1, 1]))
    array([0, 1], dtype=int32)
    """
    return _changed(ref, ops.assign_sub, value, name=name)


def scatter_update(
    ref: Any, indices: Any, updates: Any, use_locking: bool = True, name: str | None = None
) -> Tensor:
    """Replace the rows `indices` of a variable by `updates`, of shape indices.shape + ref.shape[1:].

    >>> import staticgraph as sg
    >>> w = sg.Variable(sg.zeros([5, 2]))
    >>> sg.scatter_update(w, [0, 3], [[1.0, 1.0], [2.0, 2.0]]).shape.as_list()
    [5, 2]
    """
    return ops.scatter_update(_handle(ref, "scatter_update"), indices, updates, name=name)


def batch_scatter_update(
    ref: Any, indices: Any, updates: Any, use_locking: bool = True, name: str | None = None
) -> Tensor:
    """Replace rows of each part of a variable: `ref[i, ..., indices[i, ..., j]] = updates[i, ..., j]`.

    Args:
        ref: The variable.
        indices: Numbers of rows, of known rank. All axes but the last are also the first of the variable.
        updates: Of shape indices.shape + ref.shape[indices.rank:].
        use_locking: Taken, and changes nothing.
        name: The name scope.

    Raises:
        ValueError: If the rank of `indices` is not known.

    >>> w = sg.Variable([[1, 2, 3], [4, 5, 6]])
    >>> with sg.Session() as sess:
    ...     sess.run(sg.global_variables_initializer())
    ...     sess.run(sg.batch_scatter_update(w, [[2], [0]], [[30], [40]]))
    array([[ 1,  2, 30],
           [40,  5,  6]], dtype=int32)
    """
    with name_scope(name, "batch_scatter_update", [indices, updates]):
        indices = convert_to_tensor(indices, name="indices")
        rank = indices.shape.ndims
        if rank is None:
            what = "batch_scatter_update: the rank of indices is not known"
            raise misuse(ValueError, what, "call set_shape, or give the placeholder a shape")
        places = [indices]
        for axis in range(rank - 1):
            numbers = ops.range(start=0, limit=size_of(indices, axis), delta=1, dtype=indices.dtype)
            sizes = [-1 if d == axis else 1 for d in range(rank)]
            places.insert(axis, ops.reshape(numbers, shape=sizes) + ops.zeros_like(indices))
        return scatter_nd_update(ref, ops.stack(places, axis=rank), updates)


def scatter_add(
    ref: Any, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None
) -> Tensor:
    """Add to rows of a variable; to a row that is listed twice, twice.

    >>> w = sg.Variable([[1, 1], [2, 2]])
    >>> with sg.Session() as sess:
    ...     sess.run(sg.global_variables_initializer())
    ...     sess.run(sg.scatter_add(w, [1], [[5, 5]]))
    array([[1, 1],
           [7, 7]], dtype=int32)
    """
    return ops.scatter_add(_handle(ref, "scatter_add"), indices, updates, name=name)


def scatter_sub(
    ref: Any, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None
) -> Tensor:
    """Subtract from rows of a variable.

    >>> w = sg.Variable([5, 5, 5])
    >>> with sg.Session() as sess:
    ...     sess.run(sg.global_variables_initializer())
    ...     sess.run(sg.scatter_sub(w, [0, 0], [1, 2]))
    array([2, 5, 5], dtype=int32)
    """
    return ops.scatter_sub(_handle(ref, "scatter_sub"), indices, updates, name=name)


def scatter_mul(
    ref: Any, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None
) -> Tensor:
    """Multiply rows of a variable."""
    return ops.scatter_mul(_handle(ref, "scatter_mul"), indices, updates, name=name)


def scatter_div(
    ref: Any, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None
) -> Tensor:
    """Divide rows of a variable."""
    return ops.scatter_div(_handle(ref, "scatter_div"), indices, updates, name=name)


def scatter_max(
    ref: Any, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None
) -> Tensor:
    """Raise elements of rows of a variable to those of `updates` where these are larger."""
    return ops.scatter_max(_handle(ref, "scatter_max"), indices, updates, name=name)


def scatter_min(
    ref: Any, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None
) -> Tensor:
    """Lower elements of rows of a variable to those of `updates` where these are smaller."""
    return ops.scatter_min(_handle(ref, "scatter_min"), indices, updates, name=name)


def scatter_nd_update(
    ref: Any, indices: Any, updates: Any, use_locking: bool = True, name: str | None = None
) -> Tensor:
    """Replace elements or slices of a variable at the positions in the last axis of `indices`.

    >>> w = sg.Variable([[1, 2], [3, 4]])
    >>> with sg.Session() as sess:
    ...     sess.run(sg.global_variables_initializer())
    ...     sess.run(sg.scatter_nd_update(w, [[0, 1]], [9]))
    array([[1, 9],
           [3, 4]], dtype=int32)
    """
    return ops.scatter_nd_update(_handle(ref, "scatter_nd_update"), indices, updates, name=name)


def scatter_nd_add(
    ref: Any, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None
) -> Tensor:
    """Add to elements or slices of a variable at the positions in the last axis of `indices`."""
    return ops.scatter_nd_add(_handle(ref, "scatter_nd_add"), indices, updates, name=name)


def scatter_nd_sub(
    ref: Any, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None
) -> Tensor:
    """Subtract from elements or slices of a variable at the positions in the last axis of `indices`."""
    return ops.scatter_nd_sub(_handle(ref, "scatter_nd_sub"), indices, updates, name=name)
