"""Draw the pictures of docs/gallery.md anew: run the examples that it names, and take what they write.

    python -m tools.pages.gallery [NAME ...]

With names, only the examples whose file names contain one. Look at the pictures before they are committed.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tools.pages.examples import shown_files

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "gallery.md"
_COMMAND = re.compile(r"^```sh\n(python .*)\n```$", re.MULTILINE)


def sections(text: str) -> list[tuple[str, list[str]]]:
    r"""Each command of the page, and the pictures that follow it before the next one.

    >>> sections("```sh\npython examples/a.py\n```\n![A](gallery/a.png)\n```sh\npython b.py\n```\n")
    [('python examples/a.py', ['gallery/a.png']), ('python b.py', [])]
    """
    _, *parts = _COMMAND.split(text)
    return [(command, shown_files(after)) for command, after in zip(parts[::2], parts[1::2], strict=True)]


def draw(command: str, pictures: list[str]) -> None:
    """Run a command in an empty folder, and copy what it wrote to the pictures' places."""
    program, *arguments = shlex.split(command)
    found = [str(ROOT / word) if word.startswith("examples/") else word for word in arguments]
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        subprocess.run([sys.executable, *found], cwd=folder, check=True)
        print(f"{program} {' '.join(arguments)}: {time.perf_counter() - start:.1f} s", flush=True)
        for picture in pictures:
            shutil.copy(Path(folder, Path(picture).name), PAGE.parent / picture)


def main() -> None:
    """Draw the pictures of all commands, or of those that are named."""
    wanted = sys.argv[1:]
    chosen = [
        one
        for one in sections(PAGE.read_text(encoding="utf-8"))
        if not wanted or any(name in one[0] for name in wanted)
    ]
    if not chosen:
        sys.exit(f"{PAGE.name} has no command with {' or '.join(wanted)}")
    for number, (command, pictures) in enumerate(chosen, 1):
        print(f"[{number}/{len(chosen)}] {command}", flush=True)
        draw(command, pictures)


if __name__ == "__main__":
    main()
