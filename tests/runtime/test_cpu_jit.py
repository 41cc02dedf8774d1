"""Functions are compiled once: found again in memory, on disk, and compiled anew when the disk has
rubbish.
"""

import ctypes
import gc
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from staticgraph.compiler.codegen.llvm.text import Code, Emitter
from staticgraph.runtime.cpu import compile_threads as compile_ahead
from staticgraph.runtime.cpu import jit as cpu_jit
from staticgraph.runtime.disk import object_cache, write_behind
from staticgraph.runtime.switches import cache_folder


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of this test alone, and nothing in memory."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("SG_CACHE_DIR", str(folder))
    monkeypatch.setattr(cpu_jit, "_OBJECTS", {})
    return folder


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The symbols of the functions that were really compiled, in order."""
    symbols: list[str] = []
    compile_ = cpu_jit._compile

    def record(code: Code, verify: bool) -> bytes:
        symbols.append(code.name)
        return compile_(code, verify)

    monkeypatch.setattr(cpu_jit, "_compile", record)
    monkeypatch.setattr(compile_ahead, "BATCH", 1)
    return symbols


def storing(number: int) -> Code:
    """A function that writes a number to the place that it is given."""
    emitter = Emitter()
    emitter.line(f"store i32 {number}, ptr %place")
    return emitter.finish(["ptr %place"])


def result(library: cpu_jit.Library, code: Code) -> int:
    place = ctypes.c_int32()
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(library[code.name])(ctypes.addressof(place))
    return place.value


def forget() -> None:
    """Act like a new process."""
    write_behind.flush()
    cpu_jit._OBJECTS.clear()
    gc.collect()


def test_loaded_functions_are_shared(compiled: list[str]):
    code = storing(1)
    first = cpu_jit.load([code])
    second = cpu_jit.load([code, storing(2)])
    assert first[code.name] == second[code.name]
    assert compiled == [code.name, storing(2).name]
    assert result(second, storing(2)) == 2


def test_memory_and_disk(cache: Path, compiled: list[str]):
    code = storing(3)
    assert result(cpu_jit.load([code]), code) == 3
    gc.collect()
    assert result(cpu_jit.load([code]), code) == 3
    forget()
    assert result(cpu_jit.load([code]), code) == 3
    assert compiled == [code.name]
    assert [p.name for p in cache.glob("*.entry")] == [entry_of(code)]


def entry_of(code: Code) -> str:
    """The name of the file of a function."""
    return object_cache.file_name(cpu_jit._key(code))


@pytest.mark.parametrize("damage", [b"", b"short", None])
def test_damaged_entry(damage: bytes | None, cache: Path, compiled: list[str]):
    code = storing(4)
    cpu_jit.load([code])
    write_behind.flush()
    entry = cache / entry_of(code)
    whole = entry.read_bytes()
    if damage is None:
        damage = whole[:-1] + bytes([whole[-1] ^ 1])
    entry.write_bytes(damage)
    forget()
    assert result(cpu_jit.load([code]), code) == 4
    assert compiled == [code.name] * 2
    write_behind.flush()
    assert entry.read_bytes() == whole


def test_entry_of_another_function(cache: Path, compiled: list[str]):
    mine, other = storing(8), storing(9)
    cpu_jit.load([mine, other])
    write_behind.flush()
    os.replace(cache / entry_of(other), cache / entry_of(mine))
    forget()
    assert result(cpu_jit.load([mine]), mine) == 8
    assert sorted(compiled[:2]) == sorted([mine.name, other.name])  # side by side
    assert compiled[2:] == [mine.name]


def test_folder_that_cannot_be_written(cache: Path):
    cache.write_text("a file where the folder should be")
    code = storing(5)
    assert result(cpu_jit.load([code]), code) == 5


def test_no_cache_on_disk(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SG_CACHE_DIR", "")
    assert cache_folder() is None
    code = storing(6)
    assert result(cpu_jit.load([code]), code) == 6


def test_the_key_knows_the_processor(monkeypatch: pytest.MonkeyPatch):
    code, host = storing(7), cpu_jit.host()
    key = cpu_jit._key(code)
    monkeypatch.setattr(cpu_jit, "host", lambda: replace(host, features="+other"))
    assert cpu_jit._key(code) != key


def test_a_library_keeps_what_it_calls():
    inner = storing(8)
    emitter = Emitter()
    emitter.call("void", inner.name, ("ptr", "%place"))
    outer = emitter.finish(["ptr %place"])
    first = cpu_jit.load([inner])
    library = cpu_jit.load([inner, outer])
    del first
    gc.collect()
    assert result(library, outer) == 8


def test_unknown_symbol():
    emitter = Emitter()
    emitter.call("void", "no_such_function")
    with pytest.raises(cpu_jit.MissingCode, match="materialize"):
        cpu_jit.load([emitter.finish(["ptr %place"])])


def test_llvmlite_is_imported_when_first_needed():
    program = (
        "import sys; import staticgraph.runtime.cpu.jit as jit; assert 'llvmlite' not in sys.modules;"
        " jit.host(); assert 'llvmlite' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_what_was_begun_is_compiled_once(compiled: list[str]):
    codes = [storing(number) for number in range(20, 26)]
    for code in codes:
        cpu_jit.begin(code)
        cpu_jit.begin(code)
    library = cpu_jit.load(codes)
    assert [result(library, code) for code in codes] == list(range(20, 26))
    assert sorted(compiled) == sorted(code.name for code in codes)


def test_an_error_in_the_background_shows_where_the_function_is_loaded():
    broken = replace(storing(30), text="define void @broken( {", name="broken")
    cpu_jit.begin(broken)
    with pytest.raises(RuntimeError, match="parsing"):
        cpu_jit.load([broken])


def test_functions_compiled_in_one_call_have_the_code_of_those_compiled_alone():
    codes = [storing(number) for number in range(60, 63)]
    codes[1] = replace(codes[1], text="define void @broken( {", name="broken")
    codes[2] = replace(codes[2], plain=True)
    cpu_jit._batches()
    cpu_jit._compiled_together(codes)
    for code in (codes[0], codes[2]):
        assert cpu_jit._OBJECTS[code.name] == cpu_jit._compile(code, verify=False)
    assert "broken" not in cpu_jit._OBJECTS
    assert result(cpu_jit.load([codes[2]]), codes[2]) == 62


def test_threads_take_several_functions_that_wait(monkeypatch: pytest.MonkeyPatch):
    taken: list[list[str]] = []
    monkeypatch.setattr(compile_ahead, "THREADS", 1)
    ahead = compile_ahead.CompileThreads(lambda codes: taken.append([code.name for code in codes]))
    monkeypatch.setattr(ahead, "_start_thread", lambda: None)  # so that all of them wait
    codes = [Code(str(number), "") for number in range(11)]
    for code in codes:
        ahead.begin(code)
    ahead.finish(codes)
    assert [name for names in taken for name in names] == [code.name for code in codes]
    assert [len(names) for names in taken] == [4, 3, 1, 1, 1, 1]  # the last ones are left for others


def test_the_largest_functions_that_wait_are_compiled_first_and_alone(monkeypatch: pytest.MonkeyPatch):
    """Or else all threads but one wait for the function of the whole step, which is written last."""
    taken: list[list[str]] = []
    monkeypatch.setattr(compile_ahead, "THREADS", 1)
    ahead = compile_ahead.CompileThreads(lambda codes: taken.append([code.name for code in codes]))
    monkeypatch.setattr(ahead, "_start_thread", lambda: None)  # so that all of them wait
    codes = [Code(str(number), "x" * number) for number in range(1, 9)]
    codes.append(Code("step", "x" * compile_ahead.LARGE))
    for code in codes:
        ahead.begin(code)
    ahead.finish(codes)
    assert taken == [["step"], ["8", "7", "6", "5"], ["4"], ["3"], ["2"], ["1"]]


def test_a_caller_does_not_help_with_what_nobody_waits_for(monkeypatch: pytest.MonkeyPatch):
    """So a first run does not take longer for code that only later ones need."""
    done: list[str] = []
    ahead = compile_ahead.CompileThreads(lambda codes: done.extend(code.name for code in codes))
    monkeypatch.setattr(ahead, "_start_thread", lambda: None)  # so that all wait
    first, later = Code("first", ""), Code("later", "")
    ahead.begin_after(later)
    ahead.begin(first)
    assert later in ahead
    ahead.finish([first])
    assert done == ["first"]
    ahead.finish([later])
    assert done == ["first", "later"]


def test_what_has_not_begun_at_the_end_of_a_process_is_left_out(monkeypatch: pytest.MonkeyPatch):
    done: list[str] = []
    ahead = compile_ahead.CompileThreads(lambda codes: done.extend(code.name for code in codes))
    monkeypatch.setattr(ahead, "_start_thread", lambda: None)  # so that all wait
    ahead.begin(Code("one", ""))
    ahead.begin_after(Code("two", ""))
    ahead.leave()
    ahead.finish([Code("one", ""), Code("two", "")])
    assert not done


def test_no_thread_that_compiles_waits_for_the_disk(cache: Path, monkeypatch):
    monkeypatch.setattr(write_behind, "_start", lambda: None)
    codes = [storing(number) for number in range(40, 46)]
    cpu_jit.load(codes)
    assert not [*cache.glob("*.entry")]
    write_behind.flush()
    assert {p.name for p in cache.glob("*.entry")} == {entry_of(code) for code in codes}


def test_turns_are_short_only_while_functions_are_compiled(monkeypatch: pytest.MonkeyPatch):
    turns: list[float] = []
    compile_ = cpu_jit._compile

    def record(code: Code, verify: bool) -> bytes:
        turns.append(sys.getswitchinterval())
        return compile_(code, verify)

    monkeypatch.setattr(cpu_jit, "_compile", record)
    monkeypatch.setattr(compile_ahead, "BATCH", 1)
    before = sys.getswitchinterval()
    cpu_jit.load([storing(number) for number in range(50, 56)])
    assert sys.getswitchinterval() == before
    assert set(turns) == {compile_ahead.TURN}


AFTER_FORK = """
import os
import numpy as np
import staticgraph as sg

