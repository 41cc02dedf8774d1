"""Functions that differ in whole numbers alone become one, and others do not."""

import pytest

from staticgraph.compiler.codegen.abi import SCRATCH_PARAMETERS, KernelCode, Phase
from staticgraph.compiler.codegen.llvm.merge_functions import merged
from staticgraph.compiler.codegen.llvm.text import NAME, Code, function
from staticgraph.runtime.cpu import jit


def with_lines(*lines: str, needs: tuple[str, ...] = ()) -> Code:
    text = "\n".join(f"  {line}" for line in lines)
    parameters = ", ".join(("ptr %b0", *SCRATCH_PARAMETERS))
    return function(f"define void {NAME}({parameters}) nounwind {{\nentry:\n{text}\n  ret void\n}}\n", needs)


def put(stride: int, first: int) -> Code:
    """Stores a truth value at an offset that two numbers decide."""
    return with_lines(
        f"%v1 = mul nsw i64 %chunk, {stride}",
        f"%v2 = icmp slt i64 %v1, {stride}",
        "%v3 = getelementptr i8, ptr %b0, i64 %v1",
        f"%v4 = getelementptr i8, ptr %v3, i64 {first}",
        "%v5 = zext i1 %v2 to i8",
        "store i8 %v5, ptr %v4, align 1",
    )


def phases(*codes: Code) -> list[Phase]:
    return [phase for made in merged([KernelCode((Phase(code),)) for code in codes]) for phase in made.phases]


def test_each_number_that_differs_is_one_parameter():
    one, two, three = phases(put(64, 1), put(128, 5), put(96, -7))
    assert one.code is two.code is three.code
    assert [phase.numbers for phase in (one, two, three)] == [(64, 1), (128, 5), (96, -7)]
    assert "(ptr %b0, i64 %number0, i64 %number1, ptr %shared," in one.code.text
    jit.load([one.code], verify=True)


def test_what_none_differs_in_stays_a_number():
    one, two = phases(put(64, 1), put(64, 2))
    assert (one.numbers, two.numbers) == ((1,), (2,))
    assert "mul nsw i64 %chunk, 64" in one.code.text


def test_equal_functions_stay_as_they_are():
    one, two = phases(put(64, 1), put(64, 1))
    assert one.code == two.code == put(64, 1)
    assert one.numbers == two.numbers == ()


@pytest.mark.parametrize(
    "line",
    [
        "%v1 = udiv i64 %chunk, {}",  # by shifts if LLVM knows it
        "%v1 = icmp slt i64 8, {}",  # a branch that LLVM knows joins the blocks around it
        "%v1 = load <{} x float>, ptr %b0, align 4",
        "store float 0.0, ptr %b0, align {}",
        "%v1 = extractelement <16 x i64> zeroinitializer, i64 {}",
    ],
)
def test_what_code_is_chosen_by_is_no_number(line: str):
    codes = [with_lines(line.format(n)) for n in (4, 8)]
    assert [phase.code for phase in phases(*codes)] == codes


def test_functions_with_other_helpers_are_not_alike():
    line = "%v1 = mul i64 %chunk, {}"
    codes = [with_lines(line.format(n), needs=(f"declare void @f{n}()",)) for n in (4, 8)]
    assert [phase.code for phase in phases(*codes)] == codes


def test_numbers_that_registers_have_no_room_for_stay_in_the_code():
    codes = [with_lines(*(f"%v{n} = mul i64 %chunk, {first + n * n}" for n in range(9))) for first in (3, 4)]
    assert [phase.code for phase in phases(*codes)] == codes
