"""Operators that draw random numbers."""

from __future__ import annotations

from staticgraph.compiler.graph.dtypes import float32
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.formats.onnx.nodes import Node, operator
from staticgraph.formats.onnx.values import cast, sizes, vector
from staticgraph.random_numbers.random_ops import multinomial, random_normal, random_uniform


def _seed(node: Node) -> int | None:
    given = node.get("seed")
    return None if given is None else int(given)


def _drawn(node: Node, shape: object, number: int) -> Tensor:
    dtype = node.element_type(number)
    if "Normal" in node.type:
        made = random_normal(shape, node.get("mean", 0.0), node.get("scale", 1.0), float32, _seed(node))
    else:
        made = random_uniform(shape, node.get("low", 0.0), node.get("high", 1.0), float32, _seed(node))
    return cast(made, dtype)


@operator("RandomNormal", "RandomUniform")
def _random(node: Node) -> Tensor:
    return _drawn(node, tuple(node.required("shape")), node.get("dtype", 1))


@operator("RandomNormalLike", "RandomUniformLike")
def _random_like(node: Node, x: Tensor) -> Tensor:
    shape = vector(sizes(x))
    return cast(
        _drawn(node, shape, 1), node.element_type(node.get("dtype")) if node.get("dtype") else x.dtype
    )


@operator("Bernoulli")
def _bernoulli(node: Node, x: Tensor) -> Tensor:
    """1 with the probability that each element is."""
    dtype = node.element_type(node.get("dtype")) if node.get("dtype") else x.dtype
    return cast(random_uniform(vector(sizes(x)), dtype=float32, seed=_seed(node)) < cast(x, float32), dtype)


@operator("Multinomial")
def _multinomial(node: Node, x: Tensor) -> Tensor:
    dtype = node.element_type(node.get("dtype", 6))
    return cast(multinomial(x, node.get("sample_size", 1), seed=_seed(node)), dtype)
