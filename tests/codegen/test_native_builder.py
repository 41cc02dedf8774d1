"""Functions written with the builder of native code do what the same lines of C do."""

import ctypes
from collections.abc import Callable

import llvmlite.binding as llvm
import numpy as np
import pytest

from staticgraph.compiler.codegen.llvm.clock import clock_of
from staticgraph.compiler.codegen.llvm.text import module
from staticgraph.compiler.codegen.native.builder import NativeFunction, exported, external, function
from staticgraph.compiler.codegen.native.c_types import (
    ADDRESS,
    BOOL,
    DOUBLE,
    FLOAT,
    INT32,
    INT64,
    SELF,
    UINT16,
    UINT64,
    VOID,
    Atomic,
    Inline,
    Layout,
    Record,
    function_pointer,
    pointer,
)
from staticgraph.compiler.codegen.native.dispatch import dispatch
from staticgraph.compiler.codegen.native.find import find
from staticgraph.compiler.codegen.native.pool import pool_code, serial_code
from staticgraph.compiler.codegen.native.values import NULL
from staticgraph.compiler.codegen.native.watch import guarded, watch
from staticgraph.compiler.codegen.target import CpuTarget
from staticgraph.runtime.cpu.jit import Library, load

INTS = pointer(INT64)
TRIPLES = (
    "x86_64-unknown-linux-gnu",
    "aarch64-unknown-linux-gnu",
    "x86_64-apple-darwin",
    "arm64-apple-darwin",
    "x86_64-pc-windows-msvc",
    "aarch64-pc-windows-msvc",
    "riscv64-unknown-linux-gnu",
)
_loaded: list[Library] = []  # stays in memory as long as the tests may call it


def compiled(made: NativeFunction, *types: object, result: object = ctypes.c_int64) -> Callable[..., int]:
    code = made.code()
    _loaded.append(load([code], verify=True))
    return ctypes.CFUNCTYPE(result, *types)(_loaded[-1][code.name])


def numbers(*values: int) -> ctypes.Array:
    return (ctypes.c_int64 * len(values))(*values)


class Item(Record):
    NEXT = SELF
    COUNT = INT64
    VALUES = INTS


class Mixed(Layout):
    SMALL = 4, INT32
    HITS = 8, Atomic(UINT64)
    PLACES = 16, Inline(INT64)


@pytest.mark.parametrize("triple", TRIPLES)
def test_native_functions_are_valid_on_each_system(triple: str):
    target = CpuTarget(triple, "", "", "", 16)
    codes = [dispatch.code(), find.code(), serial_code(), *pool_code(target).codes]
    codes += [guarded.code(), watch(clock_of(triple)).code()]
    llvm.parse_assembly(module(codes, target), llvm.create_context()).verify()


def test_a_branch_gives_locals_a_value_on_each_way():
    @exported(INT64, INT64, INT64)
    def larger(w, a, b):
        at = w.locals(found=a, other=b)
        with w.if_(a < b):
            at.found, at.other = b, a
        with w.else_():
            at.other = at.other * 2
        w.return_(at.found * 1000 + at.other)

    call = compiled(larger, ctypes.c_int64, ctypes.c_int64)
    assert call(3, 5) == 5003 and call(7, 2) == 7004


def test_loops_with_break_and_continue():
    @exported(INT64, INTS, INT64)
    def sum_of_some(w, values, count):
        at = w.locals(total=w.constant(INT64, 0))
        with w.each(values, count) as value:
            with w.if_(value == 0):
                w.break_()
            with w.if_(value < 0):
                w.continue_()
            at.total += value
        w.return_(at.total)

    call = compiled(sum_of_some, ctypes.c_void_p, ctypes.c_int64)
    assert call(numbers(1, -5, 2, 3), 4) == 6
    assert call(numbers(1, -5, 0, 3), 4) == 1
    assert call(numbers(1), 0) == 0


def test_nested_loops_and_an_early_return():
    @exported(INT64, INT64)
    def first_square_above(w, least):
        with w.range(least) as a, w.range(least) as b:
            with w.if_(a != b):
                w.continue_()
            with w.if_(a * b > least):
                w.return_(a)
        w.return_(-1)

    call = compiled(first_square_above, ctypes.c_int64)
    assert call(50) == 8 and call(2) == -1


