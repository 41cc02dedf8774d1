"""`cond`, `case` and `switch_case`: one of several functions, chosen while the graph runs."""

from __future__ import annotations

import functools
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from staticgraph.arrays.indexed_slices import IndexedSlices
from staticgraph.building import nest
from staticgraph.building.framework import control_dependencies, graph_of, name_scope
from staticgraph.building.inputs import convert_to_tensor, identity
from staticgraph.building.regions import call, captures, finish, own
from staticgraph.building.signatures import renamed
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import bool_, int32, int64
from staticgraph.compiler.graph.errors import (
    DtypeError,
    ShapeError,
    UnlikeDtypeError,
    headline,
    misuse,
    shown,
)
from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.graph.recording.op_count import count_captures, count_more
from staticgraph.compiler.graph.tensor import Region, Tensor
from staticgraph.control_flow.assertions import Assert
from staticgraph.control_flow.carrier import Carrier
from staticgraph.mathematics.reductions import reduce_sum


def cond(
    pred: Any,
    true_fn: Callable[[], Any] | None = None,
    false_fn: Callable[[], Any] | None = None,
    strict: bool = False,
    name: str | None = None,
    fn1: Callable[[], Any] | None = None,
    fn2: Callable[[], Any] | None = None,
) -> Any:
    """Return the result of `true_fn()` if `pred` is True, else of `false_fn()`. Only one of them is run.

    Both functions are called once, while the graph is built. They must return the same structure of tensors
    of the same dtypes. Sizes that differ between their results are unknown in the result of `cond`.
    Operations that were made outside of the functions run in any case.

    Args:
        pred: A bool tensor, one truth value.
        true_fn: A function without arguments, for a `pred` that is True.
        false_fn: A function without arguments, for a `pred` that is False.
        strict: If False, a list or tuple of one item is returned as that item.
        name: The name scope.
        fn1: The old name of `true_fn`.
        fn2: The old name of `false_fn`.

    Returns:
        The result of the function that is run, in the structure that both functions return; in place of an
        operation, the value of `pred`.

    Raises:
        TypeError: If `pred` is not a bool tensor, if a function is not callable or is given under both of
            its names, or if the results differ in dtype or in the type of a structure.
        ValueError: If the results have different structures.

    >>> import staticgraph as sg
    >>> x = sg.placeholder(sg.float32, [])
    >>> y = sg.cond(x > 0, lambda: x, lambda: -x)
    >>> with sg.Session() as sess:
    ...     float(sess.run(y, {x: -3.0}))
    3.0
    """
    try:
        true_fn = renamed("true_fn", true_fn, "fn1", fn1)
        false_fn = renamed("false_fn", false_fn, "fn2", fn2)
    except ValueError as error:
        raise misuse(TypeError, f"cond(): {headline(error)}") from None
    for function, role in ((true_fn, "true_fn"), (false_fn, "false_fn")):
        if not callable(function):
            hint = "write lambda: value, so that only the side that is taken is computed"
            raise misuse(TypeError, f"cond({role}): {shown(function)} is not a function", hint)
    if isinstance(pred, bool):
        raise misuse(TypeError, "cond(pred): a Python truth value decides nothing in the graph; use `if`")
    with graph_of([pred]).as_default() as graph, name_scope(name, "cond", [pred]):
        pred = convert_to_tensor(pred, name="pred")
        if pred.dtype is not bool_:
            raise misuse(DtypeError, f"cond(pred) must be a truth value, not {pred.type}", "compare: x > 0")
        _check_one("cond(pred)", pred, "reduce_all and reduce_any make one of many; where takes all")
        return _branch(graph, pred, [true_fn, false_fn], strict)


