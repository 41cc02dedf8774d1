"""`import tensorflow`, for as long as a script of TF1 runs, gives the modules of `staticgraph.compat.tf1`.
`import keras` gives those of `tf.keras`, and `import horovod.tensorflow` and `horovod.keras` those of
`staticgraph.tf1.horovod`. `google.protobuf.text_format` takes our messages too.

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
from staticgraph.tf1.drop_in import protobuf

_TOP, _KERAS, _HOROVOD = "tensorflow", "keras", "horovod"
# Modules of Horovod.
_MODULES = ("tensorflow", "keras", "keras.callbacks", "tensorflow.keras", "tensorflow.keras.callbacks")


class DropInFinder(MetaPathFinder, Loader):
    """Finds `tensorflow`, `keras` and the modules below them that are supported, and those of Horovod."""

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
        path_there = path_of(fullname)
        if path_there is None:
            return protobuf.find_spec(fullname, path)
        if TREE.namespace(path_there) is None:
            # With `name=`, `from tensorflow.a import b` would raise an error of its own instead.
            raise unsupported(ModuleNotFoundError, TREE, path_there)
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
        return TREE.namespace(path_of(spec.name) or "")

    def exec_module(self, module: ModuleType) -> None:
        """Nothing: the module's names come from its table."""


def path_of(module: str) -> str | None:
    """Return the dotted path below `tf` that a module stands for, None if it is not TensorFlow's or Keras's.

    >>> path_of("tensorflow.contrib.slim"), path_of("keras.layers"), path_of("os")
    ('contrib.slim', 'keras.layers', None)
    """
    top, _, rest = module.partition(".")
    return rest if top == _TOP else module if top == _KERAS else None


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
        with protobuf.taught():
            yield
    finally:
        sys.meta_path.remove(finder)
        for name in _tensorflow():
            del sys.modules[name]
        sys.modules.update(before)


def _tensorflow() -> dict[str, ModuleType]:
    ours = (_TOP, _KERAS, _HOROVOD)
    return {name: module for name, module in sys.modules.items() if name.partition(".")[0] in ours}
