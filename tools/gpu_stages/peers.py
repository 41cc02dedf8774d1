"""The same training steps by others: PyTorch in several ways, and JAX, each in a process of its own.

All compute in float32 as it is meant, without TF32; batches come from the host in every step, and the loss
goes back to it.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from dataclasses import dataclass

from gpu_stages.runner import TOOLS
from gpu_stages.setting import Setting
from gpu_stages.sizes import STEPS

PATIENCE = 45.0  # seconds for one peer at one step
TOLERANCE = 1e-3  # of losses
OURS = "staticgraph"


@dataclass(frozen=True, slots=True)
class Row:
    """A way to do a step, and the package that it needs. Those that take long, or are not the fastest way to
    do more work, do the `small` net only.
    """

    name: str
    package: str
    small: bool = False


ROWS = (
    Row(OURS, "staticgraph"),
    Row("torch.compile", "torch"),
    Row("jax", "jax"),
    Row("torch in a CUDA graph", "torch", small=True),
    Row("torch.compile, reduce-overhead", "torch", small=True),
    Row("torch.compile in a CUDA graph", "torch"),
    Row("torch", "torch", small=True),
    Row("torch.compile, max-autotune", "torch", small=True),
)
SMALL = "small_mlp"
FASTER = {"torch.compile, reduce-overhead": 4.0}  # how many times, at the small net


def run(setting: Setting) -> None:
    """The stage. What matters most comes first: the time may not be enough for all."""
    rows = [row for row in ROWS if importlib.util.find_spec(row.package)]
    setting.findings.note("peers", ", ".join(row.name for row in rows if row.name != OURS) or "none is here")
    for name, step in STEPS.items():
        if step.speed:
            ours: tuple[float, list[float]] | None = None
            for row in rows:
                if row.small and name != SMALL:
                    continue
                what = f"{step.title}: {row.name}"
                if setting.within(what, 8):
                    with setting.findings.trying(what):
                        found = _timed(setting, row, name)
                        ours = ours or found
                        _tell(setting, name, row, what, found, ours)


def _timed(setting: Setting, row: Row, step: str) -> tuple[float, list[float]]:
    """Seconds per step, and the first losses."""
    command = [sys.executable, "-m", "gpu_stages.peer", row.name, step, setting.device]
    patience = min(PATIENCE, setting.left)
    done = subprocess.run(command, capture_output=True, text=True, timeout=patience, cwd=TOOLS, check=False)
    if done.returncode:
        raise RuntimeError(" / ".join(done.stderr.splitlines()[-3:]))
    answer = json.loads(done.stdout.splitlines()[-1])
    return answer["seconds"], answer["losses"]


def _tell(
    setting: Setting,
    step: str,
    row: Row,
    what: str,
    found: tuple[float, list[float]],
    ours: tuple[float, list[float]],
) -> None:
    """A peer's time, which should be no less than ours, and for which ours is the target."""
    seconds, losses = found
    if row.name == OURS:
        setting.findings.measured(what, 1e6 * seconds, "us")
        return
    times = FASTER.get(row.name, 1.0) if step == SMALL else 1.0
    text = f"{seconds / ours[0]:.2f} times as long as ours"
    setting.findings.measured(what, 1e6 * seconds, "us", 1e6 * times * ours[0], text=text)
    off = max(abs(a - b) / max(abs(b), 1e-3) for a, b in zip(losses, ours[1], strict=True))
    setting.findings.check(f"{what} has our losses", off < TOLERANCE, f"off by {off:.1e}")
