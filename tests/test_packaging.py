"""The package is whole and the same in its three forms: wheel, editable install, and a plain checkout.

`compiler/` and `runtime/` are top-level folders of the checkout and parts of `staticgraph` everywhere else.
Each form is imported by a fresh interpreter that sees that form, the dependencies, and nothing more.
"""

import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())
HOMES = {"staticgraph": "staticgraph", "staticgraph.compiler": "compiler", "staticgraph.runtime": "runtime"}


def modules(root: Path) -> dict[str, Path]:
    """Path inside an installed package -> file below `root`, for every Python file we ship."""
    return {
        str(Path(*package.split("."), path.relative_to(root / home))): path
        for package, home in HOMES.items()
        for path in (root / home).rglob("*.py")
    }


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what the build reads, so that building leaves no trace in the real one."""
    root = tmp_path_factory.mktemp("checkout")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, root)
    for home in HOMES.values():
        shutil.copytree(ROOT / home, root / home, ignore=shutil.ignore_patterns("__pycache__"))
    (root / "tests").mkdir()
    (root / "tests" / "__init__.py").touch()
    return root


def build(checkout: Path, kind: str, into: Path) -> Path:
    """Unpack what the build back end makes of a checkout: `build_wheel` or `build_editable`."""
    call = f"import sys; from setuptools import build_meta; build_meta.{kind}(sys.argv[1])"
    wheels = into / "wheels"
    done = subprocess.run(
        [sys.executable, "-c", call, str(wheels)], cwd=checkout, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    [wheel] = wheels.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(into / "site")
    return into / "site"


@pytest.fixture(scope="module")
def wheel(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(checkout, "build_wheel", tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def editable(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(checkout, "build_editable", tmp_path_factory.mktemp("editable"))


@pytest.fixture(params=["wheel", "editable", "checkout"])
def form(request: pytest.FixtureRequest) -> Path:
    """The folder that one form of the package puts on Python's path."""
    folder: Path = request.getfixturevalue(request.param)
    return folder


def python(folder: Path, program: str) -> subprocess.CompletedProcess[str]:
    """Run a program that finds the package through `folder` and its dependencies where we find ours."""
    start = f"import site, sys\nsite.addsitedir({str(folder)!r})\n"
    paths = f"sys.path += {[sysconfig.get_path('purelib'), sysconfig.get_path('platlib')]!r}\n"
    command = [sys.executable, "-I", "-S", "-W", "error", "-c", start + paths + program]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


def test_the_list_of_packages_equals_the_folders():
    listed = SETTINGS["tool"]["setuptools"]["packages"]
    folders = {str(Path(name).parent).replace("/", ".") for name in modules(ROOT)}
    assert len(listed) == len(set(listed))
    assert set(listed) == folders
    assert SETTINGS["tool"]["setuptools"]["package-dir"] == HOMES


def test_every_folder_has_an_init():
    names = modules(ROOT)
    folders = {Path(name).parent for name in names}
    without = [str(folder) for folder in folders if str(folder / "__init__.py") not in names]
    assert not without


def test_the_wheel_holds_our_modules_and_nothing_else(wheel: Path):
    shipped = {str(path.relative_to(wheel)) for path in wheel.rglob("*.py")}
    assert shipped == set(modules(ROOT))
    assert (wheel / "staticgraph" / "py.typed").exists()
    headers = [path.name for path in (ROOT / "runtime" / "gpu" / "simulator").glob("*.h")]
    assert headers and all((wheel / "staticgraph/runtime/gpu/simulator" / name).exists() for name in headers)
    assert list(wheel.glob("*.dist-info/licenses/LICENSE"))


def test_every_module_imports(wheel: Path):
    names = [name.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for name in modules(ROOT)]
    importable = [name for name in names if not name.endswith("__main__")]
    run = python(wheel, "\n".join(f"import {name}" for name in importable))
    assert run.returncode == 0, run.stderr


