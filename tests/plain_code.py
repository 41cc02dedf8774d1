"""Machine code that LLVM writes in a quarter of the time, for tests of what a program means.

The text that is compiled is the same; LLVM only chooses instructions and registers with less care. It is for
tests that compare numbers with those of TensorFlow or with recorded ones. All others, such as those of ops,
kernels, code and random programs, have the code that users get; `pytest --best-code` gives it to all.
"""

from pathlib import Path

from staticgraph.runtime.cpu import jit

PLACES = {"compat", "data", "estimator", "golden", "graph_def", "keras", "onnx", "saved", "test_docs.py"}

_WRITER, _FORMAT = jit._writer, jit._FORMAT


def choose(file: Path) -> None:
    """Have the tests of a file compiled as they should be. Objects of one kind never serve the other."""
    plain = not PLACES.isdisjoint((file.name, file.parent.name))
    if plain != (jit._writer is not _WRITER):
        with jit._LOCK:
            jit._OBJECTS.clear()
            jit._LOADED.clear()
            jit._writer = (lambda plain=True: _WRITER(True)) if plain else _WRITER
            jit._FORMAT = f"{_FORMAT} plain" if plain else _FORMAT
