"""Functions that the constructors of distributions share: they make and check tensors of parameters."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np

import staticgraph as sg
from staticgraph.building.framework import control_dependencies
from staticgraph.compiler import ops
from staticgraph.compiler.graph.checks.arguments import flag_of
from staticgraph.compiler.graph.errors import InvalidArgumentError, misuse
from staticgraph.compiler.graph.static_value import static_value


def floating(**given: Any) -> list[sg.Tensor]:
    """Parameters as tensors of one floating type, called as the keywords are; ValueError for other types."""
    made = [sg.identity(value, name=name) for name, value in given.items()]
    types = [tensor.dtype for tensor in made]
    if not types[0].is_floating or any(dtype is not types[0] for dtype in types):
        listed = ", ".join(f"{name} is {tensor.dtype.name}" for name, tensor in zip(given, made, strict=True))
        hint = "give numbers with a point, such as 1.0, or cast"
        raise misuse(ValueError, f"parameters must have one floating type: {listed}", hint)
    return made


def checked(
    value: sg.Tensor, validate_args: bool, holds: Callable[..., Any], what: str, *others: sg.Tensor
) -> sg.Tensor:
    """`value`, of which `holds(value, *others)` is true.

    With `validate_args`, InvalidArgumentError if it is known now that it is false, and in a run that finds
    it out; without, nothing is checked.
    """
    if not flag_of(validate_args, "validate_args"):
        return value
    known = [_constant(tensor) for tensor in (value, *others)]
    if not any(constant is None for constant in known):
        if not np.all(holds(*map(np.asarray, known))):
            raise misuse(InvalidArgumentError, f"{value.op.name} must be {what}, not {known[0]}")
        return value
    return demanded(value, holds(value, *others), f"{value.op.name} must be {what}, not ")


def demanded(value: sg.Tensor, holds: sg.Tensor, text: str) -> sg.Tensor:
    """Return `value`. A run in which `holds` is somewhere false is refused, with `text` and the value."""
    with control_dependencies([ops.assert_true(sg.reduce_all(holds), [value], shown=(text, None))]):
        return sg.identity(value)


def _constant(parameter: sg.Tensor) -> Any:
    """Return the value that a parameter was given as, or None if that was not a constant.

    The parameter is an identity, which names it, so the constant is the input of the identity.
    """
    return static_value(parameter.op.tensors[0] if parameter.op.tensors else parameter)


def positive(value: sg.Tensor, validate_args: bool) -> sg.Tensor:
    """A parameter that must be greater than zero."""
    return checked(value, validate_args, lambda x: x > 0, "positive")


def whole(value: sg.Tensor, validate_args: bool) -> sg.Tensor:
    """A number of events: an integer of at least zero."""
    return checked(value, validate_args, lambda x: (x >= 0) & (x % 1 <= 0), "an integer of at least 0")


def parted(counts: sg.Tensor, total: sg.Tensor, validate_args: bool) -> sg.Tensor:
    """Numbers of events of several classes, in the last axis, which add up to `total`."""
    counts = whole(counts, validate_args)
    if not validate_args:
        return counts
    return demanded(counts, sg.equal(sg.reduce_sum(counts, -1), total), "counts must add up to total_count: ")


def logits_and_probs(
    logits: Any, probs: Any, validate_args: bool, multidimensional: bool = False
) -> tuple[sg.Tensor, sg.Tensor]:
    """Both, where one is given. ValueError if none or both are, TypeError if it is not floating.

    `multidimensional`: the last axis lists the classes, and the logits are up to a constant per row.
    """
    if (probs is None) == (logits is None):
        raise misuse(ValueError, "give logits or probs, and not both")
    name, given = ("logits", logits) if probs is None else ("probs", probs)
    tensor = sg.convert_to_tensor(given, name=name)
    if not tensor.dtype.is_floating:
        raise misuse(TypeError, f"{name} must have a floating type, not {tensor.dtype.name}")
    if probs is None:
        return tensor, (sg.nn.softmax if multidimensional else sg.sigmoid)(tensor, name="probs")
    tensor = checked(tensor, validate_args, lambda p: (p >= 0) & (p <= 1), "from 0 to 1")
    with sg.name_scope("logits"):
        return (sg.log(tensor) if multidimensional else sg.log(tensor) - sg.log1p(-tensor)), tensor


def log_combinations(n: Any, counts: Any) -> sg.Tensor:
    """The logarithm of the number of ways to part `n` things into groups of these sizes (the last axis)."""
    return sg.lgamma(n + 1.0) - sg.reduce_sum(sg.lgamma(counts + 1.0), axis=-1)


def other_seed(seed: int | None, salt: str) -> int | None:
    """The seed of a second draw, which follows from that of the first; TensorFlow's."""
    if seed is None:
        return None
    digest = hashlib.md5(f"{seed}{salt}".encode(), usedforsecurity=False).hexdigest()
    return int(digest[:8], 16) & 0x7FFFFFFF


def undefined(like: sg.Tensor) -> sg.Tensor:
    """NaN, in the dtype of `like`."""
    return sg.constant(np.nan, like.dtype)
