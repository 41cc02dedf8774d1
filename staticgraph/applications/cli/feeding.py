"""Values for the inputs of a function: of a file, or at random."""

from __future__ import annotations

import numpy as np

from staticgraph.applications.cli.outcome import UsageError
from staticgraph.compiler.graph.dtypes import bool_, string
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.support.nearest import nearest_name
from staticgraph.formats.functions import Opened
from staticgraph.runtime.aot.steps import Shapes
from staticgraph.saved.weights import read_weights

_SEED = 0


def feeds(function: Opened, shapes: Shapes, file: str | None) -> dict[str, np.ndarray]:
    """Values by input: those in `file`, an `.npz` or `.safetensors` file, and random ones for what else is
    required, always the same. UsageError for one in the file that the function does not take.
    """
    given = {} if file is None else read_weights(file)
    for names, where in ((given, f"which {file} has"), (shapes.given, "which --shape names")):
        for name in names:
            if name not in function.inputs:
                raise _unknown(function, name, where)
    rng = np.random.default_rng(_SEED)
    wanted = [name for name in function.inputs if name in function.required or name in shapes.given]
    made = {n: random(rng, shapes.of(n, function.inputs[n])) for n in wanted if n not in given}
    return {name: (given | made)[name] for name in function.inputs if name in given or name in made}


def _unknown(function: Opened, name: str, where: str) -> UsageError:
    close = nearest_name(name, function.inputs)
    meant = f"did you mean {close!r}?" if close else f"it takes {', '.join(function.inputs) or 'nothing'}"
    return UsageError(f"{function.name} has no input {name!r}, {where}: {meant}")


def random(rng: np.random.Generator, type: TensorType) -> np.ndarray:
    """Numbers of the normal distribution; zeros and ones where they are whole, which are the index of
    something in any table that has two rows.
    """
    dtype, shape = type.dtype, type.static_shape
    if dtype is string:
        return np.full(shape, b"", object)
    if dtype is bool_:
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.is_floating or dtype.is_complex:
        return dtype.round(rng.standard_normal(shape))
    return rng.integers(0, 2, shape).astype(dtype.numpy)
