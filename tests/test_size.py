"""A file holds one idea, and one idea fits into 500 lines."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("staticgraph", "runtime", "compiler", "tests", "examples", "tools")
LIMIT = 500


def test_no_file_is_longer_than_the_limit():
    lengths = {
        path.relative_to(ROOT): len(path.read_text().splitlines())
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*.py")
    }
    assert lengths
    too_long = {str(path): lines for path, lines in lengths.items() if lines > LIMIT}
    assert not too_long, f"split these by idea, {LIMIT} lines is the most: {too_long}"
