"""Numbers of operations that TensorFlow 1.15 makes for the derivative of a loop, beside those of its body.

Forward, TensorFlow's loop gets a counter of its iterations. Backward there is a loop that counts down.
A value of the body that a gradient function reads is pushed on a stack in each iteration, and popped in the
backward loop. The cotangents of what the loop uses from outside are added up by it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence

from staticgraph.compiler.graph.tensor import Operation, Region, Tensor
from staticgraph.differentiation.operation_rules import equal_shapes

FORWARD_COUNTER = 8  # a zero, Enter, Merge, Switch, one, Add, NextIteration, Exit
BACKWARD_COUNTER = 10  # one, which enters too, Enter, Merge, the comparison, LoopCond, Switch, Sub, and so on
COUNTERS = FORWARD_COUNTER + BACKWARD_COUNTER
CARRIED = 5  # of a cotangent that goes round the loop: Enter, Merge, Switch, Exit and NextIteration
NOT_NEEDED = 1  # Enter, of zeros for a variable that no other depends on
_NOT_CARRIED = 2  # Enter and Merge of a loop variable that no derivative is asked of
_CUT = 2  # zeros for its further iterations, and NextIteration
_CUT_OPEN = 4  # the same, with zeros of a shape that the run tells
_ACCUMULATED = 7  # of a value from outside: zeros, Enter, Merge, Switch, Add, NextIteration and Exit
_ACCUMULATED_OPEN = 9
_STACK = 6  # its size, the stack, Enter, push; Enter and pop
_SYNC = 1  # what orders the pops of an iteration

_OUTPUT = -1
_READ: dict[str, tuple[int, ...]] = {  # positions of the inputs that gradient functions read, or the output
    "Mul": (0, 1), "Div": (0, 1), "RealDiv": (0, 1), "Maximum": (0, 1), "Minimum": (0, 1),
    "SquaredDifference": (0, 1), "MatMul": (0, 1), "BatchMatMul": (0, 1), "BatchMatMulV2": (0, 1),
    "Pow": (0, 1, _OUTPUT), "Square": (0,), "Abs": (0,), "Log": (0,), "Log1p": (0,), "Sin": (0,), "Cos": (0,),
    "Softplus": (0,), "LeakyRelu": (0,), "Sqrt": (_OUTPUT,), "Rsqrt": (_OUTPUT,), "Exp": (_OUTPUT,),
    "Tanh": (_OUTPUT,), "Sigmoid": (_OUTPUT,), "Relu": (_OUTPUT,), "Relu6": (_OUTPUT,), "Elu": (_OUTPUT,),
    "Selu": (_OUTPUT,), "Reciprocal": (_OUTPUT,), "Softmax": (_OUTPUT,), "LogSoftmax": (_OUTPUT,),
    "TensorArrayWriteV3": (1,),
}  # fmt: skip
# Both shapes are read if one is open.
_BROADCASTING = ("Add", "AddV2", "Sub", "Mul", "SquaredDifference", "Pow")
_SHAPES_OF_BOTH = ("Div", "RealDiv", "Maximum", "Minimum", "BatchMatMul", "BatchMatMulV2")
_SHAPE_OF_INPUT = ("Reshape", "ExpandDims", "Squeeze", "StridedSlice", "Sum", "Mean")
_CONSTANTS = {"ConcatV2": 1, "Split": 1, "Transpose": 1, "StridedSlice": 3}  # that a gradient function takes


def is_read_of_rows(op: Operation) -> bool:
    """Return True if an operation is a TensorArray's read, which is a lookup here."""
    return op.type == "GatherV2" and op.name.rpartition("/")[2].startswith("TensorArrayRead")


def rows_moved(op: Operation) -> int:
    """Return the operations of the derivative of a TensorArray's `stack` or `unstack`, which is nothing here:
    an array of cotangents, its flow, and a scatter or gather.
    """
    last = op.name.rpartition("/")[2]
    return 3 if op.type == "Identity" and last.startswith(("TensorArrayStack", "TensorArrayUnstack")) else 0


def is_unstacking(op: Operation) -> bool:
    """Return True if an operation is a TensorArray's `unstack`, which passes on cotangents of two values."""
    return rows_moved(op) > 0 and op.name.rpartition("/")[2].startswith("TensorArrayUnstack")


def accumulator(tensor: Tensor) -> int:
    """Return the operations that add up the cotangents of a value from outside of a loop."""
    return _ACCUMULATED if tensor.type.is_static or rows_moved(tensor.op) else _ACCUMULATED_OPEN


