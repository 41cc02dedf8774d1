"""Machine code of products: sums stay in registers, and LLVM spends no time where none is gained."""

import re
from dataclasses import replace

import llvmlite.binding as llvm
import pytest

from staticgraph.compiler.codegen.gemm.gemm import emit
from staticgraph.compiler.codegen.llvm.text import module
from staticgraph.compiler.kernel.contraction import Contraction
from staticgraph.runtime.cpu import jit as cpu_jit
from staticgraph.runtime.cpu.objects import ObjectWriter, initialize_all
from tests.codegen.contraction_cases import Conv, matmul

TRIPLE = "x86_64-unknown-linux-gnu"
PROCESSORS = {64: "skylake-avx512", 32: "haswell"}  # by bytes of a vector
SPILLED = re.compile(r"\tv?mov\w+\t(%[yz]mm\d+, -?\d*\(%rsp\)|-?\d*\(%rsp\), %[yz]mm\d+)")
CASES = {
    "packs meanwhile": matmul(256, 1024, 784),
    "as it lies": matmul(64, 100, 1000),
    "first turned": matmul(130, 96, 40, turn_a=True),
    "second turned": matmul(48, 128, 300, turn_b=True),
    "image": Conv((2, 16, 16, 32), (3, 3), 64).contraction("y"),
    "weights": Conv((2, 16, 16, 32), (3, 3), 64, before=1, after=1).contraction("w"),
}


@pytest.fixture(scope="module", autouse=True)
def all_processors() -> None:
    initialize_all()


def assembly(c: Contraction, vector_bytes: int) -> str:
    writer = ObjectWriter(TRIPLE, PROCESSORS[vector_bytes], "")
    layout = str(writer.machine.target_data)
    target = replace(
        cpu_jit.host(),
        triple=TRIPLE,
        data_layout=layout,
        cpu=PROCESSORS[vector_bytes],
        features="",
        vector_bytes=vector_bytes,
    )
    texts = [module([phase.code], target) for phase in emit(c, target).phases]
    modules = [llvm.parse_assembly(text, llvm.create_context()) for text in texts]
    return "\n".join(map(writer.machine.emit_assembly, modules))


@pytest.mark.parametrize("vector_bytes", PROCESSORS)
@pytest.mark.parametrize("name", CASES)
def test_sums_stay_in_registers(name: str, vector_bytes: int):
    text = assembly(CASES[name], vector_bytes)
    assert "vfmadd" in text
    assert SPILLED.findall(text) == []


def heads(c: Contraction) -> list[str]:
    """The first lines of the functions of a product that call its micro-kernels."""
    codes = [phase.code for phase in emit(c, cpu_jit.host()).phases]
    return [code.text.partition("\n")[0] for code in codes if "call void @h" in code.text]


def test_functions_that_only_call_others_are_not_optimized():
    found = heads(matmul(64, 100, 1000))
    assert found
    assert all("optnone" in head for head in found)


def test_functions_that_pack_are_optimized():
    c = Conv((1, 7, 7, 512), (3, 3), 512, before=1, after=1).contraction("x")
    assert any("optnone" not in head for head in heads(c))


CALL = """
declare void @far(ptr)
define void @near(ptr %p) {
  call void @far(ptr %p)
  ret void
}
"""


@pytest.mark.parametrize(("plain", "long"), [(True, False), (False, True)])
def test_calls_of_plain_code_are_short(plain: bool, long: bool):
    """LLVM's quick way of choosing instructions knows short calls alone, and the linker leads them on."""
    writer = ObjectWriter(TRIPLE, "x86-64", "", plain=plain)
    text = writer.machine.emit_assembly(llvm.parse_assembly(CALL, llvm.create_context()))
    assert ("movabs" in text) == long
