"""Public paths of modules that lie deeper: `import staticgraph.keras` finds `staticgraph/tf1/keras`.

Both paths name the same module. From the first public path on, the finder comes first on `sys.meta_path`: any
other one would find the files of a folder under its public path once more, as other modules. Until then it
comes last, so that it is not asked for each module of this package.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType

_TOP = "staticgraph"

# The public name below `staticgraph`, and where the module is.
HOMES = {
    "bitwise": "namespaces.bitwise",
    "compat": "tf1.compat",
    "contrib": "tf1.contrib",
    "data": "tf1.data",
    "debugging": "debugging",
    "distribute": "distribute",
    "distributions": "tf1.distributions",
    "estimator": "tf1.estimator",
    "feature_column": "tf1.feature_column",
    "graph_def": "formats.tf.graph_def",
    "graph_util": "formats.tf.graph_util",
    "image": "domains.image",
    "initializers": "state.initializers",
    "io": "tf1.io",
    "keras": "tf1.keras",
    "layers": "layers",
    "linalg": "linear_algebra",
    "lookup": "tf1.lookup",
    "losses": "train.losses",
    "math": "namespaces.math",
    "messages": "formats.tf.messages",
    "metrics": "tf1.metrics",
    "nest": "building.nest",
    "nn": "nn",
    "onnx": "formats.onnx",
    "python_io": "tf1.python_io",
    "queue": "tf1.queue",
    "ragged": "domains.ragged",
    "random": "namespaces.random",
    "saved_model": "formats.tf.saved_model",
    "sets": "sparse.sets",
    "signal": "domains.signal",
    "sparse": "sparse",
    "spectral": "tf1.spectral",
    "strings": "domains.strings",
    "summary": "tf1.summary",
    "train": "train",
}
_MOVED = {name for name, home in HOMES.items() if name != home}


class PublicPaths:
    """Finder and loader of a module by its public path: the one that its own path gives.

    It has the methods of `importlib.abc.MetaPathFinder` and `Loader`, whose import would take milliseconds.
    """

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a public path, None for any other name."""
        top, _, below = fullname.partition(".")
        if path is None or top != _TOP or below.partition(".")[0] not in _MOVED:
            return None  # without a path it is no module of a package
        return ModuleSpec(fullname, self, is_package=True)  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Import the module by its own path."""
        _, name, *below = spec.name.split(".")
        if sys.meta_path[0] is not self:
            sys.meta_path.insert(0, self)  # the last place stays: another thread may be on its way to it
        module = import_module(".".join((_TOP, HOMES[name], *below)))
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Give the module its own spec back: the import system has put that of its alias there."""
        alias = module.__spec__
        assert alias is not None
        module.__spec__ = alias.loader_state


def install() -> None:
    """Let Python find the public paths."""
    sys.meta_path.append(PublicPaths())