def not_carried(tensor: Tensor) -> int:
    """Return the operations of the cotangent of a loop variable that no derivative is asked of."""
    return _NOT_CARRIED + (_CUT if tensor.type.is_static else _CUT_OPEN)


class Reads:
    """The forward values that the gradient functions of one loop's body read, each saved once."""

    def __init__(self, body: Region) -> None:
        self._body = body
        self._known: set[Hashable] = set()
        self._stacks = 0
        self._others = 0

    @property
    def operations(self) -> int:
        """The number of operations that save and restore them."""
        return self._others + self._stacks * _STACK + (_SYNC if self._stacks else 0)

    def note(self, op: Operation) -> None:
        """Note what the gradient function of `op`, which is in the body, reads."""
        tensors = op.tensors
        if is_read_of_rows(op):
            self._value(tensors[1])
            self._others += 2  # the handle and the flow enter the backward loop
            return
        for position in _READ.get(op.type, ()):
            self._value(op.outputs[0] if position == _OUTPUT else tensors[position])
        if op.type == "TensorArrayWriteV3":
            self._others += 1  # the handle
        if op.type in _BROADCASTING and not _same_shapes(op):
            both = tensors[0].type.is_static and tensors[1].type.is_static
            self._stacks += 0 if both else 2
        elif op.type in _SHAPES_OF_BOTH:
            self._stacks += sum(not x.type.is_static for x in tensors[:2])
        elif op.type in _SHAPE_OF_INPUT:
            self._stacks += not tensors[0].type.is_static
        elif op.type == "ConcatV2" and not all(x.type.is_static for x in tensors):
            for x in tensors:
                self._value(x)
        elif op.type in ("Select", "SelectV2"):
            self._choice(op)
        if (
            op.type in ("Sum", "Mean")
            and not tensors[0].type.is_static
            and op.operands.get("axis") is not None
        ):
            self._others += 1  # the axes
        self._others += _CONSTANTS.get(op.type, 0)

    def _choice(self, op: Operation) -> None:
        """Note the condition of a choice, and what zeros are made like."""
        condition = op.tensors[0]
        while condition.op.type == "ExpandDims":  # TensorFlow's choice takes a vector for rows
            condition = condition.op.tensors[0]
        self._value(condition)
        _, x, y = op.tensors[:3]
        kept = y.op.type == "ZerosLike" or y in self._body.params  # a sequence that has ended
        like = y if kept else x
        if like.op.type == "ZerosLike":
            self._others += not like.type.is_static  # TensorFlow's zeros come from outside of the loop
        elif not like.type.is_static:
            self._value(like)

    def _value(self, tensor: Tensor) -> None:
        if tensor in self._known:
            return
        self._known.add(tensor)
        if tensor.op.region is not self._body or tensor.op.type == "Const":
            self._others += 1  # an Enter, or the constant once more
        else:
            self._stacks += 1


def _same_shapes(op: Operation) -> bool:
    return equal_shapes(op) and (op.type != "Mul" or op.outputs[0].dtype.name == "float32")


def needed_of(
    body: Region,
    floating: Sequence[int],
    received: Sequence[int],
    between: Callable[..., set[Operation]],
) -> list[int]:
    """Return which loop variables the results of those that received a cotangent depend on, these included.

    Args:
        body: The body of the loop.
        floating: The positions of the variables that have derivatives.
        received: The positions of those that received a cotangent.
        between: A function of ys, xs and True, which gives the operations on ways between them.
    """

    def on_the_way(needed: list[int]) -> Iterable[int]:
        found = between([body.results[n] for n in needed], [body.params[n] for n in floating], True)
        return (n for n in floating if body.params[n].op in found)

    return _closed(received, on_the_way)


def carried_to(
    body: Region,
    floating: Sequence[int],
    begun: Sequence[int],
    captured: Sequence[Tensor],
    between: Callable[..., set[Operation]],
) -> list[int]:
    """Return which loop variables depend on what derivatives are asked by.

    Args:
        body: The body of the loop.
        floating: The positions of the variables that have derivatives.
        begun: Those whose first value depends on it.
        captured: The values from outside that depend on it.
        between: A function of ys, xs and True, which gives the operations on ways between them.
    """

    def dependent(reached: list[int]) -> Iterable[int]:
        ends = [*(body.params[n] for n in reached), *captured]
        found = between([body.results[n] for n in floating], ends, True)
        return (n for n in floating if body.results[n].op in found)

    return _closed(begun, dependent)


def _closed(first: Sequence[int], following: Callable[[list[int]], Iterable[int]]) -> list[int]:
    """Return some loop variables, those that follow from them, what follows from these, and so on."""
    found = list(first)
    while more := [n for n in following(found) if n not in found]:
        found += more
    return found
