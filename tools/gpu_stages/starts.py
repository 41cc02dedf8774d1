"""Time until the first step of a fresh process: with nothing on disk, and with what that process left there.

    python -m gpu_stages.starts STEP DEVICE SMALL

prints the seconds of the import, and those after it until there is a graph and a loss, as JSON.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpu_stages.setting import Setting

BEGAN = time.perf_counter()

NAMES = ("lenet", "resnet18", "transformer")
MOST_REMEMBERED = 1.5  # seconds
PATIENCE = 60.0  # seconds for a process


def run(setting: Setting) -> None:
    """The stage."""
    for name in NAMES[: setting.sized(len(NAMES), 1)]:
        if setting.within(name, 3):
            with setting.findings.trying(name):
                _both(setting, name)


def _both(setting: Setting, name: str) -> None:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as empty:
        cold = _first(setting, name, empty)
        most = None if setting.small else MOST_REMEMBERED
        setting.findings.measured(
            f"{name}: first step after import, cold", cold["step"], "s", text=_text(cold)
        )
        warm = _first(setting, name, empty)
        what = f"{name}: first step after import, programs on disk"
        setting.findings.measured(what, warm["step"], "s", most, most=True, text=_text(warm))
    setting.findings.check(f"{name}: losses are the same", cold["loss"] == warm["loss"], f"{warm['loss']}")


def _first(setting: Setting, name: str, folder: str) -> dict[str, float]:
    command = [sys.executable, "-m", "gpu_stages.starts", name, setting.device, str(int(setting.small))]
    done = subprocess.run(
        command,
        env={**os.environ, "SG_CACHE_DIR": folder},
        capture_output=True,
        text=True,
        timeout=max(2.0, min(PATIENCE, setting.left)),
    )
    if done.returncode:
        raise RuntimeError(" / ".join(done.stderr.splitlines()[-3:]))
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def _text(found: dict[str, float]) -> str:
    return f"{found['built']:.2f} s of them for the graph; the import took {found['imported']:.2f} s"


def main() -> None:
    """The command line."""
    name, device, small = sys.argv[1:]
    from gpu_stages.sizes import STEPS
    from gpu_stages.training import ours

    imported = time.perf_counter() - BEGAN
    step = STEPS[name]
    data = step.data(small == "1")
    begun = time.perf_counter()
    made = ours(step, data, device)
    built = time.perf_counter() - begun
    loss = float(made())
    took = time.perf_counter() - begun
    print(json.dumps({"imported": imported, "built": built, "step": took, "loss": loss}))


if __name__ == "__main__":
    main()
