"""Facts about the card that are of use if there is none, and the graph of a step as a picture."""

from __future__ import annotations

import shutil
import subprocess
from typing import Any

from gpu_stages import card
from gpu_stages.setting import Setting

# What nvidia-smi is asked for: nothing that tells one machine from another of its kind.
FIELDS = (
    "name",
    "driver_version",
    "compute_cap",
    "memory.total",
    "clocks.max.sm",
    "clocks.max.mem",
    "power.limit",
    "pcie.link.gen.max",
    "pcie.link.width.max",
    "ecc.mode.current",
    "compute_mode",
    "persistence_mode",
    "mig.mode.current",
)


def run(setting: Setting) -> None:
    """The stage."""
    for name, part in (("nvidia-smi", _smi), ("cuDNN", _cudnn), ("graph", _graph)):
        with setting.findings.trying(name):
            part(setting)


def _smi(setting: Setting) -> None:
    if program := shutil.which("nvidia-smi"):
        command = [program, f"--query-gpu={','.join(FIELDS)}", "--format=csv,noheader"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
        values = done.stdout.splitlines()[0].split(", ")
        told = ", ".join(f"{field} {value}" for field, value in zip(FIELDS, values, strict=True))
        setting.findings.note("nvidia-smi", told)


def _cudnn(setting: Setting) -> None:
    """The properties by which cuDNN plans for this card if there is none."""
    try:
        import cudnn
    except ImportError:
        setting.findings.note("cuDNN", "its frontend is not installed")
        return
    properties = cudnn.create_device_properties(0).serialize()
    content = properties if isinstance(properties, bytes) else str(properties).encode()
    (setting.folder / "cudnn_device.json").write_bytes(content)
    setting.findings.note("cuDNN", f"backend {cudnn.backend_version()}, {len(content)} bytes of properties")


def _graph(setting: Setting) -> None:
    """Return the graph that CUDA makes of a small capture, as Graphviz draws it."""
    with setting.driver() as driver:
        (kernel,) = driver.load([card.nothing(driver)])
        x, y = driver.allocate(256), driver.allocate(256)
        graph: Any = card.captured(driver, lambda: kernel((x, y)), lambda: kernel((y, x)))
        text = graph.text()
    (setting.folder / "graph.dot").write_text(text)
    setting.findings.note("graph", f"graph.dot: {text.count('label=')} labels")
