"""Tests of meaning are compiled in plain code, and nothing of it reaches the others."""

from pathlib import Path

from staticgraph.compiler.codegen.llvm.text import Code
from staticgraph.runtime.cpu import jit
from tests import plain_code

HERE = Path(__file__)
ONE = Code("k0123456789abcdef", "define void @k0123456789abcdef() { ret void }")


def test_places_are_there():
    assert all((HERE.parent / place).exists() for place in plain_code.PLACES)


def test_this_file_has_the_code_of_users():
    assert jit._writer() is not jit._writer(True)


def test_kinds_of_code_do_not_mix():
    key = jit._key(ONE)
    jit._OBJECTS[ONE.name] = b"of users"
    plain_code.choose(HERE.parent / "golden" / "test_golden.py")
    try:
        assert jit._writer() is jit._writer(True)
        assert ONE.name not in jit._OBJECTS
        assert jit._key(ONE) != key
        jit._OBJECTS[ONE.name] = b"plain"
        plain_code.choose(HERE.parent / "test_docs.py")
        assert ONE.name in jit._OBJECTS
    finally:
        plain_code.choose(HERE)
    assert jit._writer() is not jit._writer(True)
    assert ONE.name not in jit._OBJECTS
    assert jit._key(ONE) == key
