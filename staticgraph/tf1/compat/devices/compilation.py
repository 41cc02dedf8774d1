"""`tf.contrib.compiler.jit`: the choice of what is compiled, where all of a graph is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def experimental_jit_scope(
    compile_ops: Any = True, separate_compiled_gradients: bool = False
) -> Iterator[None]:
    """Return a context that changes nothing: every graph is compiled, gradients included."""
    yield
