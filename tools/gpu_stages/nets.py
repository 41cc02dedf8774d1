"""Nets that nobody tuned, beside JAX and PyTorch: the benchmark group `nets`, at the sizes of a card.

To start and to compile takes longest, so that all rows of several nets do it side by side. Then they take
times net by net, in turns.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from gpu_stages.peers import compiling
from gpu_stages.setting import Setting

GROUP = "benchmarks.nets"
OTHERS = ("JAX", "torch.compile graphs")  # the fastest ways; the others would take time from these
MOST, AHEAD = 1.1, 10  # of the fastest peer's time, for each; nets that are below 1
SECONDS, ROUNDS = 0.6, 2  # of a row's turn, and turns
LEAST = 12.0  # seconds in which it makes sense to begin with a net
ENDING = 4.0  # seconds to end the processes of a net
TOGETHER = 6  # nets that prepare themselves at the same time: what they keep must fit on the card
PATIENCE = 100.0  # seconds for them to do so


def run(setting: Setting) -> None:
    """The stage. What matters most comes first: the time may not be enough for all."""
    if importlib.util.find_spec(GROUP) is None:
        setting.findings.note("nets", "this checkout does not have the group")
        return
    group: Any = importlib.import_module(f"{GROUP}.group")
    table: Any = importlib.import_module(f"{GROUP}.table").NETS
    found = {row.name: row for row in group.installed(None, "cpu" if setting.small else "gpu")}
    rows = [found[name] for name in (group.OURS, *(() if setting.small else OTHERS)) if name in found]
    names = [*table][: setting.sized(len(table), 1)]
    together = max(1, min(TOGETHER, (os.cpu_count() or 1) // 2))
    ahead: list[bool] = []
    for n in range(0, len(names), together):
        some = names[n : n + together]
        if setting.within(", ".join(some), LEAST):
            share = setting.left * len(some) / len(names[n:])
            ahead += _several(setting, group, table, rows, some, share)
    if ahead:
        text = f"of {len(ahead)} that were timed beside a peer"
        setting.findings.measured("nets ahead of all peers", sum(ahead), "nets", AHEAD, text=text)


def _several(
    setting: Setting, group: Any, table: Any, rows: Sequence[Any], names: Sequence[str], share: float
) -> list[bool]:
    """Prepare all rows of some nets, then have each net take times: all that in a share of the time left.

    Return for each net with a peer if ours is ahead of all.
    """
    ahead: list[bool] = []
    turns: Any = importlib.import_module("benchmarks.turns")
    pairs = [(name, row) for name in names for row in rows]
    patience = max(LEAST, min(PATIENCE, share - len(pairs) * ROUNDS * SECONDS)) - ENDING
    size, cores = "small" if setting.small else "gpu", os.cpu_count() or 1

    def start(pair: tuple[str, Any]) -> Any:
        name, row = pair
        return turns.started(row, group.command(row, name, size, cores), patience, compiling(len(pairs)))

    with ThreadPoolExecutor(len(pairs)) as pool:
        workers = [*pool.map(start, pairs)]
    for n, name in enumerate(names):
        with setting.findings.trying(name):
            mine = workers[n * len(rows) : (n + 1) * len(rows)]
            found = turns.visited(mine, ROUNDS, SECONDS, table[name].tolerance, print)
            ahead += _tell(setting, group.OURS, name, group.checked(found))
    return ahead


def _tell(setting: Setting, mine: str, name: str, found: dict[str, Any]) -> list[bool]:
    """Tell of a net; return if ours is ahead, if that is known."""
    for row, facts in found.items():
        if "failure" in facts:
            setting.findings.check(f"{name}: {row}", False, facts["failure"])
        else:
            off = "" if facts.get("agrees", True) else f"off by {facts['difference']:.1e}"
            setting.findings.check(f"{name}: {row} agrees", not off, off)
    medians = {row: facts["median"] for row, facts in found.items() if "median" in facts}
    peers = [median for row, median in medians.items() if row != mine]
    for row, median in medians.items():
        most = MOST * 1e6 * min(peers) if row == mine and peers else None
        text = f"{found[row].get('first', 0.0):.1f} s for the first step, beside others"
        setting.findings.measured(f"{name}: {row}", 1e6 * median, "us", most, most=True, text=text)
    return [medians[mine] < min(peers)] if mine in medians and peers else []
