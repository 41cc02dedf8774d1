"""Imports run one way: `staticgraph` -> `runtime` -> `compiler`, and down a list of layers inside `compiler`.

The tables below are the architecture. Every file is parsed, not imported, so an import inside a function is
as good as one at the top, and so is one under `if TYPE_CHECKING:`: a reader follows it too. Names drop the
leading `staticgraph.` (`compiler.graph`, `runtime.session`); `staticgraph` alone is the public package.
"""

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import networkx as nx
import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("staticgraph", "runtime", "compiler")

# What each layer may import, besides itself. A name covers everything below it.
LAYERS = {
    "compiler": "",  # its __init__ imports nothing
    "compiler.support": "",  # for all
    "compiler.stages": "",  # for all: each stage reports under its name
    "compiler.machine": "",  # for all: the numbers that schedules compare
    "compiler.graph": "",
    "compiler.kernel": "compiler.graph.dtypes",
    "compiler.ops": "compiler.graph compiler.kernel",
    "compiler.autodiff": "compiler.graph compiler.ops",
    "compiler.rewrite": "compiler.graph compiler.ops",
    "compiler.rules": "compiler.graph compiler.ops compiler.rewrite",
    "compiler.passes": "compiler.graph compiler.ops compiler.rewrite compiler.rules",
    "compiler.capture": "compiler.graph compiler.ops compiler.autodiff compiler.passes",
    "compiler.fusion": "compiler.graph compiler.kernel compiler.ops",
    "compiler.lower": "compiler.graph compiler.kernel compiler.ops compiler.fusion",
    "compiler.codegen": "compiler.graph.dtypes compiler.kernel",
    "compiler.emit_region": "compiler.kernel compiler.lower compiler.codegen",
    "compiler.emit_step": "compiler.emit_region compiler.kernel compiler.lower compiler.codegen",
    "compiler.generate": "compiler.kernel compiler.lower compiler.codegen",
    "compiler.size_rules": "compiler.kernel compiler.lower compiler.codegen",
    "compiler.share_kernels": "compiler.size_rules compiler.generate compiler.kernel compiler.lower "
    "compiler.codegen",
    "compiler.kernel_codes": "compiler.size_rules compiler.share_kernels compiler.generate compiler.graph "
    "compiler.kernel compiler.lower compiler.codegen compiler.fusion",
    "compiler.compiled_step": "compiler.lower compiler.codegen compiler.capture.step compiler.fusion",
    "compiler.compile": "compiler",
    "compiler.gpu": "compiler",
    "runtime": "compiler",
    "staticgraph": "runtime compiler",
}

# Layers that all others may import.
FOR_ALL = (
    "compiler.support",
    "compiler.stages",
    "compiler.machine",
    "compiler.graph.sizes",
    "compiler.graph.size_atoms",
    "compiler.graph.open_sizes",
    "compiler.graph.size_contexts",
)

# Third-party packages, and which packages may import them.
REQUIRED = {
    "numpy": "staticgraph runtime compiler",
    "networkx": "staticgraph runtime compiler",
    "graphviz": "staticgraph runtime compiler",
    "llvmlite": "runtime",  # compiler/ writes LLVM's text, runtime/ compiles it
}
# Extras: imported inside a function, so that the package works without them.
OPTIONAL = {
    "bokeh": "staticgraph",
    "h5py": "staticgraph",
    "PIL": "staticgraph",
    "pygraphviz": "staticgraph",
    "resvg_py": "staticgraph",
    "scipy": "staticgraph",
    "sklearn": "staticgraph",
    "tornado": "staticgraph",
    "cuda": "runtime",  # cuda.pathfinder, which CuPy brings
    "cudnn": "runtime",
    "cupy": "runtime",
    "onnx": "staticgraph",
    "ml_dtypes": "staticgraph",
    "mpi4py": "runtime",
}
# A file is data: nothing may turn bytes, or a name found in a file, into code.
REFUSED_MODULES = {"pickle", "marshal", "shelve"}
REFUSED_CALLS = {"eval", "exec", "__import__", "import_module", "importlib.import_module"}
MAY_CALL = r"\b(eval|exec|__import__|import_module)\b"
HOLDS_STATEMENTS = ast.stmt | ast.excepthandler | ast.match_case
# Folders whose folders are rooms of their own: nothing but the subject holds them together.
SHELVES = {
    "staticgraph.applications",
    "staticgraph.domains",
    "staticgraph.formats",
    "staticgraph.formats.tf",
    "staticgraph.tf1",
}
# Shelves of the public package, and the shelves that each may import. The rooms beside them are the core,
# which imports none: it reaches a shelf by name alone, through `staticgraph/namespaces/public_names.py`.
ABOVE_CORE = {
    "staticgraph.formats": "",
    "staticgraph.tf1": "staticgraph.formats",
    "staticgraph.applications.solver": "staticgraph.formats staticgraph.tf1",
    "staticgraph.applications.dashboard": "staticgraph.formats staticgraph.tf1",
    "staticgraph.applications.cli": (
        "staticgraph.formats staticgraph.tf1 "
        "staticgraph.applications.solver staticgraph.applications.dashboard"
    ),
    "staticgraph.__main__": "staticgraph.applications.cli",
}
# Namespaces that only list names of all rooms: for type checkers, and in tables by which they are imported.
NAMESPACES = {"staticgraph", "staticgraph.distribute", "staticgraph.train"}
# Rooms of each package, from one that no other imports down to one that imports no other, at most.
LONGEST = {"staticgraph": 10, "runtime": 17, "compiler": 10}
NO_CODE = "nothing turns data into code"
# Files that import by name, and only names in tables of ours.
BY_NAME = {"compiler/support/lazy_names.py", "staticgraph/namespaces/public_paths.py"}


