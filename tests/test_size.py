"""A file holds one idea, and one idea fits into 500 lines. A folder holds what is read at one glance."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("staticgraph", "runtime", "compiler", "tests", "examples", "tools")
LIMIT = 500
MOST_ENTRIES = 25
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
