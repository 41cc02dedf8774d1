"""The fate of one use of an op, in words: refused, equal to what the op means, or a fault."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

import staticgraph as sg
from staticgraph.compiler import ops
from staticgraph.compiler.graph.errors import GraphError, OpError, RuleError
from staticgraph.compiler.graph.opdef import Effect
from tests.audit.guarded import feed, foreign
from tests.ops.harness import Build, Use, as_tuple, assert_same

REFUSED = (GraphError, OpError, RuleError)
BY_RULE = "refused by the type rule"
LARGE = 1 << 20  # elements of a result: more are not computed


def meaning(use: Use) -> tuple[Any, ...] | str:
    """The results that the op means; or that it is refused, or a fault of its type rule."""
    try:
        results = Build().add(use)[1]
    except REFUSED as error:
        return f"{BY_RULE}: {error}"
    except Exception as error:
        return f"fault: the type rule raises {error!r}"
    if sum(r.size for r in results) > LARGE:
        return "refused: too large to be tried"
    node = results[0].node
    if node.op.name == "constant":
        return tuple(r.constant for r in results)
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
            made = as_tuple(node.op.reference(*use.arrays, **node.attrs))
    except REFUSED as error:
        return f"refused: {error}"
    except Exception as error:
        if "out of bounds" in str(error):  # a number in an operand that is no position
            return f"refused: {error}"
        return f"fault: the type rule takes what the meaning does not: {error!r}"
    for array, result in zip(made, results, strict=True):
        if np.shape(array) != result.shape or np.asarray(array).dtype != result.dtype.numpy:
            return f"fault: the type rule says {result.type}, the meaning gives {np.shape(array)}"
    return tuple(result.dtype.round(a) for a, result in zip(made, results, strict=True))


def judged(use: Use, known: bool = True, device: str = "cpu") -> str:
    """Build and run the use, with sizes `known` while it is built or not, and return what happens."""
    wanted = meaning(use)
    if isinstance(wanted, str) and "fault" in wanted:
        return wanted
    try:
        with sg.Graph().as_default(), warnings.catch_warnings(action="ignore"):
            inputs, feeds = _inputs(use, known)
            made = use.call(inputs)
            fetches = [t for t in made if isinstance(t, sg.Tensor)] or list(made)
            fetches += [v for place, v in enumerate(inputs) if place and use.changes(place)]
            with sg.Session(device=device, memory_limit=1 << 29) as session:
                session.run(sg.global_variables_initializer())
                found = as_tuple(tuple(session.run(fetches, feeds, timeout=5.0)))
    except (*REFUSED, MemoryError) as error:
        return f"refused: {type(error).__name__}" if isinstance(wanted, str) else _late(error, wanted)
    except Exception as error:
        return f"fault: the run raises {error!r}"
    if any(a is not None and foreign(a) for a in found):
        return "fault: foreign bytes in a result"
    if isinstance(wanted, str):
        return "ran: with numbers that the meaning refuses"
    if use.op.effect is Effect.RANDOM:
        return "equal"
    return compared(found, wanted, fetches, use)


def _late(error: Exception, wanted: Sequence[Any]) -> str:
    """A run that fails although the op has a meaning: for lack of memory, or because it looks closer."""
    return f"refused late: {error!s:.300}"


def compared(found: Sequence[Any], wanted: Sequence[Any], fetches: Sequence[Any], use: Use) -> str:
    """Compare what a run gave with what the op means; the fate of the run."""
    for tensor, one, other in zip(fetches, found, wanted, strict=True):
        try:
            assert_same(one, other, tensor.dtype.base_dtype, "")
        except AssertionError as error:
            if _cancels(one, other, use):
                continue
            return f"fault: another result than the op means: {' '.join(str(error).split())[:200]}"
    return "equal"


def _cancels(one: np.ndarray, other: np.ndarray, use: Use) -> bool:
    """Return True if both are 0 up to the rounding of numbers of the operands' size."""
    sizes = [np.abs(a).max(initial=0) for a in use.arrays if a.dtype.kind == "f"]
    if one.dtype.kind != "f" or one.shape != other.shape or not sizes:
        return False
    rounding = 16 * np.finfo(one.dtype).eps * max(sizes)
    return bool(np.all(np.abs(one) <= rounding) and np.all(np.abs(other) <= rounding))


def _inputs(use: Use, known: bool) -> tuple[list[Any], dict[Any, np.ndarray]]:
    """Tensors for the operands, and what they are fed."""
    inputs: list[Any] = []
    feeds: dict[Any, np.ndarray] = {}
    for number, (array, dtype) in enumerate(use.seen):
        if use.changes(number):
            inputs.append(sg.Variable(array, dtype=dtype))
            continue
        tensor = ops.placeholder(dtype, array.shape if known else None)
        inputs.append(tensor)
        feeds[tensor] = feed(array.astype(dtype.numpy))
    return inputs, feeds
