"""A short name for what a step computes, the same in every process: the key of its program on a disk."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from enum import Enum

import numpy as np

from staticgraph.compiler.capture.step import Step
from staticgraph.compiler.graph.dtypes import DType
from staticgraph.compiler.graph.function import Function, Literal, Node, Value
from staticgraph.compiler.graph.opdef import OPS
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.graph.sizes import Size

MOST_DATA = 4 << 20  # bytes of constants: as long as many programs fit on the disk


class NoDigest(Exception):
    """A step holds what has no name outside of this process, such as a function in Python."""


def step_digest(step: Step) -> str:
    """A hash of all that decides the program of a step, but for the compiler and its options. NoDigest if
    there is none.

    >>> from staticgraph.compiler.graph.builder import Builder
    >>> def line(slope):
    ...     x = Builder().parameter("x", "float32", (2,))
    ...     return Step(Function((x,), (x * slope + 1,)), (), (), (), (), 1, ())
    >>> step_digest(line(2.0)) == step_digest(line(2.0)), step_digest(line(2.0)) == step_digest(line(3.0))
    (True, False)
    """
    speller = _StepSpeller({})
    speller.function(step.function)
    counts = [len(each) for each in (step.feeds, step.reads, step.counters, step.writes, step.draws)]
    updates = sorted(step.updates.items())
    speller.words.append(f"{counts} {step.advances} {step.fetches} {updates} {step.losses} {step.checked}")
    return speller.digest()


class _StepSpeller:
    """Writes a Function as words that tell it from all others."""

    def __init__(self, digests: dict[Function, str]) -> None:
        self.digests = digests  # of Functions inside of loops and branches
        self.types: dict[int, str] = {}  # by the id of a type: equal ones are one object in a Function
        self.words: list[str] = []
        self.data = 0  # bytes of constants

    def function(self, function: Function) -> None:
        numbers: dict[Node, int] = {}
        nodes = [p.node for p in function.params]
        for node in dict.fromkeys([*nodes, *function.nodes]):
            if OPS.get(node.op.name) is not node.op or not node.op.type.__module__.startswith("staticgraph."):
                raise NoDigest(node.op.name)
            inputs = _places(node.inputs, numbers)
            numbers[node] = len(numbers)
            attrs = " ".join([f"{name}={self.spelled(value)}" for name, value in node.attrs.items()])
            types = " ".join([self.typed(v.type) for v in node.outputs])
            self.words.append(f"{node.op.name}({inputs}) {attrs} -> {types}")
        self.words.append(f"({_places(function.params, numbers)}) -> ({_places(function.results, numbers)})")

    def typed(self, type: TensorType) -> str:
        """The type of a value, which the Function keeps."""
        found = self.types.get(id(type))
        if found is None:
            found = self.types[id(type)] = str(type)
        return found

    def spelled(self, value: object) -> str:
        """The value of an attribute."""
        match value:
            case Size():
                return f"size {value!r}"
            case None | bool() | int() | float() | complex() | str() | bytes():
                return repr(value)
            case DType() | TensorType():
                return f"{type(value).__name__} {value}"
            case Enum():
                return str(value)
            case tuple() | list():
                return f"{type(value).__name__}({', '.join(map(self.spelled, value))})"
            case dict():
                items = (f"{self.spelled(key)}: {self.spelled(item)}" for key, item in value.items())
                return f"{{{', '.join(items)}}}"
            case Literal(data, dtype, shape):
                return f"literal {dtype} {shape} {self.hashed(data)}"
            case np.ndarray() if value.dtype != object:
                return f"array {value.dtype} {value.shape} {self.hashed(value.tobytes())}"
            case np.generic() if value.dtype != object:
                return f"scalar {value.dtype} {value!r}"
            case Function():
                # A digest is short, however deep Functions lie in each other.
                if value not in self.digests:
                    inner = _StepSpeller(self.digests)
                    inner.function(value)
                    self.data += inner.data
                    self.digests[value] = inner.digest()
                return f"function {self.digests[value]}"
        raise NoDigest(type(value).__name__)

    def digest(self) -> str:
        return hashlib.blake2b("\n".join(self.words).encode(), digest_size=16).hexdigest()

    def hashed(self, data: bytes) -> str:
        self.data += len(data)
        if self.data > MOST_DATA:
            raise NoDigest(f"{self.data} bytes of constants")
        return hashlib.blake2b(data, digest_size=16).hexdigest()


def _places(values: Iterable[Value], numbers: dict[Node, int]) -> str:
    return ", ".join([f"{numbers[v.node]}:{v.index}" for v in values])
