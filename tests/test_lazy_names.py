"""Names that are imported when they are first used: the tables tell where they are, and nothing is lost.

What is imported when is counted here, too.
"""

import importlib
import json
import os
import pkgutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import staticgraph as sg
from staticgraph.compiler.graph.opdef import METHODS, OPS
from staticgraph.compiler.support.lazy_names import EXTENSIONS, functions_of
from staticgraph.namespaces.public_names import NAMES
from staticgraph.runtime.cpu.jit import host

ROOT = Path(__file__).resolve().parent.parent
# Packages whose names are imported on first use.
PACKAGES = [
    sg,
    sg.nn,
    sg.debugging,
    sg.linalg,
    sg.sparse,
    sg.layers,
    sg.train,
    sg.io,
    sg.graph_def,
    sg.image,
    sg.strings,
    sg.signal,
    sg.ragged,
    sg.metrics,
    sg.summary,
    sg.lookup,
    sg.data,
    sg.distributions,
    sg.estimator,
    sg.feature_column,
    sg.keras.backend,
    sg.keras.callbacks,
    sg.keras.layers,
    sg.keras.metrics,
    sg.keras.optimizers,
    sg.keras.utils,
    sg.nn.rnn_cell,
]


def fresh(program: str) -> str:
    """Run a program in a process of its own, without what others left on disk, and return its output."""
    environment = os.environ | {"PYTHONPATH": str(ROOT), "SG_CACHE_DIR": ""}
    run = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return run.stdout


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_all_names_are_there(package: ModuleType):
    assert {*package.__all__} <= {*dir(package)}
    assert not [name for name in package.__all__ if not hasattr(package, name)]


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_no_module_has_the_name_of_a_function(package: ModuleType):
    """The import of such a module would put it in the function's place."""
    modules = {module.name for module in pkgutil.iter_modules(package.__path__)}
    taken = [n for n in modules & {*package.__all__} if not isinstance(getattr(package, n), ModuleType)]
    assert not taken


def test_the_table_of_public_names_has_no_name_twice():
    names = [entry.partition("=")[0] for listed in NAMES.values() for entry in listed.split()]
    assert len(names) == len({*names})


def test_an_import_from_a_module_asks_for_no_hint():
    """Python asks each module for `__path__`, and the error that it gets is thrown away."""
    program = "import sys; from staticgraph.state.initializers import Zeros; print(*sys.modules)"
    assert "staticgraph.namespaces.missing_names" not in fresh(program).split()


def test_names_can_be_imported():
    assert fresh("from staticgraph import *; import sys; sys.stdout.write(tanh.__name__)") == "tanh"
    assert fresh("from staticgraph import gradients as f; print(f.__name__)") == "gradients\n"


def test_a_name_that_is_none():
    with pytest.raises(AttributeError, match=r"module 'staticgraph\.nn' has no attribute 'rellu'"):
        sg.nn.rellu


def test_tables_of_homes_are_what_the_files_declare():
    program = """
import importlib, json, pkgutil, sys
from staticgraph.compiler import ops
from staticgraph.compiler.support.lazy_names import LazyTable
found = {}
def put(self, name, value):
    frame = sys._getframe(1)
    while frame.f_code.co_name != "<module>":
        frame = frame.f_back
    found.setdefault(str(id(self)), {})[name] = frame.f_globals["__name__"]
    dict.__setitem__(self, name, value)
LazyTable.__setitem__ = put
from staticgraph.compiler.graph.opdef import METHODS, OPS, PRIMITIVE_OPS
from staticgraph.compiler.support.lazy_names import EXTENSIONS, functions_of
from staticgraph.formats.tf.graph_def.export import EXCEPTIONS
from staticgraph.formats.tf.graph_def.nodes import READERS
from staticgraph.formats.tf.messages.fields import TYPES
tables = METHODS, OPS, PRIMITIVE_OPS, EXTENSIONS, EXCEPTIONS, READERS, TYPES
for table in tables:
    list(map(table.__getitem__, table._homes))
for file in pkgutil.walk_packages(ops.__path__, ops.__name__ + "."):
    importlib.import_module(file.name)
print(json.dumps([[found[str(id(table))], table._homes] for table in tables]))
"""
    for declared, homes in json.loads(fresh(program)):
        assert homes.items() <= declared.items()
        files = {*homes.values()}  # whatever else these have must be in the table, too
        beside = {name: home for name, home in declared.items() if name.split(".")[0] not in homes}
        assert not {
            n: h for n, h in beside.items() if h in files or h.startswith("staticgraph.compiler.ops.")
        }


