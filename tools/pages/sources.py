"""The folder that the manual is built from: the pages of the repository in their places, and those made."""

from __future__ import annotations

import shutil
from pathlib import Path

from pages import api, ops
from pages.examples import make_pictures
from pages.makers import makers
from pages.markdown import directive
from pages.names import first_names, modules, names

ROOT = Path(__file__).resolve().parent.parent.parent
KEPT = (
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "LICENSE",
    "docs",
    "examples",
    "tests/test_layering.py",
)

# The pages by what a reader looks for. A page of docs/ that is not listed is one more guide.
PARTS = {
    "Start": ["README"],
    "Tutorial": ["docs/tutorial/*"],
    "Coming from": ["docs/from_tensorflow", "docs/from_pytorch"],
    "Guides": [
        "docs/gallery",
        "docs/pictures",
        "docs/seeing",
        "docs/show",
        "docs/watch",
        "docs/gpu",
        "docs/distribute",
        "docs/files",
        "docs/ahead",
        "docs/tensorflow_files",
        "docs/onnx",
        "docs/switches",
    ],
    "How it works": [
        "docs/how_it_works",
        "docs/cpu",
        "docs/loops",
        "docs/sizes",
        "docs/derivatives",
        "docs/accuracy",
        "docs/benchmark",
    ],
    "Reference": ["reference/ops/index", "reference/api/index", "docs/command_line", "docs/signatures"],
    "Project": ["CONTRIBUTING", "CHANGELOG"],
}
OTHERS = "Guides"
TITLES = {"README": "Overview", "docs/benchmark": "Benchmark"}


def write(folder: Path) -> list[Path]:
    """Write all of it into an empty folder; what pages show in frames, which Sphinx does not copy."""
    for name in KEPT:
        _copy(ROOT / name, folder / name)
    made = [path for page in sorted(folder.rglob("docs/**/*.md")) for path in make_pictures(page)]
    for path, text in written().items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    (folder / "index.md").write_text(index(folder), encoding="utf-8")
    return [path for path in made if path.suffix == ".html"]


def written() -> dict[str, str]:
    """The pages that are made from the program itself, by their paths."""
    public = modules()
    every = names(public)
    first = first_names(every)
    found = makers([name for name in every if first[id(name.value)] is name])
    return ops.pages(found) | api.pages(public, every)


def index(folder: Path) -> str:
    """The first page: what is where."""
    page = (Path(__file__).parent / "web" / "index.md").read_text(encoding="utf-8")
    return (
        page
        + "\n"
        + "\n\n".join(
            directive("toctree", "", "\n".join(map(entry, pages)), ["hidden:", f"caption: {caption}"])
            for caption, pages in parts(folder).items()
        )
        + "\n"
    )


def entry(page: str) -> str:
    """A page in the list of pages, under another title than its own where that says more."""
    return f"{TITLES[page]} <{page}>" if page in TITLES else page


def parts(folder: Path) -> dict[str, list[str]]:
    """The pages of each part that are there, without the ending."""
    every = sorted(str(path.relative_to(folder).with_suffix("")) for path in folder.rglob("*.md"))
    found = {
        caption: [name for pattern in patterns for name in every if Path(name).match(pattern)]
        for caption, patterns in PARTS.items()
    }
    listed = {name for names in found.values() for name in names}
    found[OTHERS] += [name for name in every if name.startswith("docs/") and name not in listed]
    return {caption: names for caption, names in found.items() if names}


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    elif source.exists():
        shutil.copy(source, target)