@dataclass(frozen=True, slots=True)
class Import:
    """One import statement's target, as `a.b.c`, and where it stands."""

    file: str
    line: int
    module: str
    target: str
    inside_function: bool

    def refused(self, why: str) -> str:
        return f"{self.file}:{self.line}: {self.module} imports {self.target}: {why}"


def covers(name: str, module: str) -> bool:
    """Return True if `module` is `name` or lies below it."""
    return module == name or module.startswith(name + ".")


def short(dotted: str) -> str:
    """`staticgraph.compiler.graph` as `compiler.graph`; other names as they are."""
    return re.sub(r"^staticgraph\.(?=(compiler|runtime)(\.|$))", "", dotted)


def sources(root: Path) -> dict[str, Path]:
    """Module name -> file, for every Python file of the three packages."""
    files = {}
    for package in PACKAGES:
        for path in sorted((root / package).rglob("*.py")):
            name = ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")
            files[name] = path
    return files


def nodes(tree: ast.AST, expressions: bool) -> Iterator[tuple[ast.AST, bool]]:
    """Every statement below a node, and every expression if asked, and whether it is inside a function."""
    left = [(tree, False)]
    while left:
        above, inside = left.pop()
        inside = inside or isinstance(above, ast.FunctionDef | ast.AsyncFunctionDef)
        children = ast.iter_child_nodes(above)
        below = [(child, inside) for child in children if expressions or isinstance(child, HOLDS_STATEMENTS)]
        yield from below
        left += below


def dotted(function: ast.AST) -> str:
    """The name of a function that is called, such as `os.system`; of any other expression nothing."""
    if isinstance(function, ast.Attribute):
        return f"{dotted(function.value)}.{function.attr}"
    return function.id if isinstance(function, ast.Name) else ""


@cache
def imports(root: Path) -> tuple[list[Import], list[str]]:
    """All imports of the three packages, and complaints about those that no table could allow."""
    files = sources(root)
    found: list[Import] = []
    complaints: list[str] = []
    for module, path in files.items():
        file = str(path.relative_to(root))
        text = path.read_text()
        calls = re.search(MAY_CALL, text) is not None  # to look at all expressions takes seconds
        for node, inside_function in nodes(ast.parse(text, file), expressions=calls):
            match node:
                case ast.Import(names=names):
                    targets = [alias.name for alias in names]
                case ast.ImportFrom(level=0, module=str(origin), names=names):
                    inner = (f"{origin}.{alias.name}" for alias in names)
                    targets = [name if short(name) in files else origin for name in inner]
                case ast.ImportFrom():
                    complaints.append(f"{file}:{node.lineno}: relative import: write the full name")
                    continue
                case ast.Call(func=function):
                    if dotted(function) in REFUSED_CALLS and file not in BY_NAME:
                        complaints.append(f"{file}:{node.lineno}: call of {dotted(function)}: {NO_CODE}")
                    continue
                case _:
                    continue
            for target in dict.fromkeys(targets):
                if target.split(".")[0] in {"compiler", "runtime"}:
                    complaints.append(f"{file}:{node.lineno}: import of {target}: write staticgraph.{target}")
                else:
                    found.append(Import(file, node.lineno, module, short(target), inside_function))
    return found, complaints


