"""Public functions that are found by a walk over the public modules, each at arguments that it takes.

A parameter without a default gets an argument by its name, as samples of ops have it: `axis` a number,
`shape` two sizes, `filters` windows. Any other is taken for a tensor, and gets the arrays of one of a few
`SHAPES` after the other. If the function refuses that, it is called with what is None by default too, and
with a list of two tensors in place of the first. It is compared if derivatives flow through what it builds.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import staticgraph as sg
import staticgraph.compat.tf1 as tf
from staticgraph.compiler.graph.dtypes import as_dtype
from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.graph.opdef import Effect, OpDef
from tests.derivatives.exceptions import not_compared
from tests.derivatives.points import CHANGES
from tests.derivatives.public import Point

MODULES = (
    "", "math", "nn", "linalg", "losses", "signal", "spectral", "image", "sparse", "sets", "keras.backend",
    "keras.losses", "keras.activations", "keras.metrics", "contrib.losses", "contrib.layers", "contrib.crf",
    "contrib.distributions", "contrib.image", "contrib.framework", "contrib.rnn", "contrib.seq2seq", "train",
)  # fmt: skip
SHAPES = ((2, 3), (3, 3), (3,), (1, 4, 4, 2), (2, 3, 3), (), (1, 4, 3), (1, 3, 4, 4, 2))
MOST = 2  # shapes that one function is compared at

_LABELS, _WINDOWS = np.array([1, 0], np.int32), np.linspace(0.2, 0.9, 24).reshape(2, 2, 2, 3)
# Arguments by the name of a parameter. An array is varied like any tensor if it is floating.
ARGUMENTS: dict[str, Any] = {
    "axis": 0, "axes": [0], "dim": 0, "dtype": tf.float64, "shape": [3, 2], "depth": 3, "k": 2, "n": 2,
    "perm": [1, 0], "paddings": [[1, 0], [0, 2]], "multiples": [2, 1], "begin": [0, 1], "size": [1, 2],
    "num_segments": 3, "segment_ids": np.array([0, 1], np.int32), "indices": np.array([1, 0], np.int32),
    "ids": np.array([1, 0], np.int32), "num_or_size_splits": 1, "num_classes": 3, "block_size": 2,
    "ksize": [1, 2, 2, 1], "strides": [1, 1, 1, 1], "stride": 1, "padding": "SAME", "rate": 2,
    "kernel_size": 2, "pool_size": (2, 2), "block_shape": [2, 2], "crops": [[0, 0], [0, 0]],
    "rates": [1, 1, 1, 1], "filters": _WINDOWS, "filter": _WINDOWS, "kernel": _WINDOWS,
    "bias": np.full(3, 0.4),
    "depthwise_filter": _WINDOWS, "pointwise_filter": np.linspace(0.1, 0.8, 12).reshape(1, 1, 6, 2),
    "clip_value_min": 0.3, "clip_value_max": 0.6, "clip_norm": 0.7, "min_value": 0.3, "max_value": 0.6,
    "learning_rate": 0.1, "global_step": 3, "decay_steps": 10, "decay_rate": 0.5, "frame_length": 2,
    "frame_step": 1, "fft_length": [4], "window_length": 4, "target_height": 3, "target_width": 3,
    "offset_height": 1, "offset_width": 1, "central_fraction": 0.5, "delta": 0.2, "gamma": 1.3,
    "contrast_factor": 0.7, "saturation_factor": 0.7, "shift": 1, "repeats": 2, "rep": 2, "num": 3,
    "num_split": 1, "sequence_length": _LABELS + 2, "seq_lengths": _LABELS + 1, "lengths": _LABELS + 1,
    "sequence_lengths": _LABELS + 1, "tag_indices": np.array([[1, 0, 2], [0, 1, 1]], np.int32),
    "height_factor": 2, "width_factor": 2, "depth_factor": 2, "data_format": "channels_last",
    "pattern": [1, 0],
    "name": None, "num_lower": 1, "num_upper": 0, "a_min": 0.3, "mask": np.array([True, False]),
    "condition": np.array([[True, False, True], [False, True, True]]), "equation": "ab,cb->ac",
    "depth_radius": 2, "pos_weight": 2.0, "nb_classes": 3, "q": 40.0,
    "end": [2, 3], "dims": [2, 3], "filter_sizes": [2, 2, 2, 2], "output_shape": [1, 4, 4, 2],
    "input_sizes": [1, 4, 4, 2], "num_splits": 1, "factor": 2, "base": 2, "indices_or_sections": 1,
}  # fmt: skip
OPTIONAL = ("labels", "logits", "targets", "predictions", "weights", "x", "y", "b", "scale", "offset")
# Their results are drawn, their derivatives are none or given, or they compute nothing.
LEFT_OUT = (
    "random", "dropout", "multinomial", "sample", "shuffle", "noise", "gradient", "custom", "hessians",
    "assign",
    "placeholder", "session", "variable", "initializer", "print", "print_tensor", "py_func", "constant",
    "group", "while_loop", "map_fn", "function", "update", "eval", "_value", "learning_phase",
)  # fmt: skip
# They change or show what is common to all graphs.
PREFIXES = (
    "set_", "reset_", "enable_", "disable_", "clear_", "add_to", "add_loss", "get_", "load", "save", "write",
    "show", "visualize", "manual_", "import_", "export_", "delete_", "remove_",
)  # fmt: skip


def public_functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Each public function once, by a name that users have for it; ops are compared as such."""
    found: dict[int, str] = {}
    for path in MODULES:
        try:
            module = functools.reduce(getattr, path.split(".") if path else [], tf)
        except AttributeError:
            continue
        for name in sorted(dir(module)):
            function = getattr(module, name, None)
            full = f"{path}.{name}".lstrip(".")
            plain = inspect.isfunction(inspect.unwrap(function)) if callable(function) else False
            own = getattr(function, "__module__", "") or ""
            if name.startswith("_") or not plain or isinstance(function, OpDef) or id(function) in found:
                continue
            left_out = name.startswith(PREFIXES) or any(word in name for word in LEFT_OUT)
            if own.startswith("staticgraph") and not left_out:
                found[id(function)] = full
                yield full, function