def switch_case(
    branch_index: Any, branch_fns: Any, default: Callable[[], Any] | None = None, name: str = "switch_case"
) -> Any:
    """Return the result of the function with the number `branch_index`, or of `default` for any other number.

    Args:
        branch_index: An int32 tensor, one number.
        branch_fns: The functions: a dict by number, a list of pairs of a number and a function, or a list of
            functions, which are numbered from 0. No function takes an argument.
        default: The function for all other numbers; by default the one with the greatest number.
        name: The name scope.

    Returns:
        The result of the function that is run. All functions must return the same structure, as for `cond`.

    Raises:
        TypeError: If `branch_index` is not int32, or `branch_fns` holds anything but numbers and functions.
        ValueError: If `branch_fns` is empty, or a number appears twice.

    >>> import staticgraph as sg
    >>> i = sg.placeholder(sg.int32, [])
    >>> y = sg.switch_case(i, [lambda: sg.constant(10), lambda: sg.constant(20)])
    >>> with sg.Session() as sess:
    ...     int(sess.run(y, {i: 1}))
    20
    """
    by_number = _numbered(branch_fns)
    with graph_of([branch_index]).as_default() as graph, name_scope(name, "switch_case"):
        index = convert_to_tensor(branch_index, name="branch_index")
        if index.dtype is not int32:
            raise misuse(DtypeError, f"branch_index must be int32, not {index.type}")
        _check_one("switch_case(branch_index)", index, "map_fn calls a function for each row")
        functions = [by_number[n] for n in sorted(by_number)]
        if default is not None:
            functions.append(default)
        if sorted(by_number) == list(range(len(by_number))):
            return _branch(graph, index, functions, False)
        position = convert_to_tensor(len(functions) - 1)
        for at, number in enumerate(sorted(by_number)):
            position = ops.select(ops.equal(index, number), at, position)
        return _branch(graph, position, functions, False)


def _check_one(role: str, x: Tensor, hint: str) -> None:
    if x.type.rank:
        raise misuse(ShapeError, f"{role} must be a single value, not {x.type}", hint, [(x.name, x.op.where)])


def _numbered(branch_fns: Any) -> dict[int, Callable[[], Any]]:
    if not branch_fns:
        raise misuse(ValueError, "switch_case(branch_fns): there must be at least one function")
    if isinstance(branch_fns, Mapping):
        pairs = list(branch_fns.items())
    elif all(callable(f) for f in branch_fns):
        pairs = list(enumerate(branch_fns))
    else:
        pairs = [tuple(pair) for pair in branch_fns]
    for number, function in pairs:
        if not isinstance(number, int) or not callable(function):
            raise misuse(
                TypeError, f"switch_case(branch_fns): {number!r}: {function!r} is not a number and a function"
            )
    if len(dict(pairs)) != len(pairs):
        raise misuse(ValueError, "switch_case(branch_fns): a number appears twice")
    return dict(pairs)


def case(
    pred_fn_pairs: Any,
    default: Callable[[], Any] | None = None,
    exclusive: bool = False,
    strict: bool = False,
    name: str = "case",
) -> Any:
    """Return the result of the function of the first condition that holds, or of `default` if none does.

    Args:
        pred_fn_pairs: Pairs of a condition, a bool tensor, and a function without arguments; or a dict of
            them. The conditions of a dict are tried in the order of their names, those of an OrderedDict in
            its own order.
        default: The function that is run if no condition holds. Without it, a run in which no condition holds
            fails with InvalidArgumentError.
        exclusive: If True, a run in which more than one condition holds fails with InvalidArgumentError.
        strict: If False, a list or tuple of one item is returned as that item.
        name: The name scope.

    Returns:
        The result of the function that is run. All functions must return the same structure, as for `cond`.

    Raises:
        TypeError: If `pred_fn_pairs` is not made of pairs of a truth value and a function.
        ValueError: If `pred_fn_pairs` is empty.

    >>> import staticgraph as sg
    >>> x = sg.placeholder(sg.float32, [])
    >>> y = sg.case([(x < 0, lambda: -x), (x < 1, lambda: x * x)], default=lambda: x)
    >>> with sg.Session() as sess:
    ...     float(sess.run(y, {x: 0.5}))
    0.25
    """
    pairs = _pairs(pred_fn_pairs)
    with name_scope(name, "case", [pred for pred, _ in pairs]):
        waits = []
        if exclusive:
            preds = ops.stack([convert_to_tensor(pred) for pred, _ in pairs])
            count = reduce_sum(ops.cast(preds, dtype=int32))
            text = "case(exclusive=True): more than one condition holds"
            waits.append(Assert(ops.less_equal(count, 1), [text, preds]))
        if default is None:
            preds = ops.stack([convert_to_tensor(pred) for pred, _ in pairs])
            text = "case(): no condition holds and there is no default"
            waits.append(Assert(ops.reduce_any(preds), [text, preds]))
            default = pairs[-1][1]
            pairs = pairs[:-1]
        with control_dependencies(waits):
            chosen = default
            for pred, function in reversed(pairs):
                chosen = functools.partial(cond, pred, function, chosen, strict=strict)
            return chosen()


