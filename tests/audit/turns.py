"""Runs of one session in turn: a good one, then others with operands of other sizes and numbers.

The graph leaves most sizes open, so the program of an earlier run is used again where it is good, and a new
one is made where it is not. Each run is refused, or gives what the op means. With gradients, those must stay
within their memory, too.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from random import Random
from typing import Any

import numpy as np

import staticgraph as sg
from staticgraph.compiler import ops
from staticgraph.compiler.graph.opdef import Effect
from tests.audit.guarded import feed, foreign
from tests.audit.trial import BY_RULE, REFUSED, compared, meaning
from tests.audit.variants import other_sizes, with_shape, with_values
from tests.ops.harness import Use, as_tuple

RUNS = 10  # after the good one


def in_turn(use: Use, chance: Random) -> Iterator[tuple[Use, Callable[[], str]]]:
    """Build a use of an op with open sizes, and run it and others of the same ranks.

    Args:
        use: The first run.
        chance: Chooses the sizes that are known, if gradients are taken, and the other runs.

    Yields:
        Each run, and a function that does it and tells its fate in the words of `judged`.
    """
    with sg.Graph().as_default(), warnings.catch_warnings(action="ignore"):
        try:
            inputs, fetches, slopes = _built(use, chance)
        except (*REFUSED, LookupError):  # LookupError: an op without a derivative
            return
        with sg.Session(memory_limit=1 << 29) as session:
            for each in (use, *(_drawn(use, chance) for _ in range(RUNS))):
                yield each, partial(_run, session, each, inputs, fetches, slopes)


def _built(use: Use, chance: Random) -> tuple[list[Any], list[Any], list[Any]]:
    """Tensors for the operands, what the op gives for them, and gradients."""
    inputs: list[Any] = []
    for number, (array, dtype) in enumerate(use.seen):
        if use.changes(number):
            inputs.append(sg.Variable(array, dtype=dtype))
            continue
        inputs.append(ops.placeholder(dtype, [n if chance.random() < 0.25 else None for n in array.shape]))
    made = use.call(inputs)
    fetches = [t for t in made if isinstance(t, sg.Tensor)] or list(made)
    fetches += [v for place, v in enumerate(inputs) if place and use.changes(place)]
    ys, xs = ([t for t in each if _is_real(t)] for each in (made, inputs))
    slopes = sg.gradients(ys, xs) if ys and xs and chance.random() < 0.4 else []
    return inputs, fetches, [g for g in slopes if isinstance(g, sg.Tensor)]


def _is_real(value: Any) -> bool:
    return isinstance(value, sg.Tensor | sg.Variable) and value.dtype.base_dtype.is_floating


def _drawn(use: Use, chance: Random) -> Use:
    """A use of the same ranks and attributes that differs in up to three places."""
    hidden = len(use.arrays) - len(use.seen)
    changing = [n for n in range(hidden, len(use.arrays)) if not use.changes(n - hidden)]
    for _ in range(chance.choice([1, 1, 2, 3]) if changing else 0):
        number = chance.choice(changing)
        shapes = [*other_sizes(use.arrays[number].shape)]
        if shapes and chance.random() < 0.6:
            use = with_shape(use, number, chance.choice(shapes))
        else:
            use = with_values(use, number, chance)
    return use


def _run(session: Any, use: Use, inputs: list[Any], fetches: list[Any], slopes: list[Any]) -> str:
    wanted = meaning(use)
    feeds = {}
    for number, (tensor, (array, dtype)) in enumerate(zip(inputs, use.seen, strict=True)):
        if not use.changes(number):
            feeds[tensor] = feed(array.astype(dtype.numpy))
    try:
        session.run(sg.global_variables_initializer())
        found = as_tuple(tuple(session.run([*fetches, *slopes], feeds, timeout=5.0)))
    except (*REFUSED, MemoryError) as error:
        return "refused" if isinstance(wanted, str) else f"refused late: {error!s:.300}"
    except Exception as error:
        if isinstance(error, ValueError) and "Cannot feed" in str(error):
            return "refused"
        return f"fault: the run raises {error!r}"
    if any(a is not None and foreign(np.asarray(a)) for a in found):
        return "fault: foreign bytes in a result"
    if isinstance(wanted, str):
        return f"fault: ran, and is {wanted}" if wanted.startswith(BY_RULE) else f"ran: {wanted}"
    if use.op.effect is Effect.RANDOM:
        return "equal"
    return compared(found[: len(fetches)], wanted, fetches, use)