def layer_of(module: str) -> str | None:
    """The entry of LAYERS that `module` belongs to."""
    if module.startswith("compiler.") and covers("compiler", module):
        return next((name for name in LAYERS if name != "compiler" and covers(name, module)), None)
    return next(name for name in PACKAGES if covers(name, module))


def wrong_layer(use: Import) -> str | None:
    """Why an import between our own modules is refused, or None."""
    layer, target = layer_of(use.module), layer_of(use.target)
    if layer is None:
        return use.refused(f"{use.module} has no line in LAYERS")
    allowed = LAYERS[layer].split()
    if target == layer or any(covers(name, use.target) for name in (*allowed, *FOR_ALL)):
        return None
    return use.refused(f"{layer} may import {', '.join(allowed) or 'no other layer'}")


def wrong_shelf(use: Import) -> str | None:
    """Why an import within the public package is refused, or None."""
    shelf, target = (
        next((name for name in ABOVE_CORE if covers(name, module)), "staticgraph")
        for module in (use.module, use.target)
    )
    if target in (shelf, "staticgraph", *ABOVE_CORE.get(shelf, "").split()) or use.module in NAMESPACES:
        return None
    return use.refused(f"{shelf} may not import {target}")


def wrong_third_party(use: Import) -> str | None:
    """Why an import of another project's module is refused, or None."""
    top, package = use.target.split(".")[0], use.module.split(".")[0]
    if top in REFUSED_MODULES:
        return use.refused(NO_CODE)
    if top in sys.stdlib_module_names:
        return None
    if package in (REQUIRED | OPTIONAL).get(top, "").split():
        if top in OPTIONAL and not use.inside_function:
            return use.refused("an extra, import it inside the function that needs it")
        return None
    return use.refused(f"{package} may not depend on {top}")


def part_of(module: str) -> str:
    """The first level below a package or a shelf: a folder with everything in it, or a single module."""
    if module in NAMESPACES:
        return f"{module} (names)"
    shelf = max((len(name.split(".")) for name in SHELVES if covers(name, module)), default=1)
    return ".".join(module.split(".")[: shelf + 1])


def cycles(uses: list[Import]) -> list[str]:
    """Import cycles between the rooms of the packages, and between single modules."""
    rooms = {(part_of(use.module), part_of(use.target)) for use in uses}
    modules = {(use.module, use.target) for use in uses}
    return [*_cycles(rooms), *_cycles(modules)]


def _cycles(edges: set[tuple[str, str]]) -> list[str]:
    graph = nx.DiGraph((a, b) for a, b in edges if a != b)
    return [
        "import cycle: " + " -> ".join([*cycle, cycle[0]])
        for component in nx.strongly_connected_components(graph)
        if len(component) > 1
        for cycle in [[a for a, _ in nx.find_cycle(graph.subgraph(component))]]
    ]


def complaints(root: Path) -> list[str]:
    """Everything that is wrong with the imports below `root`."""
    uses, found = imports(root)
    wrong = [*found]
    ours = [use for use in uses if use.target.split(".")[0] in PACKAGES]
    others = [use for use in uses if use.target.split(".")[0] not in PACKAGES]
    wrong += [complaint for use in ours if (complaint := wrong_layer(use))]
    wrong += [complaint for use in ours if (complaint := wrong_shelf(use))]
    wrong += [complaint for use in others if (complaint := wrong_third_party(use))]
    return wrong + cycles(ours)


def test_imports_run_one_way():
    found = complaints(ROOT)
    assert not found, "\n" + "\n".join(found)


def test_all_classes_are_made_by_our_dataclass():
    theirs = re.compile(r"^from dataclasses .*\bdataclass\b", re.M)
    files = [path for path in sources(ROOT).values() if theirs.search(path.read_text())]
    assert not files, "import it from staticgraph.compiler.support.dataclass, whose classes are made sooner"


def test_the_table_itself_has_no_cycle():
    edges = [(layer, part_of(name)) for layer, allowed in LAYERS.items() for name in allowed.split()]
    graph = nx.DiGraph(edges)
    assert nx.is_directed_acyclic_graph(graph)


def test_every_part_of_the_compiler_has_a_layer():
    parts = {part_of(name) for name in sources(ROOT) if name.startswith("compiler.")}
    assert parts <= LAYERS.keys()


