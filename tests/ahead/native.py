"""Objects that were compiled ahead, linked by the system's C compiler, and called from Python."""

from __future__ import annotations

import ctypes
import mmap
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.codegen.llvm.open_interface import SMALL_WORKSPACE, OpenEntryPoint
from staticgraph.compiler.codegen.llvm.staged_interface import SMALL_RESULT, StagedEntryPoint
from staticgraph.compiler.graph.sizes import Size
from staticgraph.runtime.aot.build import Built, build
from staticgraph.runtime.aot.interface import CFunction
from staticgraph.runtime.aot.steps import Shapes
from staticgraph.runtime.cpu.target import target_of
from staticgraph.runtime.files.loaded import LoadedGraph, load

_NO_ACCESS = 0  # PROT_NONE
_libc = ctypes.CDLL(None, use_errno=True)
CC = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
needs_compiler = pytest.mark.skipif(CC is None, reason="no C compiler is installed")
STRICT = ("-Wall", "-Wextra", "-pedantic", "-Werror")


def saved(path: Path, signatures: Mapping[str, sg.Signature]) -> LoadedGraph:
    """The default graph with these signatures and fresh variables, through a file."""
    with sg.Session() as sess:
        sess.run(sg.global_variables_initializer())
        sg.save(path, signatures=signatures, session=sess)
    return load(path)


def built(
    net: LoadedGraph,
    name: str = "net",
    batch: int | None = None,
    given: Mapping[str, tuple[int, ...]] | None = None,
    **options: Any,
) -> Built:
    """`net`, compiled for this machine."""
    return build(net, name, target_of(), Shapes(given or {}, batch), **options)