x = sg.placeholder(sg.float32, [3])
with sg.Session() as sess:
    sess.run(x + 1.0, {x: np.zeros(3)})
    child = os.fork()
    if child == 0:
        made = sess.run(x * 3.0 + 1.0, {x: np.ones(3)})  # compiled in the child, by a thread of its own
        os._exit(0 if made.tolist() == [4.0] * 3 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""


FORK_WHILE_COMPILING = """
import os
import sys
import time
from staticgraph.compiler.codegen.llvm.text import Emitter
from staticgraph.runtime.cpu import jit as cpu_jit

def storing(number):
    emitter = Emitter()
    for _ in range(1000):
        emitter.line(f"store volatile i32 {number}, ptr %place")
    return emitter.finish(["ptr %place"])

turn = sys.getswitchinterval()
for first in range(0, 500, 100):
    codes = [storing(first + number) for number in range(20)]
    for code in codes:
        cpu_jit.begin(code)
    while codes[2].name not in cpu_jit._OBJECTS:
        time.sleep(0)
    child = os.fork()
    if child == 0:
        new = storing(first + 50)
        cpu_jit.begin(new)
        cpu_jit.load([new, *codes])
        os._exit(0 if sys.getswitchinterval() == turn else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    cpu_jit.load(codes)
"""


@pytest.mark.takes_long
@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
@pytest.mark.parametrize("program", [AFTER_FORK, FORK_WHILE_COMPILING])
def test_a_forked_process_compiles(program: str):
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
