"""Training whose products have operands of bfloat16 or float16, beside PyTorch with autocast."""

from __future__ import annotations

import importlib.util

from gpu_stages import peers
from gpu_stages.peer import ROUNDED, rounded
from gpu_stages.setting import Setting

NAMES = ("transformer", "resnet18")
OTHERS = ("torch.compile in a CUDA graph", "torch.compile")


def run(setting: Setting) -> None:
    """The stage."""
    rows = []
    for dtype, others in zip(ROUNDED, (OTHERS, OTHERS[:1]), strict=True):  # the first is the faster one
        others = others if importlib.util.find_spec("torch") else ()
        rows += [rounded(row, dtype) for row in (peers.OURS, *others)]
    peers.several(setting, dict.fromkeys(NAMES, rows))