def test_every_folder_is_found(form: Path):
    """By the path of the package that it is part of: modules are found by its folder."""
    folders = sorted({str(Path(name).parent).replace("/", ".") for name in modules(ROOT)})
    find = f"""
import importlib.util
for name in {folders}:
    found = importlib.util.find_spec(name)
    assert found is not None and found.submodule_search_locations, name
"""
    run = python(form, find)
    assert run.returncode == 0, run.stderr


def test_no_file_is_loaded_twice(form: Path):
    run = python(
        form,
        """
import staticgraph.compiler.graph, staticgraph.runtime
files = [module.__file__ for name, module in sys.modules.items() if name.startswith("staticgraph")]
assert len(files) == len(set(files)), files
for name in ("compiler", "runtime"):
    try:
        __import__(name)
    except ImportError:
        continue
    raise AssertionError(f"{name} could be imported without staticgraph")
""",
    )
    assert run.returncode == 0, run.stderr


@pytest.mark.skipif(platform.machine() not in ("x86_64", "aarch64", "arm64", "AMD64"), reason="no wheel")
def test_the_readme_runs_on_the_core_dependencies_alone(wheel: Path, tmp_path: Path):
    """Without any extra, and without a `dot` program, the first program of the README also draws."""
    program = (ROOT / "README.md").read_text().split("```python\n")[1].split("```")[0]
    names = [re.split(r"[^\w.-]", line)[0] for line in SETTINGS["project"]["dependencies"]]
    before = f"""
import importlib.abc, os
os.environ["PATH"], os.environ["SG_CACHE_DIR"] = "", ""
os.chdir({str(tmp_path)!r})
class OnlyThese(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        top = name.partition(".")[0]
        if top not in {["staticgraph", *names]!r} and top not in sys.stdlib_module_names:
            raise ImportError(name + " is no core dependency")
sys.meta_path.insert(0, OnlyThese())
"""
    run = python(wheel, before + program)
    assert run.returncode == 0, run.stderr
    assert (tmp_path / "net.svg").read_text().lstrip().startswith("<")


def test_the_command_is_installed(wheel: Path, editable: Path):
    for installed in (wheel, editable):
        run = python(
            installed,
            """
from importlib.metadata import distribution
(script,) = distribution("staticgraph").entry_points.select(group="console_scripts")
sys.argv = [script.name]
sys.exit(script.load()())
""",
        )
        assert run.returncode == 0, run.stderr
        assert "\n    doctor    tell what this machine offers" in run.stdout
        assert "\n                  staticgraph doctor\n" in run.stdout


def test_the_rest_of_a_checkout_is_no_part_of_the_package(form: Path):
    run = python(
        form,
        """
import importlib.util, staticgraph
assert len(staticgraph.__path__) == 1
for name in ("tests", "staticgraph"):
    assert importlib.util.find_spec("staticgraph." + name) is None, name
""",
    )
    assert run.returncode == 0, run.stderr


def test_a_checkout_never_mixes_with_an_installed_copy(checkout: Path, wheel: Path, editable: Path):
    for installed in (wheel, editable):
        run = python(
            installed,
            f"""
sys.path.insert(0, {str(checkout)!r})
import staticgraph.compiler.graph, staticgraph.runtime
files = [module.__file__ for name, module in sys.modules.items() if name.startswith("staticgraph")]
assert all(file.startswith({str(checkout)!r}) for file in files), files
""",
        )
        assert run.returncode == 0, run.stderr


def test_an_editable_install_sees_a_new_folder_at_once(checkout: Path, editable: Path):
    folder = checkout / "compiler" / "brand_new"
    folder.mkdir()
    (folder / "__init__.py").touch()
    try:
        run = python(editable, "import staticgraph.compiler.brand_new")
        assert run.returncode == 0, run.stderr
    finally:
        shutil.rmtree(folder)
