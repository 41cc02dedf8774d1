"""Tests of meaning are compiled in plain code, and nothing of it reaches the others."""

from pathlib import Path

from staticgraph.compiler.codegen.llvm.text import Code
from staticgraph.runtime.cpu import jit
from tests import plain_code

ONE = Code("k0123456789abcdef", "define void @k0123456789abcdef() { ret void }")


def test_folders_are_there():
    assert all(list((Path(__file__).parent / folder).glob("test_*.py")) for folder in plain_code.FOLDERS)


def test_this_file_has_the_code_of_users():
    assert jit._writer() is not jit._writer(True)


def test_kinds_of_code_do_not_mix():
    here, key = Path(__file__).parent, jit._key(ONE)
    jit._OBJECTS[ONE.name] = b"of users"
    plain_code.choose(here / "golden")
    try:
        assert jit._writer() is jit._writer(True)
        assert ONE.name not in jit._OBJECTS
        assert jit._key(ONE) != key
        jit._OBJECTS[ONE.name] = b"plain"
        plain_code.choose(here / "keras")
        assert ONE.name in jit._OBJECTS
    finally:
        plain_code.choose(here)
    assert jit._writer() is not jit._writer(True)
    assert ONE.name not in jit._OBJECTS
    assert jit._key(ONE) == key
