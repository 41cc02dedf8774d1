"""Type checkers over a user's program: right lines pass, and every line marked `# wrong` is an error.

python tools/check_types.py "mypy --strict"
python tools/check_types.py pyright

The package must be installed where the checker looks for packages.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).resolve().parent.parent / "tests" / "api" / "user_program.py"


def told(output: str) -> set[int]:
    """The lines of the program that a checker calls wrong.

    >>> told("user_program.py:7: error: no such name; user_program.py:8: note: defined here")
    {7}
    >>> told("  /home/me/user_program.py:9:1 - error: no such name")
    {9}
    """
    return {int(line) for line in re.findall(rf"{PROGRAM.name}:(\d+):.*?\berror\b", output)}


def main() -> int:
    """Run the checker, and compare its errors with the marked lines."""
    command = [*shlex.split(sys.argv[1]), str(PROGRAM)]
    output = subprocess.run(command, capture_output=True, text=True).stdout
    lines = PROGRAM.read_text().splitlines()
    marked = {number for number, line in enumerate(lines, 1) if line.endswith("# wrong")}
    for number in sorted(told(output) ^ marked):
        fault = "is right, and called wrong" if number not in marked else "is wrong, and passes"
        print(f"{PROGRAM.name}:{number} {fault}: {lines[number - 1]}")
    if told(output) != marked:
        print(output)
        return 1
    print(f"{command[0]}: {len(lines)} lines, {len(marked)} of them wrong and found")
    return 0


if __name__ == "__main__":
    sys.exit(main())
