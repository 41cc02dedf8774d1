"""`tf.contrib.graph_editor`, as far as it reads a graph, and copies of parts of it.

A graph only grows here, so that what changes the inputs of operations is left out: `graph_replace` makes a
copy with other inputs instead.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

import staticgraph as sg
from staticgraph.compiler.graph.errors import misuse
from staticgraph.formats.tf.messages.graph import GraphDef


def make_list_of_op(
    ops: Any, check_graph: bool = True, allow_graph: bool = True, ignore_ts: bool = False
) -> list[sg.Operation]:
    """Return operations as a list.

    Args:
        ops: An operation, a list of some, or a graph if `allow_graph`.
        check_graph: Changes nothing: the elements are looked at.
        allow_graph: Allow a graph.
        ignore_ts: Leave tensors out instead of raising an error.

    Raises:
        TypeError: An element is no operation.
    """
    if isinstance(ops, sg.Graph) and allow_graph:
        return list(ops.get_operations())
    return _list_of(ops, sg.Operation, sg.Tensor if ignore_ts else ())


def make_list_of_t(
    ts: Any, check_graph: bool = True, allow_graph: bool = True, ignore_ops: bool = False
) -> list[sg.Tensor]:
    """Return tensors as a list: those of a graph, one, or several. TypeError if an element is no tensor."""
    if isinstance(ts, sg.Graph) and allow_graph:
        return get_tensors(ts)
    return _list_of(ts, sg.Tensor, sg.Operation if ignore_ops else ())


def get_tensors(graph: sg.Graph) -> list[sg.Tensor]:
    """Return all tensors of a graph."""
    return [tensor for op in graph.get_operations() for tensor in op.outputs]


def get_generating_ops(ts: Any) -> list[sg.Operation]:
    """Return the operations that make tensors."""
    return [tensor.op for tensor in make_list_of_t(ts, allow_graph=False)]


def get_consuming_ops(ts: Any) -> list[sg.Operation]:
    """Return the operations that use tensors, each once."""
    found = (op for tensor in make_list_of_t(ts, allow_graph=False) for op in tensor.consumers())
    return list(dict.fromkeys(found))


def get_name_scope_ops(ops: Any, scope: str) -> list[sg.Operation]:
    """Return those of `ops` whose name begins with a scope."""
    scope = scope.rstrip("/")
    return [op for op in make_list_of_op(ops) if op.name == scope or op.name.startswith(f"{scope}/")]


def filter_ops(ops: Any, positive_filter: Any) -> list[sg.Operation]:
    """Return those of `ops` for which a function, or the value True, holds."""
    return [op for op in make_list_of_op(ops) if positive_filter is True or positive_filter(op)]


def filter_ts(ops: Any, positive_filter: Any) -> list[sg.Tensor]:
    """Return the outputs of `ops` for which a function, or the value True, holds."""
    made = (tensor for op in make_list_of_op(ops) for tensor in op.outputs)
    return [tensor for tensor in made if positive_filter is True or positive_filter(tensor)]


def filter_ops_from_regex(ops: Any, regex: Any) -> list[sg.Operation]:
    """Return those of `ops` in whose name a regular expression is found."""
    return filter_ops(ops, lambda op: re.search(regex, op.name))


def filter_ts_from_regex(ops: Any, regex: Any) -> list[sg.Tensor]:
    """Return the outputs of `ops` in whose name a regular expression is found."""
    return filter_ts(ops, lambda tensor: re.search(regex, tensor.name))


def get_backward_walk_ops(
    seed_ops: Any,
    inclusive: bool = True,
    within_ops: Any = None,
    within_ops_fn: Callable[[sg.Operation], bool] | None = None,
    stop_at_ts: Any = (),
    control_inputs: bool = False,
) -> list[sg.Operation]:
    """Return the operations that `seed_ops` depend on, the nearest first.

    Args:
        seed_ops: Operations, or tensors for those that make them.
        inclusive: Include `seed_ops` themselves.
        within_ops: The operations that may be met; all by default.
        within_ops_fn: A condition on those.
        stop_at_ts: Tensors at which the walk ends.
        control_inputs: Follow control inputs too.

    Returns:
        The operations, each once.

    >>> import staticgraph.compat.tf1 as tf
    >>> x = tf.constant(1.0, name="x")
    >>> [op.name for op in get_backward_walk_ops(tf.square(x, name="y").op)]
    ['y', 'x']
    """
    stops = set(make_list_of_t(stop_at_ts))

    def before(op: sg.Operation) -> Iterator[sg.Operation]:
        yield from (tensor.op for tensor in op.inputs if tensor not in stops)
        if control_inputs:
            yield from op.control_inputs

    return _walk(_starts(seed_ops, stops, True), before, inclusive, within_ops, within_ops_fn)


def get_forward_walk_ops(
    seed_ops: Any,
    inclusive: bool = True,
    within_ops: Any = None,
    within_ops_fn: Callable[[sg.Operation], bool] | None = None,
    stop_at_ts: Any = (),
    control_outputs: Any = None,
) -> list[sg.Operation]:
    """Return the operations that depend on `seed_ops`, the nearest first.

    Args:
        seed_ops: Operations, or tensors for those that use them.
        inclusive: Include `seed_ops` themselves.
        within_ops: The operations that may be met; all by default.
        within_ops_fn: A condition on those.
        stop_at_ts: Tensors at which the walk ends.
        control_outputs: True to follow control outputs too.

    Returns:
        The operations, each once.
    """
    stops = set(make_list_of_t(stop_at_ts))
    starts = _starts(seed_ops, stops, False)
    waiting: dict[sg.Operation, list[sg.Operation]] = {}
    if control_outputs and starts:
        for op in starts[0].graph.get_operations():
            for awaited in op.control_inputs:
                waiting.setdefault(awaited, []).append(op)

    def after(op: sg.Operation) -> Iterator[sg.Operation]:
        yield from (user for tensor in op.outputs if tensor not in stops for user in tensor.consumers())
        yield from waiting.get(op, ())

    return _walk(starts, after, inclusive, within_ops, within_ops_fn)


def get_walks_intersection_ops(
    forward_seed_ops: Any,
    backward_seed_ops: Any,
    forward_inclusive: bool = True,
    backward_inclusive: bool = True,
    within_ops: Any = None,
    within_ops_fn: Callable[[sg.Operation], bool] | None = None,
    control_inputs: bool = False,
) -> list[sg.Operation]:
    """Return the operations on the ways from some operations to others; arguments are those of both walks."""
    onward = get_forward_walk_ops(forward_seed_ops, forward_inclusive, within_ops, within_ops_fn)
    back = set(
        get_backward_walk_ops(
            backward_seed_ops, backward_inclusive, within_ops, within_ops_fn, control_inputs=control_inputs
        )
    )
    return [op for op in onward if op in back]


def graph_replace(
    target_ts: Any,
    replacement_ts: Mapping[sg.Tensor, Any],
    dst_scope: str = "",
    src_scope: str = "",
    reuse_dst_scope: bool = False,
) -> Any:
    """Return targets as they would be if other tensors stood in the place of some.

    What lies between is copied; it goes on to use the same variables.

    Args:
        target_ts: A tensor, or a list of some.
        replacement_ts: From a tensor of the graph to the one in its place.
        dst_scope: The scope of the copies.
        src_scope: Changes nothing.
        reuse_dst_scope: Changes nothing: a scope of that name is opened anew.

    Returns:
        A tensor for each target: the target itself if it uses none of the replaced tensors.

    Raises:
        TypeError: A replaced or replacing element is no tensor.

    >>> import staticgraph.compat.tf1 as tf
    >>> x = tf.constant(2.0)
    >>> y = tf.square(x)
    >>> with tf.Session() as sess:
    ...     float(sess.run(graph_replace(y, {x: tf.constant(3.0)})))
    9.0
    """
    targets = _list_of(target_ts, sg.Tensor)
    _list_of(list(replacement_ts), sg.Tensor)
    news = [sg.convert_to_tensor(new) for new in replacement_ts.values()]
    replaced = dict(zip(replacement_ts, news, strict=True))
    users = [op for old in replaced for op in old.consumers()]
    onward = set(_walk(users, _users_of, True, None, None))
    copied = get_walks_intersection_ops(users, [target.op for target in targets if target.op in onward])
    copies = _copies([op for op in copied if op.type not in _STATE], replaced, dst_scope or "copied")
    found = [replaced.get(target, copies.get(target, target)) for target in targets]
    return found if isinstance(target_ts, list | tuple) else found[0]


# Variables are shared between an operation and its copy.
_STATE = {"VariableV2", "VarHandleOp", "Variable"}


def _copies(
    ops: Collection[sg.Operation], replaced: Mapping[sg.Tensor, sg.Tensor], scope: str
) -> dict[sg.Tensor, sg.Tensor]:
    """Return the outputs of copies of operations by those that they were made of."""
    if not ops:
        return {}
    names = {op.name for op in ops}
    graph = next(iter(ops)).graph
    definition = GraphDef(node=[node for node in graph.as_graph_def().node if node.name in names])
    outside = {tensor for op in ops for tensor in op.inputs if tensor.op.name not in names}
    given = {tensor.name: tensor for tensor in outside} | {old.name: new for old, new in replaced.items()}
    outputs = [tensor for op in ops for tensor in op.outputs]
    made = sg.import_graph_def(definition, given, [tensor.name for tensor in outputs], name=scope) or []
    return dict(zip(outputs, made, strict=True))


def _users_of(op: sg.Operation) -> Iterator[sg.Operation]:
    return (user for tensor in op.outputs for user in tensor.consumers())


def _walk(
    starts: Iterable[sg.Operation],
    following: Callable[[sg.Operation], Iterable[sg.Operation]],
    inclusive: bool,
    within: Any,
    condition: Callable[[sg.Operation], bool] | None,
) -> list[sg.Operation]:
    allowed = None if within is None else set(make_list_of_op(within))
    found = dict.fromkeys(starts)
    seeds, wave = list(found), list(found)
    while wave:
        met = dict.fromkeys(op for one in wave for op in following(one) if op not in found)
        wave = [
            op for op in met if (allowed is None or op in allowed) and (condition is None or condition(op))
        ]
        found.update(dict.fromkeys(wave))
    return [op for op in found if inclusive or op not in seeds]


def _starts(seeds: Any, stops: Collection[sg.Tensor], backward: bool) -> list[sg.Operation]:
    """The operations that a walk begins with, which may be given by tensors."""
    listed = list(seeds) if isinstance(seeds, list | tuple | set) else [seeds]
    if listed and isinstance(listed[0], sg.Tensor):
        tensors = [tensor for tensor in make_list_of_t(listed) if tensor not in stops]
        return get_generating_ops(tensors) if backward else get_consuming_ops(tensors)
    return make_list_of_op(listed)


def _list_of(given: Any, kind: type, ignored: Any = ()) -> list[Any]:
    listed = list(given) if isinstance(given, Iterable) and not isinstance(given, sg.Tensor) else [given]
    for one in listed:
        if not isinstance(one, kind) and not (ignored and isinstance(one, ignored)):
            raise misuse(TypeError, f"expected {kind.__name__}s of a graph, and {one!r} is none")
    return [one for one in listed if isinstance(one, kind)]