def walked_points(deep: bool = True, part: slice = slice(None)) -> Iterator[Point]:
    """Each public function of a part where it can be called; if `deep` also with special elements and empty
    axes.
    """
    for name, function in [*public_functions()][part]:
        tried = (found for shape in SHAPES if (found := called(function, shape)) is not None)
        for build, arrays in itertools.islice(tried, MOST if deep else 1):
            shapes = " ".join(str(list(a.shape)) for a in arrays)
            changes = {"": lambda a: a, **(CHANGES | _EMPTY if deep else {})}
            for what, change in changes.items():
                full = f"walk/{name} of {shapes}" + (f", {what}" if what else "")
                if not not_compared(full):
                    yield Point(full, build, tuple(change(a) if a.size else a for a in arrays))


def _without_last(a: np.ndarray) -> np.ndarray:
    return a[..., :0] if a.ndim else a


_EMPTY: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "empty rows": lambda a: a[:0] if a.ndim else a,
    "empty": _without_last,
}


Call = tuple[Callable[..., Any], list[np.ndarray]]


def called(function: Callable[..., Any], shape: tuple[int, ...]) -> Call | None:
    """A call with arrays of that shape, and the arrays; None if it cannot be, or has no derivatives."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return None
    more = [False, True] if any(_is_optional(p) for p in parameters) else [False]
    for pair, optional in itertools.product((False, True), more):
        made = _call(function, parameters, shape, optional, pair)
        if made is not None and _flows(*made):
            return made
    return None


def _is_optional(p: inspect.Parameter) -> bool:
    """Return True if a parameter is None by default and takes an argument that is known."""
    named = p.kind is p.POSITIONAL_OR_KEYWORD and p.default is None
    return named and (p.name in ARGUMENTS or p.name in OPTIONAL)


def _call(
    function: Callable[..., Any],
    parameters: list[inspect.Parameter],
    shape: tuple[int, ...],
    optional: bool,
    pair: bool,
) -> Call | None:
    given: dict[str, Any] = {}
    rng = np.random.default_rng(len(shape) + 7)
    for p in parameters:
        if p.kind is not p.POSITIONAL_OR_KEYWORD:
            continue
        if p.default is p.empty or (optional and _is_optional(p)):
            given[p.name] = ARGUMENTS[p.name] if p.name in ARGUMENTS else rng.uniform(0.2, 0.9, shape)
    names = [n for n, a in given.items() if isinstance(a, np.ndarray) and a.dtype.kind == "f"]
    if not names:
        return None
    arrays = [given[n] for n in names]
    if pair:
        arrays.append(rng.uniform(0.2, 0.9, arrays[0].shape))

    def build(*tensors: Any) -> list[Any]:
        arguments = given | dict(zip(names, tensors, strict=False))
        if pair:
            arguments[names[0]] = [tensors[0], tensors[-1]]
        return _tensors(function(**arguments))

    return build, arrays


def _tensors(result: Any) -> list[Any]:
    flat = sg.nest.flatten(result)
    return [t for t in flat if isinstance(t, sg.Tensor) and t.dtype.is_differentiable]


def _flows(build: Callable[..., Any], arrays: list[np.ndarray]) -> bool:
    """Return True if the call builds operations that draw and keep nothing, and derivatives flow."""
    with Graph().as_default() as graph, warnings.catch_warnings(action="ignore"):
        inputs = [sg.placeholder(as_dtype(a.dtype), a.shape) for a in arrays]
        try:
            made = build(*inputs)
            operations = graph.get_operations()
            plain = all(op.definition.effect in (Effect.PURE, Effect.SOURCE) for op in operations)
            if not plain or any(op.definition.name == "variable" for op in operations) or not made:
                return False
            if all(t in inputs for t in made):
                return False
            return any(g is not None for g in sg.gradients(made, inputs))
        except Exception:  # it takes other arguments
            return False
