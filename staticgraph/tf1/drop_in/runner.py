"""Runs a script as `python script.py` would, with staticgraph in TensorFlow's place."""

from __future__ import annotations

import os
import runpy
import sys
import traceback
from collections.abc import Sequence

from staticgraph.building.tracebacks import shorten, told
from staticgraph.distribute.world import tell_others
from staticgraph.tf1.compat.namespace import UnsupportedNameError
from staticgraph.tf1.drop_in.finder import standing_in


def run_script(script: str, arguments: Sequence[str]) -> int:
    """Run a script with arguments; the result is the status to exit with.

    `sys.argv`, `__name__`, `__file__` and the first entry of `sys.path` are as Python has them. An error that
    the script does not catch is shown without our own frames, unless it is one that we should not have made.
    SystemExit passes through.
    """
    sys.argv = [script, *arguments]
    if not sys.flags.safe_path:
        sys.path[0] = os.path.dirname(os.path.abspath(script))
    with standing_in():
        try:
            runpy.run_path(script, run_name="__main__")
        except (Exception, KeyboardInterrupt) as error:
            show(error)
            tell_others(error)
            return 130 if isinstance(error, KeyboardInterrupt) else 1
    return 0


def show(error: BaseException) -> None:
    """Write an error and where the script made it to the error stream."""
    shorten(error, lambda one: told(one) or isinstance(one, UnsupportedNameError | ModuleNotFoundError))
    sys.stdout.flush()
    traceback.print_exception(error)