def _pairs(pred_fn_pairs: Any) -> list[tuple[Any, Callable[[], Any]]]:
    if isinstance(pred_fn_pairs, OrderedDict):
        pairs = list(pred_fn_pairs.items())
    elif isinstance(pred_fn_pairs, Mapping):
        pairs = sorted(pred_fn_pairs.items(), key=lambda pair: pair[0].name)
    elif isinstance(pred_fn_pairs, list | tuple):
        pairs = [tuple(pair) for pair in pred_fn_pairs]
    else:
        raise misuse(TypeError, f"case(pred_fn_pairs): a list of pairs is needed, not {pred_fn_pairs!r}")
    if not pairs:
        raise misuse(ValueError, "case(pred_fn_pairs): there must be at least one pair")
    for pair in pairs:
        if len(pair) != 2 or not callable(pair[1]):
            raise misuse(TypeError, f"case(pred_fn_pairs): {pair!r} is not a condition and a function")
        if convert_to_tensor(pair[0]).dtype is not bool_:
            raise misuse(TypeError, f"case(pred_fn_pairs): the condition {pair[0]!r} is not a truth value")
    return pairs


def _branch(graph: Graph, pred: Tensor, functions: Sequence[Callable[[], Any]], strict: bool) -> Any:
    """The operation that runs one of `functions`, and what it gives, in their structure."""
    regions = [Region(graph.region) for _ in functions]
    carriers = []
    count_captures(graph, [pred])
    count_more(graph, 4)  # TensorFlow's Switch, switch_t, switch_f and pred_id
    for number, (region, function) in enumerate(zip(regions, functions, strict=True)):
        made = call(graph, region, function)
        with graph.inside(region):
            carriers.append(Carrier(made))
            # An operation stands for the condition under which it runs, as in TensorFlow.
            finish(region, carriers[-1].tensors(number == 0 or pred.dtype is not bool_))
            count_captures(graph, region.results)
    _check_same(carriers)
    _widen_indices(graph, carriers, regions)
    _check_dtypes(regions)
    tensors, controls = captures(regions)
    with graph.control_dependencies(controls):
        outputs = ops.branch_region(pred, tensors, branches=tuple(regions))
    count_more(graph, -1)  # TensorFlow has no operation for the whole
    outputs = (outputs,) if isinstance(outputs, Tensor) else outputs
    if not isinstance(outputs, tuple):  # there are no results: what runs is the operation itself
        own(regions, outputs)
        return outputs
    own(regions, outputs[0].op)
    merged = [identity(t, name="Merge") for t in outputs]
    made = carriers[0].restore(merged)
    single = not strict and isinstance(made, list | tuple) and len(made) == 1 and not hasattr(made, "_make")
    return made[0] if single else made


def _check_same(carriers: Sequence[Carrier]) -> None:
    first = carriers[0]
    for number, other in enumerate(carriers[1:], 2):
        try:
            nest.assert_same_structure(first.structure, other.structure)
        except (ValueError, TypeError) as error:
            text = f"the branches must return the same structure: {headline(error)}"
            raise misuse(type(error), text, "as many values, nested in the same way") from None
        for a, b, kind, unlike in zip(first.leaves, other.leaves, first.kinds(), other.kinds(), strict=True):
            if kind != unlike:
                text = (
                    f"cannot reconcile branches: the first returns {a!r} where branch {number} returns {b!r}"
                )
                raise misuse(ValueError, text, "return a tensor of the same kind in each branch")


def _widen_indices(graph: Graph, carriers: Sequence[Carrier], regions: Sequence[Region]) -> None:
    """Make the indices of IndexedSlices int64 if they are int32 in one branch and int64 in another."""
    for leaf_of in zip(*(carrier.leaves for carrier in carriers), strict=True):
        if isinstance(leaf_of[0], IndexedSlices) and len({leaf.indices.dtype for leaf in leaf_of}) > 1:
            for leaf, region in zip(leaf_of, regions, strict=True):
                with graph.inside(region):
                    wide = ops.cast(leaf.indices, dtype=int64)
                finish(region, [wide if result is leaf.indices else result for result in region.results])


def _check_dtypes(regions: Sequence[Region]) -> None:
    for number, region in enumerate(regions[1:], 2):
        for a, b in zip(regions[0].results, region.results, strict=True):
            if a.dtype is not b.dtype:
                text = f"the first branch returns {a.type} where branch {number} returns {b.type}"
                made = [("the first", a.op.where), ("the other", b.op.where)]
                hint = f"convert one of them: cast(..., sg.{a.dtype.name})"
                raise misuse(UnlikeDtypeError, text, hint, made=made)
