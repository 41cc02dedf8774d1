"""An idea fits into a file of 500 lines, a step of it into a function of 60. A folder is read at a glance."""

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("staticgraph", "runtime", "compiler", "tests", "examples", "tools")
LIMIT = 500
MOST_ENTRIES = 25
MOST_OF_A_BODY = 60
PRODUCT = FOLDERS[:3]


def test_no_file_is_longer_than_the_limit():
    lengths = {
        path.relative_to(ROOT): len(path.read_text().splitlines())
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*.py")
    }
    assert lengths
    too_long = {str(path): lines for path, lines in lengths.items() if lines > LIMIT}
    assert not too_long, f"split these by idea, {LIMIT} lines is the most: {too_long}"


def entries(folder: Path) -> int:
    """The files and folders in a folder, without stubs, which a tool makes, and what Python leaves behind."""
    return sum(
        path.is_file() or any(child.name != "__pycache__" for child in path.iterdir())
        for path in folder.iterdir()
        if path.name != "__pycache__" and path.suffix != ".pyi"
    )


def test_no_folder_has_more_entries_than_the_limit():
    folders = [path for name in PRODUCT for path in (ROOT / name, *(ROOT / name).rglob("*")) if path.is_dir()]
    counts = {
        str(folder.relative_to(ROOT)): entries(folder) for folder in folders if folder.name != "__pycache__"
    }
    assert counts["compiler/ops"] > len([*(ROOT / "compiler" / "ops").glob("*.py")])  # folders, too
    too_full = {name: n for name, n in counts.items() if n > MOST_ENTRIES}
    assert not too_full, f"make folders by subject, {MOST_ENTRIES} entries is the most: {too_full}"


def body_lines(function: ast.FunctionDef) -> int:
    r"""The lines of a function without its parameters, which a public interface may fix, and its docstring.

    >>> body_lines(ast.parse("def f(\n  x,\n):\n  'Twice `x`.'\n\n  y = x + x\n  return y").body[0])
    2
    """
    body = function.body[1:] if ast.get_docstring(function) else function.body
    return body[-1].end_lineno - body[0].lineno + 1 if body else 0


def test_no_function_has_a_body_that_is_longer_than_the_limit():
    found = {
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}": body_lines(node)
        for name in PRODUCT
        for path in (ROOT / name).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef)
    }
    assert len(found) > 10_000
    too_long = {place: lines for place, lines in found.items() if lines > MOST_OF_A_BODY}
    assert not too_long, f"split these by idea, {MOST_OF_A_BODY} lines is the most: {too_long}"
