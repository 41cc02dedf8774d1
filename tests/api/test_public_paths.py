"""Public paths of modules that lie deeper: both paths are one module, whichever is imported first."""

import importlib
import subprocess
import sys

import pytest

import staticgraph as sg
from staticgraph.namespaces.public_paths import HOMES


@pytest.mark.parametrize("name", HOMES)
def test_both_paths_are_one_module(name: str):
    public = importlib.import_module(f"staticgraph.{name}")
    assert public is importlib.import_module(f"staticgraph.{HOMES[name]}") is getattr(sg, name)
    assert public.__spec__.name == public.__name__ == f"staticgraph.{HOMES[name]}"


def test_what_lies_below_is_not_imported_twice():
    program = (
        "import staticgraph.keras.layers as public, staticgraph.tf1.keras.layers as own\n"
        "import staticgraph.onnx.backend, staticgraph.compat.tf1\n"
        "assert public is own and public.Dense is own.Dense"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True)


def test_a_path_that_is_none():
    with pytest.raises(ModuleNotFoundError, match=r"keras\.nothing"):
        importlib.import_module("staticgraph.keras.nothing")
