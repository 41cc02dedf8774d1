"""The function that tells a C program what follows from sizes refuses those that its program is not for."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import pytest

from staticgraph.compiler.codegen.llvm import open_interface
from staticgraph.compiler.codegen.llvm.c_interface import EntryPoint, definition
from staticgraph.compiler.codegen.llvm.open_interface import (
    OTHER_SIZES,
    SIZES_DISAGREE,
    TOO_LARGE,
    OpenCProgram,
)
from staticgraph.compiler.codegen.llvm.text import Emitter, module
from staticgraph.compiler.graph.sizes import AnySize, symbol
from staticgraph.runtime.cpu.target import target_of

llvm = pytest.importorskip("llvmlite.binding")
n, m = symbol("n"), symbol("m")


@pytest.fixture
def told() -> Callable[..., Callable[..., int]]:
    engines = []

    def made(
        *axes: AnySize, blocks: tuple[AnySize, ...] = (), shape: tuple[AnySize, ...] = (n,)
    ) -> Callable[..., int]:
        entry = EntryPoint("step", 0, (), "step", (), (), (), False)
        program = OpenCProgram(entry, axes, (), blocks, (), 0, 8 * n, 64, (), (shape,))
        writer = Emitter()
        open_interface._tell(writer, program)
        names = [f"i64 %s{number}" for number in range(len(axes))]
        code = definition(writer, "tell", ", ".join([*names, "ptr %d0", "ptr %bytes"]))
        parsed = llvm.parse_assembly(module([code], target_of()), llvm.create_context())
        machine = llvm.Target.from_default_triple().create_target_machine()
        engines.append(llvm.create_mcjit_compiler(parsed, machine))
        kinds = [ctypes.c_int64] * len(axes) + [ctypes.c_void_p] * 2
        function = ctypes.CFUNCTYPE(ctypes.c_int, *kinds)(engines[-1].get_function_address("tell"))

        def call(*sizes: int) -> int:
            """The size that is told, or the opposite of a status that is not 0."""
            found = (ctypes.c_int64 * len(shape))()
            status = function(*sizes, ctypes.addressof(found), None)
            return -status if status else found[0]

        return call

    return made


def test_a_size_below_the_least_is_of_another_program(told: Callable[..., Callable[..., int]]):
    """Code for `n + 3` rows would run with n = -1 for two of them."""
    tell = told(n + 3)
    assert [tell(rows) for rows in (0, 2, 3, 4)] == [-OTHER_SIZES, -OTHER_SIZES, 0, 1]


def test_a_size_is_a_multiple_and_more(told: Callable[..., Callable[..., int]]):
    tell = told(2 * n + 4)
    assert [tell(rows) for rows in (0, 2, 3, 4, 5, 6)] == [-OTHER_SIZES] * 3 + [0, -OTHER_SIZES, 1]
    twice = told(n, 2 * n)
    assert [twice(3, 6), twice(3, 4), twice(3, 7)] == [3, -SIZES_DISAGREE, -OTHER_SIZES]


def test_what_does_not_fit_into_64_bits_is_too_large(told: Callable[..., Callable[..., int]]):
    most = 2**31 - 1
    assert told(n, m, blocks=(n * m * 8,))(most, most) == -TOO_LARGE
    assert told(n, m, blocks=(n * m * 2 - m * 2,))(most, 1) == most
    assert told(n, m, shape=(n * m * 4,))(most, most) == -TOO_LARGE
    assert told(n, m, shape=(n * m,))(most, 2) == 2 * most
