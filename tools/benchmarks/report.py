"""The results of a run as Markdown: a table of times, a table of first steps, and what did not go well."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.calm import ENOUGH, FAR
from benchmarks.chart import Group, draw
from benchmarks.peers import OURS
from benchmarks.text import duration, ratio
from benchmarks.workloads import WORKLOADS

Facts = dict[str, Any]
Results = dict[str, Any]  # what `tools/benchmark.py` writes as JSON

NO_FLOOR = ("scalar", "dag")  # here the time goes into calls, not into arithmetic or memory


def floor_of(results: Results, workload: str) -> float | None:
    """The least time for a step on this machine when we, or else a peer, had our turns; where that says
    anything.
    """
    rows = results["work"][workload]
    known = {name: facts["floor"] for name, facts in rows.items() if "floor" in facts}
    return None if workload.startswith(NO_FLOOR) else known.get(OURS, next(iter(known.values()), None))


def times(rows: dict[str, Facts]) -> dict[str, float]:
    """Median seconds of the rows that ran and computed the right thing."""
    return {name: facts["median"] for name, facts in rows.items() if "median" in facts and facts["agrees"]}


def fastest_peer(rows: dict[str, Facts]) -> str | None:
    """The peer with the shortest median."""
    peers = {name: time for name, time in times(rows).items() if name != OURS}
    return min(peers, key=lambda name: peers[name], default=None)


def markdown(results: Results, picture: str | None = None) -> str:
    """The whole report. `picture` is the name of the chart."""
    names = [name for name in results["versions"] if any(name in rows for rows in results["work"].values())]
    parts = [f"# {title(results)}", header(results)]
    if picture:
        parts.append(f"![Bar chart of all times]({picture})")
    parts += [
        table(results, names),
        legend(results),
        first_steps(results),
        limits(results),
        failures(results),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def title(results: Results) -> str:
    """Subject of the comparison."""
    return f"{OURS} and its peers, {threads(results)}"


def threads(results: Results) -> str:
    """Return the number of threads: `2 threads`."""
    number = results["threads"]
    return f"{number} thread{'s' if number > 1 else ''}"


def header(results: Results) -> str:
    """When and where, and which versions."""
    machine = results["machine"]
    versions = ", ".join(dict.fromkeys(results["versions"].values()))
    asked = {
        " --quick": results["quick"],
        " --avx2": results.get("avx2", False),
        f" --threads {results['threads']}": results["threads"] != machine["cores"],
    }
    return (
        f"{results['date']}, {machine['cpu']}, {machine['cores']} cores, {machine['memory']}, "
        f"{machine['system']}, Python {machine['python']}. {versions}.\n\n"
        f"Made by `python tools/benchmark.py{''.join(flag for flag, is_set in asked.items() if is_set)}`."
        + "".join(f" {note}" for note in results.get("notes", ()))
    )


def table(results: Results, names: Sequence[str]) -> str:
    """Workloads down, rows across."""
    peers = [name for name in names if name != OURS]
    head = ["work", "floor", f"**{OURS}**", *peers, "fastest peer", "ours / fastest peer", "ours / floor"]
    lines = [head, ["---", *["---:"] * (len(head) - 4), "---", "---:", "---:"]]
    for workload, rows in results["work"].items():
        floor, best, mine = floor_of(results, workload), fastest_peer(rows), times(rows).get(OURS)
        lines.append(
            [
                WORKLOADS[workload].title,
                duration(floor) if floor else "",
                f"**{cell(rows[OURS])}**" if OURS in rows else "",
                *(cell(rows.get(name)) for name in peers),
                best or "",
                verdict(mine / rows[best]["median"]) if mine and best else "",
                ratio(mine / floor) if mine and floor else "",
            ]
        )
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def cell(facts: Facts | None) -> str:
    """One row at one workload."""
    if facts is None:
        return ""
    if "median" not in facts:
        return "failed"
    return duration(facts["median"]) + ("" if facts["agrees"] else " ≠")


def verdict(value: float) -> str:
    """Ours over theirs; what is lost is in bold."""
    return ratio(value) if value <= 1 else f"**{ratio(value)}, slower**"


def legend(results: Results) -> str:
    """Meaning of the figures."""
    rounds, seconds, visits = results["rounds"], results["seconds"], results.get("visits")
    again = visits and (
        f" Visits are made again where the machine does less than {ENOUGH:.0%} of what it can, or takes "
        f"{FAR:g} times as long from one thread to another, before or after, as happened {visits['again']} "
        f"times in {visits['made']}."
    )
    return (
        f"Median time of a step, over {rounds} rounds of about {seconds:g} s in which the rows take turns. "
        "A step takes NumPy arrays and gives back NumPy values; weights stay with the framework. *Floor*: "
        "the larger of arithmetic over the peak of multiply-adds and bytes over bandwidth, both measured in "
        "this run, those of arithmetic and the cache around each of our visits. Results of the first steps "
        "agree to a thousandth unless marked ≠." + (again or "") + replaced(results)
    )


def replaced(results: Results) -> str:
    """Which figures are of a second run: whoever measures again what came out badly chooses the results."""
    titles = [WORKLOADS[name].title for name in results.get("replaced", ())]
    return f" Measured once more, in place of a first result: {'; '.join(titles)}." if titles else ""


def first_steps(results: Results) -> str:
    """From the start of the import to the end of the first step, in fresh processes, and their memory."""
    if not results.get("first"):
        return ""
    lines = ["## From import to first step", ""]
    lines.append("| work | row | kernel cache | import | build | first step | in all | peak memory |")
    lines.append("|---|---|---|---:|---:|---:|---:|---:|")
    for workload, entries in results["first"].items():
        for entry in entries:
            shown = [duration(entry[part]) for part in ("imported", "built", "first")]
            whole = duration(sum(entry[part] for part in ("imported", "built", "first")))
            memory = f"{entry['peak']:.0f} MB"
            cells = (WORKLOADS[workload].title, entry["row"], entry["cache"], *shown, whole, memory)
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def limits(results: Results) -> str:
    """The machine in figures."""
    found = results["limits"]
    if not found:
        return ""
    bits = found.get("vector_bits")
    registers = f"registers of {bits} bits" if bits else "registers"
    turn = found.get("hand_over")
    apart = turn and f" What a thread writes, another one sees after {duration(turn)}."
    return (
        "## The machine\n\n"
        f"At its best, multiply-adds in {registers} {found['flops'] / 1e9:.0f} GFLOP/s, triad from memory "
        f"{found['memory'] / 1e9:.1f} GB/s and from the last cache {found['cache'] / 1e9:.0f} GB/s, NumPy's "
        f"product of two 1024x1024 matrices on all cores {found['sgemm'] / 1e9:.0f} GFLOP/s; filling 32 MiB "
        f"of fresh pages takes {duration(found['fill_fresh'])}, of used ones "
        f"{duration(found['fill_reused'])}." + (apart or "")
    )


def failures(results: Results) -> str:
    """Workloads that did not run, and results that disagree."""
    lines = []
    for workload, rows in results["work"].items():
        for name, facts in rows.items():
            if "failure" in facts:
                lines.append(f"* {WORKLOADS[workload].title}, {name}: {facts['failure']}")
            elif not facts["agrees"]:
                off = f"{facts['difference']:.1e}"
                lines.append(f"* {WORKLOADS[workload].title}, {name}: results differ by {off}, relatively")
    return "\n".join(["## What went wrong", "", *lines]) if lines else ""


def chart(results: Results) -> str:
    """The bar chart, as SVG."""
    groups = [
        Group(WORKLOADS[name].title.replace("`", ""), times(rows), floor_of(results, name))
        for name, rows in results["work"].items()
    ]
    machine = results["machine"]
    caption = (
        f"Time of a step on {machine['cpu']}, {threads(results)}; shorter is better. "
        "The scale is logarithmic; dashed: floor."
    )
    return draw(groups, OURS, caption)