def test_chains_of_rooms_are_no_longer_than_they_need_be():
    """A reader goes down such a chain. One import of a small helper may make all that is above it longer."""
    uses = [use for use in imports(ROOT)[0] if use.module not in NAMESPACES]
    for package, most in LONGEST.items():
        rooms = [
            [".".join(name.split(".")[:2]) for name in (use.module, use.target)]
            for use in uses
            if covers(package, use.module) and covers(package, use.target)
        ]
        chain = nx.dag_longest_path(nx.DiGraph((a, b) for a, b in rooms if a != b and b != package))
        assert len(chain) <= most, " -> ".join(chain)


GOOD = {
    "staticgraph/api.py": "from staticgraph.runtime import session\nimport staticgraph.compiler.graph.dtypes",
    "staticgraph/draw.py": "def draw():\n    import pygraphviz",
    "runtime/session.py": "import llvmlite.binding\nfrom staticgraph.compiler import graph",
    "compiler/graph/__init__.py": "",
    "compiler/graph/dtypes.py": "import dataclasses\nimport numpy as np",
    "compiler/graph/node.py": "from staticgraph.compiler.graph import dtypes",
    "compiler/ops/sums.py": "from staticgraph.compiler.graph import node",
    "compiler/kernel/loops.py": "from staticgraph.compiler.graph.dtypes import DType",
    "runtime/other.py": "import staticgraph.runtime.session",
}

# What is wrong -> the file, its text, and a part of the complaint.
BAD = {
    "up": ("compiler/graph/bad.py", "from staticgraph.compiler.ops import sums", "may import no other layer"),
    "up, inside a function": (
        "compiler/graph/bad.py",
        "def f():\n    import staticgraph.compiler.ops.sums",
        "may import no other layer",
    ),
    "up, for types": (
        "compiler/graph/bad.py",
        "if TYPE_CHECKING:\n    from staticgraph.compiler.ops import sums",
        "may import no other layer",
    ),
    "up to the runtime": ("compiler/ops/bad.py", "import staticgraph.runtime.session", "ops may import"),
    "up to the public package": ("runtime/bad.py", "import staticgraph", "runtime may import compiler"),
    "the package of an allowed module": (
        "compiler/kernel/bad.py",
        "from staticgraph.compiler import graph",
        "may import compiler.graph.dtypes",
    ),
    "the neighbour of an allowed module": (
        "compiler/codegen/bad.py",
        "from staticgraph.compiler.graph import node",
        "may import compiler.graph.dtypes, compiler.kernel",
    ),
    "no layer": ("compiler/new/bad.py", "import staticgraph.compiler.graph", "has no line in LAYERS"),
    "short name": ("runtime/bad.py", "from compiler.graph import dtypes", "write staticgraph.compiler.graph"),
    "short name of the runtime": ("staticgraph/bad.py", "import runtime", "write staticgraph.runtime"),
    "relative": ("compiler/graph/bad.py", "from . import dtypes", "relative import"),
    "third party": ("staticgraph/bad.py", "import pandas.api", "may not depend on pandas"),
    "LLVM in the compiler": ("compiler/ops/bad.py", "import llvmlite.binding", "may not depend on llvmlite"),
    "an extra at the top": ("runtime/bad.py", "import cupy", "inside the function"),
    "pickle": ("runtime/bad.py", "def load():\n    from pickle import loads", "data into code"),
    "eval": ("runtime/bad.py", "value = eval(text)", "data into code"),
    "import by name": ("runtime/bad.py", "import importlib\nimportlib.import_module(name)", "data into code"),
    "a shelf": ("staticgraph/api.py", "from staticgraph.tf1 import queue", "may not import staticgraph.tf1"),
    "a shelf, inside a function": (
        "staticgraph/api.py",
        "def f():\n    from staticgraph.formats.tf import messages",
        "may not import staticgraph.formats",
    ),
    "a shelf, for types": (
        "staticgraph/formats/bad.py",
        "if TYPE_CHECKING:\n    from staticgraph.tf1 import queue",
        "staticgraph.formats may not import staticgraph.tf1",
    ),
    "cycle": ("runtime/session.py", "import staticgraph.runtime.other", "import cycle"),
    "cycle inside a room": (
        "compiler/graph/dtypes.py",
        "def f():\n    from staticgraph.compiler.graph import node",
        "import cycle",
    ),
}


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def test_the_checker_accepts_a_good_tree(tmp_path: Path):
    assert complaints(write(tmp_path, GOOD)) == []


@pytest.mark.parametrize("file, text, expected", BAD.values(), ids=BAD)
def test_the_checker_refuses(tmp_path: Path, file: str, text: str, expected: str):
    found = complaints(write(tmp_path, GOOD | {file: text}))
    assert expected in "\n".join(found)
