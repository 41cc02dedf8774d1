"""Nets that nobody tuned, beside PyTorch and JAX: the benchmark group `nets`, at the sizes of a card."""

from __future__ import annotations

import importlib.util
import os
from typing import Any

from gpu_stages.setting import Setting

GROUP = "benchmarks.nets"
MOST = 1.1  # of the fastest peer's time, for each
SECONDS, ROUNDS = 1.0, 2  # of a row's turn, and turns
LEAST = 12.0  # seconds in which it makes sense to begin with a net
ENDING = 4.0  # seconds to end the processes of a net


def run(setting: Setting) -> None:
    """The stage. Nets share the time: what one leaves is for those after it."""
    if importlib.util.find_spec(GROUP) is None:
        setting.findings.note("nets", "this checkout does not have the group")
        return
    group: Any = importlib.import_module(f"{GROUP}.group")
    names = [*importlib.import_module(f"{GROUP}.table").NETS]
    rows = group.installed(None, "cpu" if setting.small else "gpu")
    rows = [row for row in rows if not setting.small or row.name == group.OURS]
    for n, name in enumerate(names[: setting.sized(len(names), 1)]):
        share = setting.left / (len(names) - n)
        if setting.within(name, LEAST):
            with setting.findings.trying(name):
                _net(setting, group, rows, name, max(LEAST, share * 1.5) - ENDING)


def _net(setting: Setting, group: Any, rows: Any, name: str, patience: float) -> None:
    results: dict[str, Any] = {
        "size": "small" if setting.small else "gpu",
        "threads": os.cpu_count() or 1,
        "rounds": ROUNDS,
    }
    for _ in group.measured(rows, [name], results, SECONDS, min(patience, setting.left - ENDING), print):
        pass
    found = results["work"][name]
    for row, facts in found.items():
        if "failure" in facts:
            setting.findings.check(f"{name}: {row}", False, facts["failure"])
        setting.findings.check(f"{name}: {row} agrees", facts.get("agrees", True))
    medians = {row: facts["median"] for row, facts in found.items() if "median" in facts}
    peers = [median for row, median in medians.items() if row != group.OURS]
    for row, median in medians.items():
        ours = row == group.OURS and peers
        most = MOST * 1e6 * min(peers) if ours else None
        setting.findings.measured(f"{name}: {row}", 1e6 * median, "us", most, most=True)
