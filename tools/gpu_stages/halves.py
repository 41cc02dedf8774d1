"""Training whose products are rounded to bfloat16, or computed in float16, beside PyTorch with autocast."""

from __future__ import annotations

import importlib.util

from gpu_stages import peers
from gpu_stages.peer import ROUNDED, rounded
from gpu_stages.setting import Setting

NAMES = ("transformer", "resnet18")
OTHERS = ("torch.compile in a CUDA graph", "torch.compile")


def run(setting: Setting) -> None:
    """The stage."""
    others = OTHERS if importlib.util.find_spec("torch") else ()
    rows = [rounded(row, ROUNDED[0]) for row in (peers.OURS, *others)]
    peers.several(setting, dict.fromkeys(NAMES, rows))
