"""LLVM text to machine code in this process.

No IR passes run: the generators write what they mean, vectors included, and
only code generation is left. Every function is an object of its own, kept in
memory and on disk under a hash of its text, so equal kernels compile once.

llvmlite is imported when the first function is compiled, not with this module.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import itertools
import os
import queue
import threading
import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from staticgraph.compiler.codegen.llvm_text import Code, module
from staticgraph.compiler.codegen.target import CpuTarget, vector_bytes
from staticgraph.runtime.devices import object_cache

if TYPE_CHECKING:
    from llvmlite.binding import LLJIT, ResourceTracker, TargetMachine

_FORMAT = "1"  # part of every key: raise it when objects of equal text would differ
_LOCK = threading.RLock()
_OBJECTS: dict[str, bytes] = {}  # by symbol
_PENDING: dict[str, _Job] = {}  # by symbol: what the compiling thread has not finished
_LOADED: weakref.WeakValueDictionary[str, Library] = weakref.WeakValueDictionary()  # by symbol
_NUMBER = itertools.count()


class Library:
    """Functions in memory. They stay there as long as the library, or one that calls them, is referenced."""

    __slots__ = ("_addresses", "_keep", "__weakref__")

    def __init__(self, addresses: dict[str, int], keep: tuple[Any, ...]) -> None:
        self._addresses = addresses
        self._keep = keep

    def __getitem__(self, symbol: str) -> int:
        """The address of a function."""
        return self._addresses[symbol]


@functools.cache
def host() -> CpuTarget:
    """The processor that this process runs on."""
    llvm = _llvm()
    triple = llvm.get_process_triple()
    cpu, features = llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
    return CpuTarget(
        triple, str(_machine(triple, cpu, features).target_data), cpu, features, vector_bytes(features)
    )


def load(codes: Sequence[Code], verify: bool = False) -> Library:
    """Compile functions for this processor and load them; they may call each other.

    `verify` has LLVM check each text first: for a generator under test.
    """
    with _LOCK:
        present = {code.name: library for code in codes if (library := _LOADED.get(code.name)) is not None}
        missing = list({code.name: code for code in codes if code.name not in present}.values())
        addresses = {name: library[name] for name, library in present.items()}
        if not missing:
            return Library(addresses, tuple(present.values()))
        for code in missing:
            if job := _PENDING.get(code.name):
                job.done.wait()
        objects = [_object(code, verify) for code in missing]
        tracker = _link(objects, [code.name for code in missing], addresses)
        addresses |= {code.name: tracker[code.name] for code in missing}
        library = Library(addresses, (tracker, *present.values()))
        _LOADED.update({code.name: library for code in missing})
        return library


def begin(code: Code) -> None:
    """Start to compile a function beside what the caller does next: `load` waits for it.

    LLVM works without Python's lock, so the text of the next function can be written meanwhile.
    """
    if code.name not in _OBJECTS and code.name not in _LOADED and code.name not in _PENDING:
        job = _PENDING[code.name] = _Job(code)
        _jobs().put(job)


class _Job:
    """A function that is being compiled."""

    def __init__(self, code: Code) -> None:
        self.code = code
        self.done = threading.Event()


@functools.cache
def _jobs() -> queue.SimpleQueue[_Job]:
    """What the compiling thread has to do; the thread is started with the first job."""
    jobs: queue.SimpleQueue[_Job] = queue.SimpleQueue()
    threading.Thread(target=_work, args=(jobs,), name="staticgraph compiler", daemon=True).start()
    return jobs


def _work(jobs: queue.SimpleQueue[_Job]) -> None:
    while True:
        job = jobs.get()
        with contextlib.suppress(Exception):  # `load` compiles it again, and its caller sees what is wrong
            _object(job.code, verify=False)
        _PENDING.pop(job.code.name, None)
        job.done.set()


def _forget_thread() -> None:
    """A forked process has no compiling thread."""
    _jobs.cache_clear()
    _PENDING.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_thread)


def _object(code: Code, verify: bool) -> bytes:
    """The object code of a function, from memory, from disk, or compiled."""
    found = None if verify else _OBJECTS.get(code.name)
    if found is None:
        key = _key(code)
        found = None if verify else object_cache.read(key)
        if found is None:
            found = _compile(code, verify)
            object_cache.write(key, found)
        _OBJECTS[code.name] = found
    return found


def _key(code: Code) -> str:
    """Everything that decides the object code. The symbol is itself a hash of the text."""
    target, version = host(), ".".join(map(str, _llvm().llvm_version_info))
    parts = (_FORMAT, code.name, version, target.triple, target.data_layout, target.cpu, target.features)
    return hashlib.blake2b("\n".join(parts).encode(), digest_size=16).hexdigest()


def _compile(code: Code, verify: bool) -> bytes:
    llvm, target = _llvm(), host()
    parsed = llvm.parse_assembly(module([code], target), llvm.create_context())
    if verify:
        parsed.verify()
    return _machine(target.triple, target.cpu, target.features).emit_object(parsed)


def _link(objects: list[bytes], exported: list[str], imported: dict[str, int]) -> ResourceTracker:
    builder = _llvm().JITLibraryBuilder().add_current_process()
    for data in objects:
        builder.add_object_img(data)
    for symbol, address in imported.items():
        builder.import_symbol(symbol, address)
    for symbol in exported:
        builder.export_symbol(symbol)
    return builder.link(_linker(), f"library{next(_NUMBER)}")


@functools.cache
def _llvm() -> Any:
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm


@functools.cache
def _machine(triple: str, cpu: str, features: str) -> TargetMachine:
    target = _llvm().Target.from_triple(triple)
    return target.create_target_machine(
        cpu=cpu, features=features, opt=2, reloc="static", codemodel="jitdefault", jit=True
    )


@functools.cache
def _linker() -> LLJIT:
    target = host()
    return _llvm().create_lljit_compiler(
        _machine(target.triple, target.cpu, target.features), use_jit_link="windows" not in target.triple
    )
