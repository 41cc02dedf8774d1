"""`tf.app.run`: parses the flags, calls `main`, and exits with what it returns."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from staticgraph.tf1.compat.legacy.flags import FLAGS, Error


def run(main: Callable[[list[str]], Any] | None = None, argv: Sequence[str] | None = None) -> NoReturn:
    """Call `main(argv)` with the arguments that are no flags, the program's name first, and exit.

    `main`: by default the `main` of the script. A flag with a bad value ends the program with status 1.
    """
    try:
        rest = FLAGS(sys.argv if argv is None else argv, known_only=True)
    except Error as error:
        sys.exit(f"flags: {error}")
    main = main or sys.modules["__main__"].main
    sys.exit(main(rest))
