"""GPT-2 small makes one token after the other, with keys and values in variables: the memory is the limit.

All weights are read once for each token, and what is kept of the tokens before it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import staticgraph as sg
from gpu_stages.setting import Setting, seconds_per_call
from staticgraph.compiler.machine import H200

MOST = 1.15  # of the time that it takes to read all once


@dataclass(frozen=True, slots=True)
class Sizes:
    """Sizes of the net."""

    layers: int
    width: int
    heads: int
    words: int
    context: int


GPT2 = Sizes(12, 768, 12, 50257, 1024)
SMALL = Sizes(2, 16, 2, 50, 8)


def run(setting: Setting) -> None:
    """The stage."""
    sizes = SMALL if setting.small else GPT2
    for precision in ("float32", "bfloat16"):
        if setting.within(precision, 6):
            with setting.findings.trying(precision):
                _token(setting, sizes, sg.as_dtype(precision))


def _token(setting: Setting, sizes: Sizes, dtype: Any) -> None:
    with sg.Graph().as_default():
        sg.set_random_seed(1)
        place = sg.placeholder(sg.int32, [])
        step = decoding(sizes, dtype, place)
        number = sum(int(np.prod(v.shape.as_list())) for v in sg.global_variables() if v.shape.rank)
        with setting.session() as session:
            made = [int(session.run(step, {place: n})) for n in range(3)]
            last = {place: sizes.context - 1}
            took = seconds_per_call(lambda: session.run(step, last), lambda: None)
    setting.findings.check(f"{dtype.name}: tokens", all(0 <= word < sizes.words for word in made), f"{made}")
    limit = number * dtype.size / H200.bytes_per_us
    text = f"{number * dtype.size / 1e6:.0f} MB in {limit:.0f} us at {H200.bytes_per_us / 1e6:.1f} TB/s"
    most = None if setting.small else MOST * limit
    setting.findings.measured(
        f"a token of GPT-2 small, {dtype.name}", 1e6 * took, "us", most, most=True, text=text
    )


def decoding(sizes: Sizes, dtype: Any, place: Any) -> Any:
    """Return the word after that in the variable `word`, which it replaces, at a place of the text."""
    heads, each = sizes.heads, sizes.width // sizes.heads

    def weight(name: str, *shape: int) -> Any:
        return sg.get_variable(name, shape, dtype, sg.random_normal_initializer(stddev=0.02))

    def dense(x: Any, name: str, outputs: int) -> Any:
        return sg.matmul(x, weight(name, x.shape[1], outputs))

    def normal(x: Any) -> Any:
        mean, variance = sg.nn.moments(x, [1], keep_dims=True)
        return (x - mean) * sg.rsqrt(variance + sg.constant(1e-5, dtype))

    word = sg.get_variable("word", [], sg.int32, sg.zeros_initializer(), trainable=False)
    words = weight("words", sizes.words, sizes.width)
    x = sg.gather(words, word)[None] + sg.gather(weight("places", sizes.context, sizes.width), place)[None]
    unseen = sg.cast(sg.range(sizes.context) > place, dtype) * sg.constant(-1e4, dtype)
    kept = []
    for n in range(sizes.layers):
        with sg.variable_scope(f"layer{n}"):
            q, *new = sg.split(dense(normal(x), "qkv", 3 * sizes.width), 3, 1)
            seen = []
            for name, row in zip(("keys", "values"), new, strict=True):
                cache = sg.get_variable(name, [sizes.context, sizes.width], dtype, sg.zeros_initializer())
                after = sg.scatter_update(cache, [place], row)
                kept.append(after)
                seen.append(sg.transpose(sg.reshape(after, [sizes.context, heads, each]), [1, 0, 2]))
            scores = sg.matmul(sg.reshape(q, [heads, 1, each]), seen[0], transpose_b=True)
            weights = sg.nn.softmax(scores * sg.constant(each**-0.5, dtype) + unseen)
            x += dense(sg.reshape(sg.matmul(weights, seen[1]), [1, sizes.width]), "out", sizes.width)
            x += dense(sg.nn.relu(dense(normal(x), "up", 4 * sizes.width)), "down", sizes.width)
    following = sg.cast(sg.argmax(sg.matmul(normal(x), words, transpose_b=True), 1)[0], sg.int32)
    with sg.control_dependencies(kept):
        return sg.assign(word, following)
