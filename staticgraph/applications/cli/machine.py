"""Facts about the machine, as far as the operating system reports them."""

from __future__ import annotations

import os
import platform
import re
import shutil
import sys
from pathlib import Path

_NVIDIA = Path("/proc/driver/nvidia/version")


def processor() -> str | None:
    """The name that the maker gave the processor; None if the system does not tell."""
    told = re.search(r"^(?:model name|Model)\s*:\s*(.+)$", _text(Path("/proc/cpuinfo")), re.MULTILINE)
    return told[1].strip() if told else platform.processor() or None


def cores() -> tuple[int, int]:
    """Return the number of cores, and the number of cores that this process may use."""
    there = os.cpu_count() or 1
    return there, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else there


def nvidia_driver() -> str | None:
    """The version of NVIDIA's driver, "installed" where only its program is found; None without one."""
    told = re.search(r"Kernel Module\D*([\d.]+)", _text(_NVIDIA))
    if told:
        return told[1]
    return "installed" if shutil.which("nvidia-smi") else None


def system() -> str:
    """The operating system and the architecture."""
    return f"{platform.system() or sys.platform} {platform.release()}, {platform.machine()}".strip()


def _text(path: Path) -> str:
    """A file of the system; empty if there is none."""
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
