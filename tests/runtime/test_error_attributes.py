"""Errors have `op`, `node_def`, `error_code` and `message`, as TensorFlow 1.15.5's.

The witness is TensorFlow: the classes, codes, and operations below were printed by it for the same programs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.tf1.compat.legacy import errors as others

# fmt: off
CODES = {
    "AbortedError": 10, "AlreadyExistsError": 6, "CancelledError": 1, "DataLossError": 15,
    "DeadlineExceededError": 4, "FailedPreconditionError": 9, "InternalError": 13,
    "InvalidArgumentError": 3, "NotFoundError": 5, "OutOfRangeError": 11, "PermissionDeniedError": 7,
    "ResourceExhaustedError": 8, "UnauthenticatedError": 16, "UnavailableError": 14,
    "UnimplementedError": 12, "UnknownError": 2,
}
# fmt: on


def vector() -> Any:
    return sg.placeholder(sg.float32, [None], name="x")


def closed_queue() -> Any:
    queue = sg.FIFOQueue(2, sg.float32, name="q")
    with sg.control_dependencies([queue.close()]):
        return queue.dequeue(name="deq")


def assertion() -> Any:
    with sg.control_dependencies([sg.Assert(sg.less(vector()[0], 0.0), ["no"], name="a")]):
        return sg.constant(1.0)


# What is fetched; then, by TensorFlow: the class, its code, the operation's name and type.
CASES: dict[str, tuple[Callable[[], Any], str, int, str, str]] = {
    "not fed": (lambda: sg.placeholder(sg.float32, name="p"), "InvalidArgumentError", 3, "p", "Placeholder"),
    "reshape": (lambda: sg.reshape(vector(), [3], name="r"), "InvalidArgumentError", 3, "r", "Reshape"),
    "numerics": (
        lambda: sg.check_numerics(sg.log(vector() - 2.0), "bad", name="cn"),
        "InvalidArgumentError",
        3,
        "cn",
        "CheckNumerics",
    ),
    "inverse": (
        lambda: sg.matrix_inverse(sg.reshape(vector() * 0.0, [1, 1]), name="inv"),
        "InvalidArgumentError",
        3,
        "inv",
        "MatrixInverse",
    ),
    "function": (
        lambda: sg.py_func(lambda a: 1 / 0, [vector()], sg.float32, name="pf"),
        "UnknownError",
        2,
        "pf",
        "PyFunc",
    ),
    "queue": (closed_queue, "OutOfRangeError", 11, "deq", "QueueDequeueV2"),
    "file": (lambda: sg.read_file("/none/x", name="rf"), "NotFoundError", 5, "rf", "ReadFile"),
    "assertion": (assertion, "InvalidArgumentError", 3, "a/Assert", "Assert"),
}


@pytest.mark.parametrize("case", CASES)
def test_of_a_run(case: str):
    build, kind, code, name, type = CASES[case]
    fetch = build()
    feeds = {op.outputs[0]: [1.0] for op in sg.get_default_graph().get_operations() if op.name == "x"}
    with sg.Session() as sess, pytest.raises(getattr(sg.errors, kind)) as caught:
        sess.run(fetch, feeds)
    error = caught.value
    assert error.error_code == code
    assert error.op is sg.get_default_graph().get_operation_by_name(error.op.name)
    assert (error.node_def.name, error.node_def.op) == (error.op.name, error.op.type)
    assert error.op.name.startswith(name.partition("/")[0]) and error.op.type == type
    assert error.message in str(error)


@pytest.mark.parametrize("name", CODES)
def test_codes(name: str):
    kind = getattr(sg.errors, name, None) or getattr(others, name)
    made = kind(None, None, "text")
    assert (made.message, str(made), made.op, made.node_def) == ("text", "text", None, None)
    assert made.error_code == CODES[name]


def test_tensorflows_order_of_arguments():
    op = sg.constant(1.0, name="c").op
    error = sg.errors.OutOfRangeError(node_def="node", op=op, message="text")
    assert (error.node_def, error.op, error.message) == ("node", op, "text")
    error = sg.errors.OpError(None, op, "text", 7)
    assert (error.error_code, error.node_def.name, error.message) == (7, "c", "text")
    error = sg.errors.OpError("text", op, "cure")
    assert (error.message, error.hint, error.error_code) == ("text", "cure", 2)


def test_an_operation_that_cannot_be_written_has_no_node_def():
    class Lost:
        name = "lost"

        @property
        def graph(self) -> Any:
            raise RuntimeError("gone")

    assert sg.errors.UnknownError("text", Lost()).node_def is None


def test_an_error_within_one_line_of_several_operations_may_have_no_op():
    x = vector()
    y = [sg.reshape(sg.reshape(x, [3]), [3]), sg.reshape(x, [4])]
    with sg.Session() as sess, pytest.raises(sg.errors.InvalidArgumentError) as caught:
        sess.run(y, {x: np.ones(2)})
    assert caught.value.op is None or caught.value.op.type == "Reshape"