def cc(*arguments: str | Path, cwd: Path) -> None:
    """Run the C compiler, which must not complain."""
    assert CC is not None
    done = subprocess.run([CC, *map(str, arguments)], cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert not done.stderr


class Native:
    """A compiled graph in this process, with a state of its own."""

    def __init__(self, made: Built, folder: Path) -> None:
        self.made = made
        name = made.interface.name
        made.write(folder / name)
        cc("-shared", "-o", f"lib{name}.so", f"{name}.o", cwd=folder)
        self.library = ctypes.CDLL(str(folder / f"lib{name}.so"))
        self.state = ctypes.create_string_buffer(made.interface.size)
        self._file = made.weights

    def init(self) -> int:
        """Prepare the state."""
        function = self.library[f"{self.made.interface.name}_init"]
        if self._file is None:
            return int(function(self.state))
        return int(function(self.state, self._file, ctypes.c_size_t(len(self._file))))

    def __call__(self, label: str, *inputs: Any) -> list[np.ndarray]:
        """The outputs of a function, in their order."""
        status, results = self.call(label, *inputs)
        assert status == 0
        return results

    def call(self, label: str, *inputs: Any) -> tuple[int, list[np.ndarray]]:
        """The status that a function returns, and its outputs in their order."""
        function = self.function(label)
        given = [_array(v, a.type) for v, a in zip(inputs, function.inputs, strict=True)]
        if isinstance(function.entry, StagedEntryPoint):
            return self._in_stages(function, given)
        if not isinstance(function.entry, OpenEntryPoint):
            results = [_array(None, a.type) for a in function.outputs]
            return self.library[function.symbol](self.state, *map(_pointer, (*given, *results))), results
        sizes = [n for a, v in zip(function.inputs, given, strict=True) for n in open_sizes(a.type, v.shape)]
        status, shapes, space = self.sizes(label, *sizes, *(given[n] for n in function.sized))
        if status:
            return status, []
        results = [
            before_a_page(np.full(shape, 7, a.type.dtype.numpy))
            for a, shape in zip(function.outputs, shapes, strict=True)
        ]
        given = [*map(before_a_page, given)]
        memory = before_a_page(np.full(space, 0xAB, np.uint8))
        pointers = map(_pointer, (*given, *results, memory))
        numbers = map(ctypes.c_int64, sizes)
        return self.library[function.symbol](self.state, *numbers, *pointers, ctypes.c_size_t(space)), results

    def _in_stages(self, function: CFunction, given: list[np.ndarray]) -> tuple[int, list[np.ndarray]]:
        """Call a function that tells sizes, with ever more memory until it has what it needs."""
        sizes = [n for a, v in zip(function.inputs, given, strict=True) for n in open_sizes(a.type, v.shape)]
        given = [*map(before_a_page, given)]
        shapes = [(ctypes.c_int64 * len(a.type.static_shape))() for a in function.outputs]
        space, bytes = before_a_page(np.zeros(0, np.uint8)), ctypes.c_size_t()
        results = [
            before_a_page(np.full(0 if a.is_open else a.type.static_shape, 7, a.type.dtype.numpy))
            for a in function.outputs
        ]
        while True:
            parameters: list[Any] = [*map(ctypes.c_int64, sizes), *map(_pointer, given)]
            for array, shape, result in zip(function.outputs, shapes, results, strict=True):
                parameters.append(_pointer(result))
                parameters += [ctypes.c_size_t(result.size), shape] if array.is_open else []
            status = self.library[function.symbol](
                self.state, *parameters, _pointer(space), ctypes.byref(bytes)
            )
            if status == SMALL_WORKSPACE:
                assert bytes.value > space.size
                space = before_a_page(np.full(bytes.value, 0xAB, np.uint8))
            elif status == SMALL_RESULT:
                results = [
                    before_a_page(np.full(tuple(shape), 7, result.dtype)) if array.is_open else result
                    for array, shape, result in zip(function.outputs, shapes, results, strict=True)
                ]
            else:
                return status, [
                    result.reshape(tuple(shape)) if array.is_open else result
                    for array, shape, result in zip(function.outputs, shapes, results, strict=True)
                ]

    def function(self, label: str) -> CFunction:
        """The function of this name in the file."""
        return next(f for f in self.made.interface.functions if f.label == label)

    def sizes(self, label: str, *given: int | np.ndarray) -> tuple[int, list[tuple[int, ...]], int]:
        """Report of a function about sizes: its status, the shapes of outputs, the bytes of the workspace.

        `given` are sizes, then inputs whose elements are sizes.
        """
        function = self.function(label)
        assert isinstance(function.entry, OpenEntryPoint)
        shapes = [(ctypes.c_int64 * len(a.type.static_shape))() for a in function.outputs if a.is_open]
        space = ctypes.c_size_t()
        tell = self.library[function.entry.sizes_name]
        sizes = [_pointer(n) if isinstance(n, np.ndarray) else ctypes.c_int64(n) for n in given]
        status = tell(*sizes, *shapes, ctypes.byref(space))
        told = iter(shapes)
        found = [tuple(next(told)) if a.is_open else a.type.static_shape for a in function.outputs]
        return status, found, space.value


def _array(value: Any, type: Any) -> np.ndarray:
    if value is None:
        return np.full(type.static_shape, 7, type.dtype.numpy)
    array = np.asarray(value, type.dtype.numpy, order="C")
    assert array.ndim == len(type.static_shape)
    assert all(isinstance(n, Size) or n == m for n, m in zip(type.static_shape, array.shape, strict=True))
    return array


def open_sizes(type: Any, shape: tuple[int, ...]) -> list[int]:
    """The sizes of those axes of a shape that a type leaves open."""
    return [n for n, size in zip(shape, type.static_shape, strict=True) if isinstance(size, Size)]


def before_a_page(array: np.ndarray) -> np.ndarray:
    """A copy of an array that ends where a page without access begins: to read on ends the process."""
    inside = -(-max(array.nbytes, 1) // mmap.PAGESIZE) * mmap.PAGESIZE
    block = mmap.mmap(-1, inside + mmap.PAGESIZE)
    whole = np.frombuffer(block, np.uint8)
    if _libc.mprotect(ctypes.c_void_p(whole.ctypes.data + inside), mmap.PAGESIZE, _NO_ACCESS):
        raise OSError(ctypes.get_errno(), "mprotect")
    copy = whole[inside - array.nbytes : inside].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def _pointer(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def same_bits(found: list[np.ndarray], wanted: Any) -> None:
    """Check that two results of a signature, dicts of arrays, are the same to the last bit."""
    values = [*wanted.values()] if isinstance(wanted, dict) else []
    assert len(found) == len(values)
    for array, value in zip(found, values, strict=True):
        np.testing.assert_array_equal(array, value)
        assert array.tobytes() == np.asarray(value, array.dtype).tobytes()
