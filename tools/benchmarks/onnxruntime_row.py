"""ONNX Runtime on the CPU, for inference only: all graph optimizations, weights as initializers.

Graphs are written with onnx.helper, as an exporter would write them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

from benchmarks.residual import Conv
from benchmarks.workloads import Data, chain

Step = Callable[[], Any]
cores = 1


def setup(row: str, threads: int) -> str:
    """Set the number of threads; the version."""
    global cores
    cores = threads
    return f"onnxruntime {onnxruntime.__version__}"


class Value(str):
    """The name of a value in a graph, with the operators that workloads use."""

    graph: Graph

    def __add__(self, other: str) -> Value:
        return self.graph.op("Add", self, other)

    def __mul__(self, other: Any) -> Value:
        return self.graph.op("Mul", self, other)


class Graph:
    """Collects nodes and initializers."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.initializers: list[Any] = []
        self.names = itertools.count()

    def value(self, name: str) -> Value:
        made = Value(name)
        made.graph = self
        return made

    def constant(self, value: Any) -> Value:
        name = self.value(f"c{next(self.names)}")
        array = np.array(value, np.float32, order="C")
        self.initializers.append(numpy_helper.from_array(array, name))
        return name

    def op(self, kind: str, *inputs: Any, **attributes: Any) -> Value:
        """A node with one output. Numbers become constants."""
        name = self.value(f"v{next(self.names)}")
        names = [i if isinstance(i, str) else self.constant(i) for i in inputs]
        self.nodes.append(helper.make_node(kind, names, [name], **attributes))
        return name

    def runner(self, data: Data, names: str, results: dict[str, list[int]]) -> Step:
        """Return a step on the next batch. `names`: a letter per input; `results`: shapes by name."""
        inputs = {name: list(array.shape) for name, array in zip(names, data.batches[0], strict=True)}
        described = [
            [
                helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)
                for name, shape in part.items()
            ]
            for part in (inputs, results)
        ]
        graph = helper.make_graph(self.nodes, "graph", *described, self.initializers)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = cores, 1
        options.log_severity_level = 3
        session = onnxruntime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
        turn = itertools.cycle(data.batches)
        return lambda: session.run(None, dict(zip(names, next(turn), strict=True)))


def scalar(data: Data) -> Step:
    graph = Graph()
    a, b = (graph.constant(data.weights[name]) for name in "ab")
    run = graph.runner(data, "x", {a * graph.value("x") + b: []})
    return lambda: float(run()[0])


def black_scholes(data: Data) -> Step:
    graph = Graph()
    op, interest = graph.op, data.settings["interest"]
    spot, strike, time, volatility = map(graph.value, "sktv")
    deviation = volatility * op("Sqrt", time)
    drift = (volatility * volatility * 0.5 + graph.constant(interest)) * time
    d1 = op("Div", op("Log", op("Div", spot, strike)) + drift, deviation)
    one = graph.constant(1)
    n1, n2 = ((op("Erf", d * math.sqrt(0.5)) + one) * 0.5 for d in (d1, op("Sub", d1, deviation)))
    discounted = strike * op("Exp", time * -interest)
    call = op("Sub", spot * n1, discounted * n2)
    put = op("Sub", call, spot) + discounted
    shape = list(data.batches[0][0].shape)
    run = graph.runner(data, "sktv", {call: shape, put: shape})
    return lambda: tuple(run())


def resnet50(data: Data) -> Step:
    graph, net = Graph(), data.settings["net"]
    op, w = graph.op, data.weights

    def biased(conv: Conv, x: str) -> Value:
        weights, half = w[conv.name + ".w"].transpose(3, 2, 0, 1), conv.window // 2
        shape = {"kernel_shape": [conv.window] * 2, "strides": [conv.stride] * 2, "pads": [half] * 4}
        return op("Conv", x, weights, w[conv.name + ".b"], **shape)

    x = op("Transpose", graph.value("x"), perm=[0, 3, 1, 2])
    pool = {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1] * 4}
    h = op("MaxPool", op("Relu", biased(net.stem, x)), **pool)
    for block in net.blocks:
        direct = biased(block.shortcut, h) if block.shortcut else h
        first, second, third = block.convs
        inner = op("Relu", biased(second, op("Relu", biased(first, h))))
        h = op("Relu", biased(third, inner) + direct)
    logits = op("Gemm", op("Flatten", op("GlobalAveragePool", h)), w["fc.w"], w["fc.b"])
    run = graph.runner(data, "x", {logits: [1, len(w["fc.b"])]})
    return lambda: run()[0]


def dag(data: Data) -> Step:
    graph = Graph()
    w, c = (graph.constant(data.weights[name]) for name in "wc")

    def matmul(a: Value, b: Value) -> Value:
        return graph.op("MatMul", a, b)

    result = chain(graph.value("x"), w, c, data.settings["nodes"], matmul, lambda a: graph.op("Tanh", a))
    run = graph.runner(data, "x", {result: [8, 8]})
    return lambda: run()[0]
