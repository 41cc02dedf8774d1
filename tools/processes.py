"""Checks of training in several processes that take too long for the tests.

    python tools/processes.py bits            one hash for 1, 2, 4 and 8 processes
    python tools/processes.py bits --steps 20 --seeds 0
    python tools/processes.py kills --times 200     of a random process: no hang, no lost checkpoint
    python tools/processes.py kills --log kills.log     goes on after the last kill in that file
    python tools/processes.py speed --peers DIR         against MPI, PyTorch and JAX, on an idle machine

The exit status is 1 if something is not as it must be.
"""

from __future__ import annotations

import argparse
import importlib
import sys

CHECKS = ("bits", "kills", "hosts", "speed")


def main() -> int:
    """Run a check; the status to exit with."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    checks = parser.add_subparsers(dest="check", required=True)
    modules = {name: importlib.import_module(f"process_checks.{name}") for name in CHECKS}
    for name, module in modules.items():
        module.add_arguments(checks.add_parser(name, help=module.__doc__.splitlines()[0]))
    options = parser.parse_args()
    return int(not modules[options.check].check(options))


if __name__ == "__main__":
    sys.exit(main())
