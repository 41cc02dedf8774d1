"""Work in a process of its own, which may end, hang or take all memory without harm to the program.

Libraries in C may do any of that: LLVM if it is given a wrong name, HDF5 if a file is damaged.
"""

from __future__ import annotations

import math
import sys

# Python's own modules are found before those in the folder that the user works in.
_BEGIN = "import sys; sys.path += sys.argv[{count}:]; from {module} import {function}; {function}()"


def command(module: str, function: str, *arguments: str) -> list[str]:
    """Return the command line of a Python process that calls a function.

    Args:
        module: The module of the function.
        function: The name of the function, which takes nothing.
        arguments: What the function finds in `sys.argv[1:]`, before the folders of modules.
    """
    begin = _BEGIN.format(count=1 + len(arguments), module=module, function=function)
    return [sys.executable, "-I", "-c", begin, *arguments, *filter(None, sys.path)]


def limit(memory: int, seconds: float | None = None) -> None:
    """Limit what this process may take, where the system can.

    Args:
        memory: The most bytes of addresses. Beyond it there is a MemoryError.
        seconds: The most time of the processor, after which the process ends. Default: no limit.
    """
    try:
        import resource
    except ImportError:  # Windows
        return
    limits = {resource.RLIMIT_AS: memory}
    if seconds is not None:
        limits[resource.RLIMIT_CPU] = math.ceil(seconds)
    for kind, most in limits.items():
        _, hard = resource.getrlimit(kind)
        resource.setrlimit(kind, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))