def test_late_functions_take_arguments_of_any_name():
    made = functions_of("staticgraph.arrays.array_ops", "stack").stack([sg.constant(1)], name="module")
    assert made.op.name == "module"


def test_extensions_are_found():
    assert {name: f.__module__ for name, f in EXTENSIONS.items()} == {
        n: EXTENSIONS.home(n) for n in EXTENSIONS
    }
    assert "std" in METHODS
    assert "some_names" in OPS
    assert "nothing" not in OPS


COUNTED = """
import sys

def ours():
    return {name for name in sys.modules if name.split(".")[0] == "staticgraph"}

def beyond(before):
    return len(ours() - before)
"""

TRAINED = """
import staticgraph as sg
v, s = sg.Variable([1.0]), sg.Session()
s.run(v.initializer)
b = ours()"""

# Rows of vectors of less than 512 bits are computed together, by a module of its own.
UNROLLED = int(host().vector_bytes < 64)

# Modules of this package that a program loads, at most: raise none of them without a reason.
MODULES = {
    "import": (59, "import staticgraph; print(len(ours()))"),
    "a first run": (
        155 + UNROLLED,
        "import staticgraph as sg; x = sg.placeholder('float32', [4, 3]);"
        "sg.Session().run(sg.reduce_sum(sg.nn.relu(x * 2.0 + 1.0)), {x: [[1.0] * 3] * 4});"
        "print(len(ours()))",
    ),
    "save of a Saver": (
        56,  # two for temporary files, which a run without a cache on disk no longer loads; one for schemas
        f"{TRAINED}; sg.train.Saver().save(s, './model'); print(beyond(b))",
    ),
    "save": (
        17,  # as above
        f"{TRAINED}; sg.save('model.sg', dict(y=v * 2.0), session=s); print(beyond(b))",
    ),
    "a product of matrices": (72, "import staticgraph as sg; sg.matmul; print(len(ours()))"),
    "a model of Keras": (290, "import staticgraph as sg; sg.keras.Sequential; print(len(ours()))"),
    "the program of README.md": (
        276 + UNROLLED,
        f"import re; text = open({str(ROOT / 'README.md')!r}).read();"
        "code = re.search(r'```python\\n(.*?)```', text, re.S)[1].replace('range(500)', 'range(1)');"
        "exec(code.replace('print(', 'str(')); print(len(ours()))",
    ),
}


# Calls of functions of this package in the first run of a small graph, imports included, and their files.
# Raise neither without a reason.
MOST_CALLS, MOST_FILES = 4_000, 110 + UNROLLED
CALLS = f"""
import staticgraph as sg
x = sg.placeholder('float32', [4, 3])
y, session, found = sg.reduce_sum(sg.nn.relu(x * 2.0 + 1.0)), sg.Session(), []
def called(frame, event, _):
    if event == 'call':
        found.append(frame.f_code.co_filename)
sys.setprofile(called)
session.run(y, {{x: [[1.0] * 3] * 4}})
sys.setprofile(None)
# An environment may lie in the same folder, as README's .venv does: what is installed there is not ours.
mine = [file for file in found if file.startswith({str(ROOT)!r}) and "site-packages" not in file]
print(len(mine), len({{*mine}}))
"""


def test_few_functions_are_called_in_a_first_run():
    calls, files = map(int, fresh(COUNTED + CALLS).split())
    assert calls <= MOST_CALLS and files <= MOST_FILES, (calls, files)


@pytest.mark.parametrize("what", MODULES)
def test_few_modules_are_imported(what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    most, program = MODULES[what]
    monkeypatch.chdir(tmp_path)
    assert int(fresh(COUNTED + program)) <= most


def test_models_of_keras_load_nothing_for_pictures_and_networks():
    program = "import sys, staticgraph as sg; sg.keras.Sequential; print(*sys.modules)"
    assert not {"graphviz", "networkx", "urllib.request"} & {*fresh(program).split()}


def test_a_drawing_and_a_run_load_nothing_for_gpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    program = "x = sg.constant(2.0) * 3.0; sg.Session().run(x); sg.visualize(x, 'x.dot')"
    found = fresh(f"{COUNTED}import staticgraph as sg; {program}; print(*ours())").split()
    assert not [name for name in found if name.startswith("staticgraph.compiler.codegen.cuda")]


def test_no_file_of_ops_has_the_name_of_an_op():
    package = importlib.import_module("staticgraph.compiler.ops")
    assert not {file.name for file in pkgutil.iter_modules(package.__path__)} & {*OPS}
