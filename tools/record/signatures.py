"""Records what TensorFlow 1.15.5 offers, in `tools/surface/tensorflow_1_15.json`, for `tools/signatures.py`.

    tf115/bin/python -m tools.record.signatures names.csv

The argument is a table of how many scripts use each name, with columns `name` (`tf.nn.relu`) and `files`.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import inspect
import json
import re
from pathlib import Path
from typing import Any

import tensorflow as tf

from tools.record import ROOT
from tools.surface.walk import dotted, find, offer, public

DATA = ROOT / "tools" / "surface" / "tensorflow_1_15.json"

# fmt: off
MODULES = (
    ".", "app", "bitwise", "compat", "data", "data.experimental", "debugging", "dtypes", "errors",
    "estimator", "feature_column", "flags", "gfile", "graph_util", "image", "initializers", "io",
    "keras", "keras.activations", "keras.backend", "keras.callbacks", "keras.constraints",
    "keras.datasets", "keras.initializers", "keras.layers", "keras.losses", "keras.metrics",
    "keras.models", "keras.optimizers", "keras.preprocessing", "keras.preprocessing.image",
    "keras.preprocessing.sequence", "keras.preprocessing.text", "keras.regularizers", "keras.utils",
    "layers", "linalg", "logging", "lookup", "losses", "manip", "math", "metrics", "nn", "nn.rnn_cell",
    "python_io", "queue", "random", "resource_loader", "saved_model", "saved_model.builder",
    "saved_model.loader", "saved_model.signature_constants", "saved_model.signature_def_utils",
    "saved_model.tag_constants", "saved_model.utils", "sets", "signal", "sparse", "spectral", "strings",
    "summary", "test", "train",
)
# fmt: on
SCRIPTS_ONLY = ("contrib", "distributions")  # never stable: no more is recorded than what scripts use
DEPRECATED_ARGUMENTS = re.compile(r"SOME ARGUMENTS ARE DEPRECATED: `\((.*?)\)`")
FOUNDATIONS = ("builtins", "abc", "collections", "enum", "google.", "typing", "unittest")  # not TensorFlow's


def surface(frequencies: Path) -> dict[str, Any]:
    """Everything that is recorded."""
    with frequencies.open() as table:
        used = {row["name"][len("tf.") :]: int(row["files"]) for row in csv.DictReader(table)}
    modules = {module: _names(module) for module in MODULES}
    for module in SCRIPTS_ONLY:
        modules[module] = _used([name for name in used if name.startswith(module + ".")])
    members = _members({module: modules[module] for module in MODULES})
    for module, found in members.items():
        modules[module].update(found)
    things = {
        dotted(module, name): thing for module, names in modules.items() for name, (_, thing) in names.items()
    }
    old = {name: deprecated(thing) for name, thing in sorted(things.items(), key=lambda item: item[0])}
    return {
        "version": tf.__version__,
        "modules": {
            module: {name: said for name, (said, _) in sorted(names.items())}
            for module, names in sorted(modules.items())
        },
        "deprecated": {name: what for name, what in old.items() if what},
        "uses": {name: files for name, files in sorted(used.items()) if name in things},
    }


def deprecated(thing: Any) -> list[str]:
    """Return the deprecated parts, as the documentation tells: `*` for all of it, or the arguments."""
    documentation = inspect.getdoc(thing) if callable(thing) else None
    if documentation is None:
        return []
    if "THIS FUNCTION IS DEPRECATED" in documentation:
        return ["*"]
    arguments = DEPRECATED_ARGUMENTS.search(documentation)
    return sorted(set(re.findall(r"\w+", arguments.group(1)))) if arguments else []


def _names(module: str) -> dict[str, tuple[str, Any]]:
    owner = find(tf, module)
    return {name: (offer(owner, name), getattr(owner, name)) for name in public(owner)}


def _used(names: list[str]) -> dict[str, tuple[str, Any]]:
    """The names that TensorFlow has, without their module."""
    found = {}
    for path in names:
        owner, _, name = path.rpartition(".")
        with contextlib.suppress(AttributeError, ImportError):  # of an older TensorFlow
            found[path.partition(".")[2]] = offer(find(tf, owner), name), find(tf, path)
    return found


def _members(modules: dict[str, dict[str, tuple[str, Any]]]) -> dict[str, dict[str, tuple[str, Any]]]:
    """Methods, properties and constants of each public class, once: not again what it has from another."""
    homes: dict[type, tuple[str, str]] = {}
    for module, names in modules.items():
        for name, (_, thing) in names.items():
            if inspect.isclass(thing):
                homes.setdefault(thing, (module, name))
    found: dict[str, dict[str, tuple[str, Any]]] = {module: {} for module in modules}
    for cls, (module, name) in homes.items():
        known = [base for base in cls.__mro__[1:] if base in homes]
        for member in public(cls):
            source = next((base for base in cls.__mro__ if member in vars(base)), cls)
            if source.__module__.startswith(FOUNDATIONS) or _is_message(cls):
                continue
            said = offer(cls, member)
            if not any(hasattr(base, member) and offer(base, member) == said for base in known):
                found[module][name + "." + member] = said, getattr(cls, member)
    return found


def _is_message(cls: type) -> bool:
    """Return True if a class is made from a protocol buffer: its fields are data, not an interface."""
    return any(base.__module__.startswith("google.protobuf") for base in cls.__mro__)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", type=Path, help="a table with columns `name` and `files`")
    arguments = parser.parse_args()
    tf.compat.v1.logging.set_verbosity("ERROR")
    DATA.write_text(json.dumps(surface(arguments.names), indent=0) + "\n")


if __name__ == "__main__":
    main()
