"""LLVM text to machine code in this process.

No IR passes run: the generators write what they mean, vectors included, and
only code generation is left. Every function is an object of its own, kept in
memory and on disk under a hash of its text, so equal kernels compile once.

llvmlite is imported when the first function is compiled, not with this module.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import threading
import weakref
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from staticgraph.compiler.codegen.llvm.text import Code, module, with_calls
from staticgraph.compiler.codegen.target import CpuTarget, vector_bytes
from staticgraph.compiler.support import forks
from staticgraph.compiler.support.gc_pause import collector_paused
from staticgraph.runtime import switches
from staticgraph.runtime.cpu.compile_threads import CompileThreads

if TYPE_CHECKING:
    from llvmlite.binding import LLJIT, ResourceTracker

    from staticgraph.runtime.cpu.objects import BatchWriter, ObjectWriter

_FORMAT = "3"  # part of every key: raise it when objects of equal text would differ
_LOCK = forks.patient(threading.RLock())  # of all that LLVM does in threads other than those of CompileAhead
_OBJECTS: dict[str, bytes] = {}  # by symbol
OBJECTS_LIMIT = 4096  # of them: programs that meet ever new shapes must not fill the memory
_LOADED: weakref.WeakValueDictionary[str, Library] = weakref.WeakValueDictionary()  # by symbol
_NUMBER = itertools.count()
_MADE: dict[str, tuple[int, bool]] = {}  # by symbol: the number of the moment, and whether it was on disk
_PER_THREAD = threading.local()
_KEPT: dict[str, ResourceTracker] = {}  # what stays loaded


class MissingCode(Exception):
    """A function that is only known by its name has no object code, in memory or on disk."""


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
    with _LOCK:
        llvm = _llvm()
        triple = llvm.get_process_triple()
        cpu, features = llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
        writer = _new_writer(triple, cpu, features)
        _PER_THREAD.writers = {False: writer}
        layout = str(writer.machine.target_data)
    return CpuTarget(triple, layout, cpu, features, vector_bytes(features), fast_math())


def fast_math() -> bool:
    """Return True if the environment asks for fast math. A session may decide otherwise.

    The implementations of tanh and erf for float32 are then shorter. Their error is up to 6 units in the last
    place instead of 2.
    """
    return bool(switches.from_environment("math") == "fast")


def load(codes: Sequence[Code], verify: bool = False) -> Library:
    """Compile functions for this processor and load them; they may call each other.

    MissingCode where one without a text would have to be compiled. `verify` has LLVM check each text first:
    for a generator under test.
    """
    host()  # threads that compile ask for it, and would wait for the lock that is held here
    with _LOCK:
        codes = with_calls(codes)
        present = {code.name: library for code in codes if (library := _LOADED.get(code.name)) is not None}
        missing = list({code.name: code for code in codes if code.name not in present}.values())
        addresses = {name: library[name] for name, library in present.items()}
        if not missing:
            return Library(addresses, tuple(present.values()))
        if not verify:
            for code in missing:
                _begin(code)
        _AHEAD.finish(missing)
        objects = [_object(code, verify) for code in missing]
        tracker = _link(objects, [code.name for code in missing], addresses)
        addresses |= {code.name: tracker[code.name] for code in missing}
        library = Library(addresses, (tracker, *present.values()))
        _LOADED.update({code.name: library for code in missing})
        return library


def begin(code: Code) -> None:
    """Start to compile a function and those that it calls beside what comes next: `load` waits for them."""
    for each in (*with_calls(code.calls), code):
        _begin(each)


def begin_after(code: Code) -> None:
    """Compile a function that nobody waits for yet: beside the first run of what is loaded next."""
    if _is_new(code):
        _AHEAD.begin_after(code)


def _begin(code: Code) -> None:
    if _is_new(code) and _AHEAD.begin(code):
        _batches()  # here, since of the threads that compile each would make its own


def _is_new(code: Code) -> bool:
    """Return True if a function must be compiled, and nothing has begun to."""
    if code in _AHEAD or code.name in _OBJECTS or code.name in _LOADED or not code.text:
        return False
    return _from_disk(code) is None


def mark() -> int:
    """The number of this moment, for `origins`."""
    return next(_NUMBER)


def origins(codes: Sequence[Code], since: int) -> tuple[int, int, int]:
    """Count the functions that were compiled since a mark, were in memory then, and came from disk.

    Args:
        codes: The functions to count.
        since: A mark from `mark`.

    Returns:
        The three counts: compiled since the mark, in memory at the mark, loaded from disk since the mark.
    """
    known = (_MADE.get(code.name, (-1, False)) for code in codes)
    made = [on_disk for number, on_disk in known if number > since]
    return made.count(False), len(codes) - len(made), made.count(True)


def objects(codes: Sequence[Code], target: CpuTarget) -> dict[str, bytes]:
    """The object code of functions by symbol, for this processor or another one."""
    with _LOCK:
        if target == host():
            return {code.name: _object(code, verify=False) for code in codes}
        from staticgraph.runtime.cpu.objects import initialize_all  # imports llvmlite

        initialize_all()
        writers = [_new_writer(target.triple, target.cpu, target.features, plain) for plain in (False, True)]
        return {code.name: writers[code.plain].write(module([code], target)) for code in codes}


def provide(found: Mapping[str, bytes]) -> None:
    """Let `load` use this object code, by symbol, where functions with these symbols are asked for next."""
    _OBJECTS.update(found)


def _object(code: Code, verify: bool) -> bytes:
    """The object code of a function, from memory, from disk, or compiled."""
    found = None if verify else _OBJECTS.get(code.name) or _from_disk(code)
    if found is None:
        found = _compiled(code, verify)
    return found


def _from_disk(code: Code) -> bytes | None:
    if switches.cache_folder() is None:
        return None
    from staticgraph.runtime.disk import object_cache

    found = object_cache.read(_key(code))
    if found is not None:
        _keep(code, found, on_disk=True)
    return found


def _compiled(code: Code, verify: bool = False) -> bytes:
    """The object code of a function, compiled now."""
    return _new(code, _compile(code, verify))


def _compiled_together(codes: Sequence[Code]) -> None:
    """Compile functions now. A function whose text is not valid is left out: `load` says why."""
    if len(codes) == 1 or not _batches.cache_info().currsize:
        for code in codes:
            _compiled(code)
        return
    texts = [module([code], host()) for code in codes]
    found = _batches().write(texts, [_writer(code.plain) for code in codes])
    for code, made in zip(codes, found, strict=True):
        if made is not None:
            _new(code, made)


def _new(code: Code, made: bytes) -> bytes:
    """Keep object code that was not there before, in memory and soon on disk."""
    _keep(code, made, on_disk=False)
    if switches.cache_folder() is not None:
        from staticgraph.runtime.disk import object_cache

        object_cache.write_later(_key(code), lambda: made)
    return made


def _keep(code: Code, data: bytes, on_disk: bool) -> None:
    _MADE[code.name] = next(_NUMBER), on_disk
    _OBJECTS[code.name] = data
    for kept in (_OBJECTS, _MADE):
        while len(kept) > OBJECTS_LIMIT:
            kept.pop(next(iter(kept)), None)


def _key(code: Code) -> str:
    """Everything that decides the object code. The symbol is itself a hash of the text."""
    parts = (_FORMAT, code.name, _key_of_target(host()))
    return hashlib.blake2b("\n".join(parts).encode(), digest_size=16).hexdigest()


@functools.cache
def _key_of_target(target: CpuTarget) -> str:
    version = ".".join(map(str, _llvm().llvm_version_info))
    return "\n".join((version, target.triple, target.data_layout, target.cpu, target.features))


def _compile(code: Code, verify: bool) -> bytes:
    if not code.text:
        raise MissingCode(code.name)
    text = module([code], host())
    if verify:
        llvm = _llvm()
        llvm.parse_assembly(text, llvm.create_context()).verify()
    return _writer(code.plain).write(text)


def _link(objects: list[bytes], exported: list[str], imported: dict[str, int]) -> ResourceTracker:
    builder = _llvm().JITLibraryBuilder().add_current_process()
    for data in objects:
        builder.add_object_img(data)
    for symbol, address in (imported | _conversions()).items():
        builder.import_symbol(symbol, address)
    for symbol in exported:
        builder.export_symbol(symbol)
    try:
        return builder.link(_linker(), f"library{next(_NUMBER)}")
    except RuntimeError as error:  # one calls a function that is not among them, which only a file can do
        raise MissingCode(str(error)) from None


@functools.cache
def _conversions() -> dict[str, int]:
    """The addresses of functions that processors without float16 need; kept for good."""
    if not host().calls_for_half:
        return {}
    from staticgraph.runtime.cpu import half  # for old processors

    builder = _llvm().JITLibraryBuilder().add_object_img(_writer().write(module([half.CODE], host())))
    for symbol in half.SYMBOLS:
        builder.export_symbol(symbol)
    tracker = _KEPT.setdefault("conversions", builder.link(_linker(), "conversions"))
    return {symbol: tracker[symbol] for symbol in half.SYMBOLS}


@functools.cache
def _llvm() -> Any:
    with collector_paused(may_collect=False):
        import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm


def _writer(plain: bool = False) -> ObjectWriter:
    """This thread's code generator."""
    writers: dict[bool, ObjectWriter] = _PER_THREAD.__dict__.setdefault("writers", {})
    if plain not in writers:
        target = host()
        writers[plain] = _new_writer(target.triple, target.cpu, target.features, plain)
    return writers[plain]


def _new_writer(triple: str, cpu: str, features: str, plain: bool = False) -> ObjectWriter:
    from staticgraph.runtime.cpu.objects import ObjectWriter  # imports llvmlite

    return ObjectWriter(triple, cpu, features, plain=plain)


@functools.cache
def _linker() -> LLJIT:
    llvm = _llvm()
    return llvm.create_lljit_compiler(_writer().machine, use_jit_link="windows" not in host().triple)


@functools.cache
def _batches() -> BatchWriter:
    from staticgraph.runtime.cpu.objects import BatchWriter  # imports llvmlite

    return BatchWriter(_writer(plain=True), _linker(), f"write_all{next(_NUMBER)}")


_AHEAD = CompileThreads(_compiled_together)
