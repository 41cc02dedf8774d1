"""The works as each library does them: steps without arguments that return what was computed."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from benchmarks.numerics.work import Arrays, Work

Step = Callable[[], Any]


def staticgraph(work: Work, arrays: Arrays, threads: int) -> tuple[Step, str]:
    """A session with the inputs as feeds, called by `make_callable`."""
    import staticgraph as sg

    feeds = [sg.placeholder(array.dtype, array.shape) for array in arrays]
    made = work.staticgraph(sg, *feeds)
    call = sg.Session().make_callable(made, feeds)
    return lambda: call(*arrays), f"staticgraph {sg.__version__}"


def scipy(work: Work, arrays: Arrays, threads: int) -> tuple[Step, str]:
    """NumPy and SciPy, whatever of the two is the faster way."""
    assert work.scipy is not None
    library, numpy = importlib.import_module("scipy"), importlib.import_module("numpy")
    for part in ("linalg", "special", "fft", "sparse"):
        importlib.import_module("scipy." + part)
    function = work.scipy
    return lambda: function(library, *arrays), f"numpy {numpy.__version__}, scipy {library.__version__}"


def torch(work: Work, arrays: Arrays, threads: int) -> tuple[Step, str]:
    """Eager PyTorch in inference mode, unless the work takes gradients."""
    import torch as library

    assert work.torch is not None
    library.set_num_threads(threads)
    tensors = [library.from_numpy(array) for array in arrays]
    function = work.torch

    def step() -> Any:
        made = function(library, *tensors)
        results = made if isinstance(made, (tuple, list)) else (made,)
        return tuple(result.detach().numpy() for result in results)

    return step, f"torch {library.__version__}"


def jax(work: Work, arrays: Arrays, threads: int) -> tuple[Step, str]:
    """A compiled function whose inputs are on the device already."""
    import jax as library

    assert work.jax is not None
    function, inputs = work.jax, [library.numpy.asarray(array) for array in arrays]
    importlib.import_module("jax.scipy.linalg")
    importlib.import_module("jax.scipy.special")
    compiled = library.jit(lambda *values: function(library, *values))

    def step() -> Any:
        return library.block_until_ready(compiled(*inputs))

    return step, f"jax {library.__version__}"


ROWS = {"staticgraph": staticgraph, "NumPy": scipy, "PyTorch": torch, "JAX": jax}
SAID = {"staticgraph": "staticgraph", "NumPy": "scipy", "PyTorch": "torch", "JAX": "jax"}