def test_while_computes_its_condition_each_time():
    @exported(INT64, pointer(Item))
    def length(w, item):
        at = w.locals(item=item, count=w.constant(INT64, 0))
        with w.while_(lambda: at.item != NULL):
            at.item, at.count = at.item.next, at.count + at.item.count
        w.return_(at.count)

    call = compiled(length, ctypes.c_void_p)
    last = numbers(0, 20, 0)
    first = numbers(ctypes.addressof(last), 3, 0)
    assert call(first) == 23 and call(None) == 0


def test_fields_and_elements_are_loaded_and_stored():
    @exported(VOID, pointer(Item), pointer(Mixed))
    def change(w, items, mixed):
        with w.each(items, 2) as item:
            item.values[1] += item.count
            item.count = 0
        mixed.small = mixed.small - 1
        mixed.places[2] = mixed.hits.fetch_add(5, "seq_cst").to(INT64)
        (mixed.places + 1)[0] = mixed.hits.load("acquire").to(INT64)

    values, mixed = numbers(10, 20), np.arange(5)
    address = ctypes.addressof(values)
    items = numbers(0, 1, address, 0, 2, address)
    compiled(change, ctypes.c_void_p, ctypes.c_void_p, result=None)(items, mixed.ctypes.data)
    assert [*values] == [10, 23] and items[1] == items[4] == 0
    assert mixed.view(np.int32)[1] == -1
    assert [*mixed[1:]] == [6, 2, 6, 1]


def test_numbers_without_a_sign():
    @exported(UINT64, UINT64, UINT16)
    def mix(w, a, b):
        w.return_(a // 3 + a % 7 + (a >> 60) + w.select(a > b.to(UINT64), b.to(UINT64), 0))

    call = compiled(mix, ctypes.c_uint64, ctypes.c_uint16, result=ctypes.c_uint64)
    a, b = 2**64 - 5, 2**16 - 1
    assert call(a, b) == a // 3 + a % 7 + (a >> 60) + b


@pytest.mark.parametrize(("value", "double"), [(-3, -3.0), (2**40, 2.0**40)])
def test_conversions(value: int, double: float):
    @exported(INT64, INT64, pointer(DOUBLE), pointer(FLOAT))
    def convert(w, value, double, single):
        double[0] = value.to(DOUBLE)
        single[0] = double[0].to(FLOAT)
        w.return_(value.to(INT32).to(INT64))

    doubles, singles = (ctypes.c_double * 1)(), (ctypes.c_float * 1)()
    found = compiled(convert, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)(value, doubles, singles)
    assert found == np.int64(value).astype(np.int32)
    assert doubles[0] == singles[0] == double


def test_calls():
    @function(INT64, INT64)
    def twice(w, a):
        w.return_(a + a)

    @exported(INT64, function_pointer(INT64, INT64), INT64)
    def both(w, given, a):
        room = w.stack(INT64, a)
        room[0] = given(a)
        w.return_(twice(w, room[0]) + external("llvm.abs.i64", INT64, INT64, BOOL)(w, a, False))

    given = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(lambda a: a * 10)
    assert compiled(both, ctypes.c_void_p, ctypes.c_int64)(ctypes.cast(given, ctypes.c_void_p), 4) == 84


def test_equal_functions_have_equal_symbols():
    def made(number: int) -> NativeFunction:
        @exported(INT64)
        def same(w):
            w.return_(number)

        return same

    assert made(1).code().name == made(1).code().name != made(2).code().name


def wrong_value(w, a):
    w.return_(a + NULL)


def wrong_argument(w, a):
    external("free", VOID, ADDRESS)(w, a)


def wrong_field(w, a):
    a.to(INT64).size


def no_function(w, a):
    a()


def undecided(w, a):
    if a == 1:
        w.return_(a)


def no_return(w, a):
    a + 1


def else_alone(w, a):
    with w.if_(a == 1):
        w.return_(a)
    a + 1
    with w.else_():
        w.return_(a)


@pytest.mark.parametrize(
    ("body", "error", "message"),
    [
        (wrong_value, TypeError, "expected TypeKind"),
        (wrong_argument, TypeError, "expected TypeKind"),
        (wrong_field, AttributeError, "has no field size"),
        (no_function, TypeError, "is not a function"),
        (undecided, TypeError, "use if_, while_ or select"),
        (no_return, ValueError, "ends without a return"),
        (else_alone, ValueError, "else_ must follow if_"),
    ],
)
def test_mistakes_are_found_while_the_text_is_written(body, error, message):
    with pytest.raises(error, match=message):
        exported(INT64, INT64)(body).code()
