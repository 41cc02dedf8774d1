"""Notebooks and IPython: forms of objects as tables and pictures, errors cut to the user's cell.

Nothing here is imported by a script. `install` changes only the shell that runs this process.
"""

from __future__ import annotations

import sys

from staticgraph.compiler.support.lazy_names import load


def install() -> None:
    """Teach the IPython shell that runs this process, if there is one."""
    found = sys.modules.get("IPython")
    shell = found.get_ipython() if found is not None else None
    if shell is not None:
        load("staticgraph.applications.notebook.errors").install(shell)
        load("staticgraph.applications.notebook.forms").install(shell)
