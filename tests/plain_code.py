"""Machine code that LLVM writes in a quarter of the time, for tests of what a program means.

The text that is compiled is the same, and LLVM only chooses instructions and registers with less care. So do
folders whose tests compare numbers with TensorFlow's or with what was recorded. All others, those of ops,
kernels, code and random programs among them, have the code that users get, and `pytest --best-code` has all.
"""

from pathlib import Path

from staticgraph.runtime.cpu import jit

FOLDERS = {"compat", "data", "estimator", "golden", "graph_def", "keras", "onnx", "saved"}

_WRITER, _FORMAT = jit._writer, jit._FORMAT


def choose(folder: Path) -> None:
    """Have the tests in a folder compiled as they should be. Objects of one kind never serve the other."""
    plain = folder.name in FOLDERS
    if plain != (jit._writer is not _WRITER):
        with jit._LOCK:
            jit._OBJECTS.clear()
            jit._writer = (lambda plain=True: _WRITER(True)) if plain else _WRITER
            jit._FORMAT = f"{_FORMAT} plain" if plain else _FORMAT
