"""Features of a processor that LLVM's code can use, found by looking at generated code.

LLVM does not tell which instructions a name stands for, and it may end the process if a name is wrong. It is
therefore asked in a separate process.
"""

from __future__ import annotations

import subprocess
import sys

import llvmlite.binding as llvm

from staticgraph.compiler.graph.errors import InvalidArgumentError, layout
from staticgraph.compiler.support.own_process import command
from staticgraph.runtime.cpu.objects import initialize_all

# A function that shows each feature by the registers or the instruction that its code has.
_PROBE = """
define <16 x float> @wide(<16 x float> %a, <16 x float> %b) "min-legal-vector-width"="512" {
  %c = fadd <16 x float> %a, %b
  ret <16 x float> %c
}
define <8 x i32> @integers(<8 x i32> %a, <8 x i32> %b) {
  %c = add <8 x i32> %a, %b
  ret <8 x i32> %c
}
define <8 x float> @half(<8 x half> %a) {
  %b = fpext <8 x half> %a to <8 x float>
  ret <8 x float> %b
}
"""
_SHOWN = {"+avx512f": "%zmm", "+avx2": "vpaddd\t%ymm", "+f16c": "vcvtph2ps"}


def probe(triple: str, cpu: str, features: str) -> tuple[str, str]:
    """The data layout of a target, and its features, those that were given included.

    InvalidArgumentError if LLVM does not know one of the names.
    """
    done = subprocess.run(
        command(__name__, main.__name__, triple, cpu, features), capture_output=True, text=True
    )
    if done.returncode or "is not a recognized" in done.stderr:
        lines = [line for line in done.stderr.splitlines() if "LLVM ERROR" in line or "recognized" in line]
        names = " ".join(filter(None, (triple, cpu, features)))
        text = f"LLVM does not know {names}: {lines[0] if lines else done.stderr.strip()[-300:]}"
        hint = "`clang --target=... -mcpu=help` lists processors; without --cpu the code is for all of them"
        raise InvalidArgumentError(layout(text, hint=hint))
    data_layout, found = done.stdout.splitlines()
    return data_layout, found


def main() -> None:
    """Print the data layout of the target that the arguments name, and below it its features."""
    triple, cpu, features = sys.argv[1:4]
    initialize_all()
    machine = llvm.Target.from_triple(triple).create_target_machine(cpu=cpu, features=features, opt=2)
    code = machine.emit_assembly(llvm.parse_assembly(_PROBE, llvm.create_context()))
    shown = [name for name, sign in _SHOWN.items() if sign in code]
    given = [name for name in features.split(",") if name and name not in shown]
    print(machine.target_data)
    print(",".join([*given, *shown]))
