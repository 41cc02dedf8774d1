"""Random numbers in ONNX: of the same distributions. Which numbers, ONNX leaves to what runs the model."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler.graph.dtypes import DType, float32, float64
from staticgraph.compiler.graph.opdef import ops
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.formats.onnx.write.rules import Use, without, writes
from staticgraph.formats.onnx.write.value import Held

without("ONNX has no truncated normal distribution", "truncated_normal")
without("ONNX has no gamma and no Poisson distribution", "random_gamma random_poisson")
without("ONNX draws no boxes", "sample_distorted_bounding_box")
without(
    "ONNX draws no classes that differ from each other",
    "log_uniform_candidate_sampler uniform_candidate_sampler fixed_unigram_candidate_sampler "
    "log_uniform_classes uniform_classes classes_by_table",
)
without(
    "its numbers are those of one generator, and ONNX names none",
    "stateless_multinomial stateless_random_normal stateless_random_uniform stateless_random_uniform_int "
    "stateless_state stateless_truncated_normal",
)


def _drawn(use: Use, operator: str, shape: Any, dtype: DType, seed: int) -> Any:
    """Numbers of a distribution, drawn by an operator that takes a shape, or a tensor of that shape."""
    entries = use.writer.entries(shape)
    of = dtype if dtype in (float32, float64) else float32
    attrs = {"dtype": of, "seed": float(seed) if seed else None}
    if any(isinstance(n, Held) for n in entries):
        like = ops.fill(use.constant(0, of), dims=tuple(entries))
        made = use(f"{operator}Like", like, type=TensorType(of, like.type.shape), **attrs)
    else:
        made = use(operator, type=TensorType(of, tuple(entries)), shape=entries, **attrs)
    return use.writer.cast(made, dtype)


@writes("random_standard_normal")
def _normal(use: Use, shape: Any, seed: int, seed2: int, dtype: DType) -> Any:
    return _drawn(use, "RandomNormal", shape, dtype, seed2 or seed)


@writes("random_uniform")
def _uniform(use: Use, shape: Any, seed: int, seed2: int, dtype: DType) -> Any:
    return _drawn(use, "RandomUniform", shape, dtype, seed2 or seed)


@writes("random_uniform_int")
def _uniform_int(use: Use, minval: Held, maxval: Held, shape: Any, seed: int, seed2: int) -> Any:
    part = _drawn(use, "RandomUniform", shape, float64, seed2 or seed)
    room = ops.cast(maxval, dtype=float64) - ops.cast(minval, dtype=float64)
    return ops.cast(ops.floor(part * room), dtype=use.dtype) + minval


@writes("random_permutation")
def _permutation(use: Use, size: int, seed: int, seed2: int) -> Any:
    keys = _drawn(use, "RandomUniform", (size,), float32, seed2 or seed)
    _, places = ops.top_k(keys, k=size)
    return ops.cast(places, dtype=use.dtype)


@writes("random_shuffle")
def _shuffle(use: Use, value: Held, seed: int, seed2: int) -> Any:
    if value.rank == 0:
        return value
    keys = _drawn(use, "RandomUniform", (value.shape[0],), float32, seed2 or seed)
    _, places = ops.top_k(keys, k=value.shape[0])
    return ops.gather(value, places, axis=0)


@writes("multinomial")
def _multinomial(use: Use, logits: Held, num_samples: Any, seed: int, seed2: int, output_dtype: DType) -> Any:
    """The largest of the logits and noise of Gumbel's distribution: ONNX's operator takes few types."""
    (count,) = use.writer.entries(num_samples)
    shape = (logits.shape[0], count, logits.shape[1])
    noise = -ops.log(-ops.log(_drawn(use, "RandomUniform", shape, float32, seed2 or seed)))
    return ops.argmax(
        ops.cast(ops.expand_dims(logits, axis=1), dtype=float32) + noise, axis=2, output_type=output_dtype
    )
