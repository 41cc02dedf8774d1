"""`import tensorflow`, for as long as a script of TF1 runs, gives the modules of `staticgraph.compat.tf1`.
`import horovod.tensorflow` and `horovod.keras` give modules of `staticgraph.tf1.horovod`.

The finder comes first on `sys.meta_path`, so that an installed TensorFlow is neither used nor changed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

from staticgraph.tf1.compat.areas import TREE
from staticgraph.tf1.compat.namespace import unsupported

_TOP, _HOROVOD = "tensorflow", "horovod"
# Modules of Horovod.
_MODULES = ("tensorflow", "keras", "keras.callbacks", "tensorflow.keras", "tensorflow.keras.callbacks")


class DropInFinder(MetaPathFinder, Loader):
    """Finds `tensorflow` and the modules below it that are supported, and those of Horovod."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """A module of ours; ModuleNotFoundError for one of TensorFlow's that is not supported."""
        top, _, rest = fullname.partition(".")
        if top == _HOROVOD and rest and rest not in _MODULES:
            text = f"horovod.{rest} is not supported; horovod.tensorflow and horovod.keras are"
            raise ModuleNotFoundError(text)
        if top == _HOROVOD:
            return ModuleSpec(fullname, self, is_package=True)
        if top != _TOP:
            return None
        if TREE.namespace(rest) is None:
            # With `name=`, `from tensorflow.a import b` would raise an error of its own instead.
            raise ModuleNotFoundError(unsupported(TREE, rest))
        return ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        if spec.name == _HOROVOD:
            return None
        top, _, rest = spec.name.partition(".")
        if top == _HOROVOD:
            ours = _horovod(rest)
            module = ModuleType(spec.name, ours.__doc__)
            vars(module).update({name: getattr(ours, name) for name in ours.__all__})
            return module
        return TREE.namespace(spec.name.partition(".")[2])

    def exec_module(self, module: ModuleType) -> None:
        """Nothing: the module's names come from its table."""


def _horovod(name: str) -> ModuleType:
    """Our module for one of Horovod's."""
    from staticgraph.tf1 import horovod  # few scripts use them
    from staticgraph.tf1.horovod import callbacks, keras

    return callbacks if name.endswith("callbacks") else keras if name.endswith("keras") else horovod


@contextmanager
def standing_in() -> Iterator[None]:
    """Context in which `import tensorflow` gives our modules."""
    finder = DropInFinder()
    before = _tensorflow()
    for name in before:
        del sys.modules[name]
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for name in _tensorflow():
            del sys.modules[name]
        sys.modules.update(before)


def _tensorflow() -> dict[str, ModuleType]:
    ours = (_TOP, _HOROVOD)
    return {name: module for name, module in sys.modules.items() if name.partition(".")[0] in ours}
