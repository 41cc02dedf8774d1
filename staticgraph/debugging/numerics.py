"""Checks for elements that are NaN or infinite."""

from __future__ import annotations

from typing import Any

from staticgraph.building.framework import control_dependencies, graph_of, name_scope
from staticgraph.building.inputs import convert_to_tensor, group, identity
from staticgraph.building.signatures import needed, renamed
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import float16, float32, float64
from staticgraph.compiler.graph.errors import RegionError, misuse
from staticgraph.compiler.graph.graph import get_default_graph
from staticgraph.compiler.graph.tensor import Operation, Tensor


def check_numerics(tensor: Any, message: str, name: str | None = None) -> Tensor:
    """`tensor`; InvalidArgumentError, beginning with `message`, in a run where it has a NaN or infinity.

    >>> x = sg.placeholder(sg.float32, [])
    >>> with sg.Session() as sess:
    ...     sess.run(sg.check_numerics(sg.sqrt(x), "a root"), {x: -1.0})
    Traceback (most recent call last):
    ...
    staticgraph.compiler.graph.errors.InvalidArgumentError: CheckNumerics (CheckNumerics): a root : ...
    """
    return ops.check_numerics(convert_to_tensor(tensor, name="tensor"), message=message, name=name)


def assert_all_finite(
    t: Any = None, msg: str | None = None, name: str | None = None, x: Any = None, message: str | None = None
) -> Tensor:
    """`x`, given out when `check_numerics` has checked it. `t` and `msg` are the arguments' old names."""
    x = renamed("x", x, "t", t)
    message = renamed("message", message, "msg", msg)
    needed("assert_all_finite", x=x, message=message)
    with graph_of([x]).as_default(), name_scope(name, "VerifyFinite", [x]):
        x = convert_to_tensor(x, name="x")
        with control_dependencies([check_numerics(x, str(message))]):
            return identity(x, name="control_dependency")


verify_tensor_all_finite = assert_all_finite


def add_check_numerics_ops() -> Operation:
    """An operation that checks every floating tensor made so far, in order; errors name the tensor.

    ValueError if the graph has loops or branches: the tensors inside are not seen from outside.

    >>> y = sg.log(sg.placeholder_with_default(0.0, [], name="x"), name="y")
    >>> check = sg.add_check_numerics_ops()
    >>> with sg.Session() as sess:
    ...     sess.run(check)
    Traceback (most recent call last):
    ...
    staticgraph.compiler.graph.errors.InvalidArgumentError: CheckNumerics_2 (CheckNumerics): y:0 : ...
    """
    checks = []
    for op in get_default_graph().get_operations():
        for output in op.outputs:
            if output.dtype not in (float16, float32, float64) or op.definition.name == "variable":
                continue
            if op.region is not None:
                text = f"add_check_numerics_ops() cannot check {output.name} inside of a loop or branch"
                raise misuse(RegionError, text, made=[(output.name, op.where)])
            checks.append(check_numerics(output, f"{op.name}:{output.value_index}"))
    return group(*checks)
