"""Compiled elementwise kernels need no mathematical library: all they call is in their own text."""

import re

import llvmlite.binding as llvm
import pytest

from staticgraph.compiler.codegen.llvm.kernel import emit
from staticgraph.compiler.codegen.llvm.text import module
from staticgraph.compiler.codegen.target import CpuTarget
from staticgraph.compiler.graph.dtypes import DType, bool_, float32, float64
from staticgraph.compiler.kernel.expr import Index, Load, Scalar
from staticgraph.compiler.kernel.primitives.functions import PRIMITIVES
from staticgraph.compiler.kernel.stmt import Buffer, Kernel, Loop, LoopKind, Store
from tests.codegen.test_llvm_scalar import dtypes_of

pytestmark = pytest.mark.takes_long

N = 37
TARGETS = {
    "haswell": ("x86_64-unknown-linux-gnu", 32),
    "znver4": ("x86_64-unknown-linux-gnu", 64),
    "neoverse-n1": ("aarch64-unknown-linux-gnu", 16),
    "apple-m1": ("arm64-apple-macosx", 16),
}


def elementwise(op: str, dtype: DType) -> Kernel:
    primitive = PRIMITIVES[op]
    dtypes = [bool_, dtype, dtype] if op == "select" else [dtype] * primitive.arity
    i, result = Index("i", N), bool_ if primitive.predicate else dtype
    loads = tuple(Load(f"x{k}", (i,), d) for k, d in enumerate(dtypes))
    buffers = {f"x{k}": Buffer(d, (N,)) for k, d in enumerate(dtypes)}
    buffers |= {"y": Buffer(result, (N,), written=True)}
    return Kernel(op, buffers, (Loop(i, (Store("y", (i,), Scalar(op, loads, result)),), LoopKind.SIMD),))


def called_from_outside(assembly: str) -> set[str]:
    """Symbols that are called or jumped to, or whose address is loaded for that, and not defined here."""
    used = r"^\s+(?:callq?|bl|b|jmp|movabsq|adrp)\s+(?:\w+, )?\$?([A-Za-z_][\w.$]*)"
    called = set(re.findall(used, assembly, re.MULTILINE))
    defined = set(re.findall(r'^"?([\w.$]+)"?:', assembly, re.MULTILINE))
    return called - defined


@pytest.mark.by_turns("dtype")
@pytest.mark.parametrize("dtype", [float32, float64], ids=str)
@pytest.mark.parametrize("cpu", TARGETS)
def test_no_symbol_is_undefined(cpu: str, dtype: DType):
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    triple, width = TARGETS[cpu]
    machine = llvm.Target.from_triple(triple).create_target_machine(cpu=cpu, opt=2)
    target = CpuTarget(triple, str(machine.target_data), cpu, "", width)
    for op in PRIMITIVES:
        if dtype in dtypes_of(op):
            codes = [phase.code for phase in emit(elementwise(op, dtype), target).phases]
            parsed = llvm.parse_assembly(module(codes, target), llvm.create_context())
            assert not called_from_outside(machine.emit_assembly(parsed)), op


def test_a_call_of_a_library_is_found():
    text = "define double @f(double %x) {\n %y = call double @llvm.sin.f64(double %x)\n ret double %y\n}\n"
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    for triple in ("x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"):
        machine = llvm.Target.from_triple(triple).create_target_machine(opt=2)
        source = f"declare double @llvm.sin.f64(double)\n{text}"
        assert called_from_outside(machine.emit_assembly(llvm.parse_assembly(source))) == {"sin"}
