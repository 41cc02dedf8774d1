"""Tries this project on a GPU, measures it, and compares it with its peers, in one lending of a machine.

    python tools/gpu_check.py --call first --out FOLDER     what was never measured, in 9.5 minutes
    python tools/gpu_check.py --call second --out FOLDER    the rest, in what is left of a quarter of an hour
    python tools/gpu_check.py --out FOLDER                  both, one after the other
    python tools/gpu_check.py --only probe,models --out FOLDER
    python tools/gpu_check.py --standin --out FOLDER        what can be tried without a GPU, at small sizes

Each stage is a process of its own with a time of its own: one that fails or hangs is told, and the next one
runs. FOLDER has three files, written anew after each: results.json and report.md, which keep what an earlier
call has found by other stages, and details.tar.gz, what stages said and made. docs/gpu.md tells what they do.
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
from pathlib import Path

from gpu_stages import report
from gpu_stages.runner import CALLS, STAGES, Outcome, Stage, run_stages


def chosen(only: str | None, standin: bool, call: str | None = None) -> list[Stage]:
    """The stages with these names, separated by commas, or all of a call or of both; without a card, those
    that need none.
    """
    names = only.split(",") if only else [stage.name for stage in STAGES if call in (None, stage.call)]
    if unknown := sorted(set(names) - {stage.name for stage in STAGES}):
        known = ", ".join(stage.name for stage in STAGES)
        raise SystemExit(f"no such stage: {', '.join(unknown)}; there are {known}")
    return [stage for stage in STAGES if stage.name in names and not (standin and stage.card)]


def main() -> None:
    """The command line. The exit status is 1 where something failed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True, help="folder for the results")
    parser.add_argument("--call", choices=CALLS, help="the stages of one call")
    parser.add_argument("--budget", type=float, help="seconds of all: 570 and 140 for the calls")
    parser.add_argument("--only", help="names of stages, separated by commas")
    parser.add_argument("--device", default="gpu:0", help="which GPU")
    parser.add_argument("--standin", action="store_true", help="without a GPU")
    options = parser.parse_args()
    device = "standin" if options.standin else options.device
    stages = chosen(options.only, options.standin, options.call)
    budget = sum(CALLS[call] for call in {stage.call for stage in stages})
    budget = budget if options.budget is None else options.budget
    folder = options.out.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(prefix="gpu-check-"))  # a machine that is lent gives few files back

    before = report.read(folder, device, without={stage.name for stage in stages})

    def tell(outcomes: list[Outcome], newest: Outcome) -> None:
        report.write(report.joined(before, outcomes), device, folder)
        report.pack(made, folder)
        print(report.line(newest), flush=True)

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # with what was found so far
    outcomes = run_stages(stages, device, budget, made, tell)
    print(f"\n{report.markdown(report.joined(before, outcomes), device)}")
    sys.exit(any(outcome.how != "done" for outcome in outcomes))


if __name__ == "__main__":
    main()
