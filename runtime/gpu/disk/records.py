"""Programs of a GPU as JSON: their instructions, with the work of each launch beside them.

Of a launch, a run needs the buffers and their places alone; of a loop or branch, what its node says of
rounds. So nothing of the graph is in a file. A record is an object with one key, the name of its class:

    Copy(Ref(0, 64), Ref(5), n0 * 4)        {"Copy": [{"Ref": [0, 64]}, {"Ref": [5, 0]}, {"size": ...}]}

A function is written where it is first called; from then on, its number is enough.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from enum import Enum
from typing import Any

from staticgraph.compiler import ops
from staticgraph.compiler.codegen.cuda.function import CudaFunction, FunctionCall, KernelWork, Parameter
from staticgraph.compiler.graph.dtypes import DTYPES, DType
from staticgraph.compiler.graph.function import Node
from staticgraph.compiler.graph.open_sizes import of_data, to_data
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.graph.sizes import Size
from staticgraph.compiler.kernel.schedule_gpu.products.convolution import Convolution, Made
from staticgraph.compiler.kernel.schedule_gpu.products.product import Matrix, Precision, Product
from staticgraph.compiler.kernel.stmt import Buffer
from staticgraph.compiler.lower.program import (
    Branch,
    Carried,
    Constants,
    Copy,
    Inner,
    Launch,
    LoopInstruction,
    Loops,
    Program,
    Ref,
    Require,
    RowAt,
    buffers_of,
    walk,
)

_PLAIN: tuple[type, ...] = (
    *(Branch, Buffer, Carried, Convolution, Copy, FunctionCall, Inner, KernelWork, LoopInstruction),
    *(Matrix, Parameter, Product, Ref, Require, RowAt, TensorType),
)
_RECORDS: Mapping[str, Callable[..., Any]] = {kind.__name__: kind for kind in (*_PLAIN, Made, Precision)}
_INSTRUCTIONS = (Launch, Copy, LoopInstruction, Branch, Require)
_ABOUT_ROUNDS = ("bound", "exact", "brief")  # attributes of a loop that a run looks at


def is_storable(program: Program) -> bool:
    """Return True if a file can have a program: it calls nothing on the host."""
    return all(isinstance(instruction, _INSTRUCTIONS) for instruction, _ in walk(program))


class Encoder:
    """Gives the JSON of values. Later ones may refer to functions of earlier ones."""

    def __init__(self) -> None:
        self._functions: dict[str, int] = {}

    def __call__(self, value: Any) -> Any:
        """Return the JSON of a program, of a work, or of tuples of them."""
        match value:
            case tuple() | list():
                return [self(each) for each in value]
            case Size():
                return {"size": to_data(value)}
            case DType():
                return {"dtype": value.name}
            case Enum():
                return {type(value).__name__: [value.value]}
            case CudaFunction():
                return {"function": self._function(value)}
            case Launch():
                return {"launch": [self(tuple(buffers_of(value.work).items())), self(value.args)]}
            case Node():
                attrs = [[name, self(value.attrs[name])] for name in _ABOUT_ROUNDS if name in value.attrs]
                return {"node": [value.op.name, attrs]}
            case Program():
                return {"program": [self(each) for each in _told(value)]}
        if isinstance(value, _PLAIN):
            return {type(value).__name__: self(_values(value))}
        assert value is None or isinstance(value, (bool, int, float, str)), value
        return value

    def _function(self, function: CudaFunction) -> Any:
        if function.name in self._functions:
            return self._functions[function.name]
        self._functions[function.name] = len(self._functions)
        return self(_values(function))


class Decoder:
    """Gives the values of JSON, in the order in which one `Encoder` told them."""

    def __init__(self) -> None:
        self._functions: list[CudaFunction] = []

    def __call__(self, data: Any) -> Any:
        """Return the value. Lists are tuples."""
        if isinstance(data, list):
            return tuple([self(each) for each in data])
        if not isinstance(data, dict):
            return data
        ((kind, content),) = data.items()
        match kind:
            case "size":
                return of_data(content)
            case "dtype":
                return DTYPES[content]
            case "function":
                return self._function(content)
            case "launch":
                buffers, args = self(content)
                return Launch(Loops((), buffers), args, (), (), ())
            case "node":
                name, attrs = self(content)
                return Node(getattr(ops, name), (), dict(attrs), (), 0, None, None)
            case "program":
                return _program(*self(content))
        return _RECORDS[kind](*self(content))

    def _function(self, content: Any) -> CudaFunction:
        if isinstance(content, int):
            return self._functions[content]
        self._functions.append(CudaFunction(*self(content)))
        return self._functions[-1]


def _values(record: Any) -> tuple[Any, ...]:
    return tuple(getattr(record, field.name) for field in fields(record))


def _told(program: Program) -> tuple[Any, ...]:
    types = program.arguments, program.results
    rest = program.fetches, sorted(program.in_place), program.arena, program.opens
    return (program.instructions, *types, *rest)


def _program(
    instructions: Any, arguments: Any, results: Any, fetches: int, in_place: Any, arena: Any, opens: bool
) -> Program:
    """A program, but for its constants."""
    own = Constants()
    return Program(
        instructions, arguments, results, fetches, frozenset(in_place), arena, own, (), opens=opens
    )
