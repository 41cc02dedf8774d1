"""Compiles all kernels with NVIDIA's compiler, without a GPU, and tells what a GPU would not like.

    python tools/compile_kernels.py                              everything for sm_90, in some minutes
    python tools/compile_kernels.py --only nets,steps --match resnet
    python tools/compile_kernels.py --architecture sm_75 --jobs 8 --save FILE.json

It needs NVRTC (`pip install "staticgraph[codecheck]"`). Programs run on a simulated GPU that computes
nothing, at the sizes of a GPU: every op of the registry in every dtype (`ops`), the steps that
`tools/gpu_check.py` times (`steps`), the rows of the README (`rows`), and the twelve nets of the benchmark
(`nets`). It prints errors and warnings of the compiler, functions that spill registers, and what a GPU would
refuse to load or to start. The exit status is 1 if there are any.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import traceback
from dataclasses import asdict
from pathlib import Path

from kernel_text.collector import collecting
from kernel_text.compiling import Report, compiled

from staticgraph.runtime.gpu.cuda.nvrtc import ARCHITECTURES

SHOWN = 20  # of a kind


def lines(report: Report, broken: list[str]) -> list[str]:
    """Say what was found."""
    most = max((used.registers for used in report.usage.values()), default=0)
    found = [f"{len(report.usage)} functions, at most {most} registers"]
    spills = [(name, f"{each.spilled} bytes") for name, each in report.spilling.items()]
    parts = {"errors": report.errors, "spilling functions": spills, "faults": report.faults}
    for what, pairs in parts.items():
        found.append(f"{len(pairs)} {what}")
        found += [f"  {name}: {text}" for name, text in pairs[:SHOWN]]
    found.append(f"{report.warnings.total()} warnings")
    found += [f"  {count} x {text}" for text, count in report.warnings.most_common(SHOWN)]
    return [*found, f"{len(broken)} programs failed", *(f"  {each}" for each in broken)]


def main() -> None:
    """The command line."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    from kernel_text.programs import KINDS, programs  # imports the tests, which describe the ops

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default=",".join(KINDS), help="kinds of programs, separated by commas")
    parser.add_argument("--match", default="", help="a part of the names of programs")
    parser.add_argument("--architecture", default="sm_90", choices=ARCHITECTURES)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="groups compiled at a time")
    parser.add_argument("--save", type=Path, help="a JSON file for what each function needs")
    options = parser.parse_args()
    broken = []
    with collecting() as found:
        for name, run in programs(options.only.split(",")):
            if options.match not in name:
                continue
            before = len(found)
            try:
                run()
            except Exception:
                broken.append(f"{name}: {traceback.format_exc(limit=-2)}")
            print(f"{name}: {len(found) - before} functions", flush=True)

    def progress(done: int, count: int) -> None:
        if done % 20 == 0 or done == count:
            print(f"{done} of {count} groups are compiled", flush=True)

    report = compiled(found, options.architecture, options.jobs, progress)
    if options.save:
        options.save.write_text(json.dumps({name: asdict(used) for name, used in report.usage.items()}))
    print("\n".join(lines(report, broken)))
    sys.exit(bool(report.errors or report.spilling or report.faults or report.warnings or broken))


if __name__ == "__main__":
    main()
