"""Names as editors and type checkers see them."""

import types

import pytest
import type_stubs

import staticgraph as sg


@pytest.mark.parametrize("file", type_stubs.STUBS, ids=lambda file: file.parent.name)
def test_stubs_are_what_the_tables_say(file):
    assert file.read_text() == type_stubs.STUBS[file](), "python tools/type_stubs.py"


def test_dir_shows_public_names_alone():
    seen, odd = set(), []

    def walk(module, path):
        for name in dir(module):
            value = getattr(module, name)
            if not name.startswith("_") and isinstance(value, types.ModuleType) and value not in seen:
                seen.add(value)
                if value in (sg.compiler, sg.runtime, sg.messages, sg.compat, sg.contrib, sg.saved_model):
                    continue  # for those who look inside
                if not value.__name__.startswith("staticgraph"):
                    odd.append(f"{path}.{name}")
                walk(value, f"{path}.{name}")
            elif name in ("Any", "TYPE_CHECKING", "annotations", "np", "misuse", "lazy_names"):
                odd.append(f"{path}.{name}")

    walk(sg, "sg")
    assert not odd
    assert len(seen) > 40


def test_dir_of_a_tensor_shows_its_methods():
    x = sg.placeholder("float32", [2, 3])
    shown = {name for name in dir(x) if name[0] != "_"}
    assert {"sum", "reshape", "astype", "T", "shape", "eval"} <= shown
    assert "assign" not in shown and "assign" in dir(sg.Variable(1.0))
    assert not [name for name in shown if not hasattr(x, name)]
    assert not {"add", "matmul", "getitem"} & shown
