"""Forks of a process whose other threads are at work; under load see tests/test_endurance_tool.py."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LONGEST = 120  # seconds: it hangs
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot be forked here")

# Each program ends by printing what `child` returns: what the work gave, or the name of the error.
BEGIN = """
import gc, os, sys, threading, warnings
import numpy as np
import staticgraph as sg
from staticgraph.compiler.support import forks
warnings.simplefilter("ignore", DeprecationWarning)

def child(work):
    reading, writing = os.pipe()
    if os.fork() == 0:
        try:
            answer = str(work())
        except BaseException as error:
            answer = f"{type(error).__name__}: {error}"
        os.write(writing, answer.split("\\n")[0].encode())
        os._exit(0)
    os.close(writing)
    os.wait()
    return os.read(reading, 1000).decode()

def thread(work):
    begun = threading.Event()
    made = threading.Thread(target=lambda: work(begun), daemon=True)
    made.start()
    assert begun.wait(60)
    return made

def until(condition):
    while not condition():
        threading.Event().wait(0.001)

endless = lambda v: sg.while_loop(lambda i, a: i >= 0, lambda i, a: (i * 0, a + 1.0), [0, v + 0.0])[1]

def running(session, fetch):
    def work(begun):
        begun.set()
        session.run(fetch, timeout=60)
    made = thread(work)
    until(lambda: session.variables.state[1])
    return made
"""

CASES = {
    "a brief lock that is not given back": (
        """
forks._BRIEF_WAIT = 0.01
lock, condition = forks.brief(threading.RLock()), forks.brief(threading.Condition())
def hold(begun):
    with lock, condition:
        begun.set()
        threading.Event().wait()
thread(hold)
def work():
    with lock, condition:
        return condition.wait(0.001)
print(child(work))
""",
        "False",
    ),
    "a brief lock of the thread that forks": (
        """
lock = forks.brief(threading.RLock())
def work():
    lock.release()
    return lock._is_owned()
with lock:
    print(child(work))
""",
        "False",
    ),
    "a lock of a module that another thread imports": (
        """
import importlib.abc, importlib.util
class Late(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path, target=None):
        return importlib.util.spec_from_loader(name, self) if name == "staticgraph.late" else None
    def create_module(self, spec):
        return None
    def exec_module(self, module):
        begun.set()
        until(lambda: forks._held)
        module.lock = forks.patient(threading.RLock())
sys.meta_path.insert(0, Late())
begun = threading.Event()
def use(other):
    other.set()
    import staticgraph.late
    with staticgraph.late.lock:
        threading.Event().wait(0.3)
thread(use)
begun.wait()
print(child(lambda: sys.modules["staticgraph.late"].lock.acquire(timeout=1)))
""",
        "True",
    ),
    "a compile that another thread begins meanwhile": (
        """
from staticgraph.compiler.codegen.llvm.text import Code
from staticgraph.runtime.cpu.compile_threads import CompileThreads
done = threading.Event()
ahead = CompileThreads(lambda code: until(done.is_set))
def begin(other):
    other.set()
    ahead.begin(Code("late", ""))
def pause():
    thread(begin)
    threading.Event().wait(0.2)
    at_work.append(len(ahead._working))
at_work = []
forks.pausing(pause, lambda: None)
print(child(lambda: at_work))
""",
        "[0]",
    ),
    "a thread that compiles and needs the lock of that library": (
        """
from llvmlite.binding import ffi
from staticgraph.compiler.codegen.llvm.text import Code
from staticgraph.runtime.cpu.compile_threads import CompileThreads
sg.Session().run(sg.constant(1.0) * 2.0)
at_work, done = threading.Event(), []
def work(codes):
    at_work.set()
    until(lambda: forks._held)
    threading.Event().wait(0.2)
    with ffi.lib._lock:
        done.append("compiled")
ahead = CompileThreads(work)
ahead.begin(Code("first", ""))
at_work.wait()
print(child(lambda: done))
""",
        "['compiled']",
    ),
    "a thread in a library that LLVM is reached by": (
        """
from llvmlite.binding import ffi
session = sg.Session()
session.run(sg.constant(1.0) * 2.0)
def hold(begun):
    with ffi.lib._lock:
        begun.set()
        threading.Event().wait(0.3)
thread(hold)
print(child(lambda: session.run(sg.tanh(sg.random_uniform([])) + 3.5) > 3))
""",
        "True",
    ),
    "a session in a run": (
        """
v = sg.Variable(1.0)
session, other = sg.Session(), sg.Session()
session.run(v.initializer), other.run(v.initializer)
running(session, endless(v))
def work():
    found = [float(other.run(v + 1.0))]
    save = lambda: sg.save("x.sg", {"v": v + 0.0}, session=session)
    for act in (lambda: session.run(v), lambda: v.load(2.0, session), save):
        try:
            act()
        except sg.errors.AbortedError as error:
            found.append("may be half changed" in str(error))
    session.close()
    return found
print(child(work))
""",
        "[2.0, True, True, True]",
    ),
    "a session in a run, without variables": (
        """
session = sg.Session()
running(session, endless(sg.constant(1.0)))
print(child(lambda: session.run(sg.constant(2.0) * 3.0)))
""",
        "6.0",
    ),
    "a queue whose elements come from a thread": (
        """
queue = sg.FIFOQueue(4, [sg.float32], shapes=[[]])
session = sg.Session()
take = queue.dequeue()
session.run(queue.enqueue([5.0]))
session.run(take)
session.run(queue.enqueue([6.0]))
session.run(take)
waiting = thread(lambda begun: (begun.set(), session.run(take)))
until(lambda: any(c._taking for c in gc.get_objects() if type(c).__name__ == "Contents"))
def work():
    session.run(queue.enqueue([7.0]))
    found = [float(session.run(take))]
    try:
        session.run(take)
    except sg.errors.AbortedError as error:
        found.append("its parent has the threads that fill and empty queues" in str(error))
    return found
print(child(work))
""",
        "[7.0, True]",
    ),
    "a dataset that a thread prefetches": (
        """
data = sg.data.Dataset.range(10**9).prefetch(2)
iterator = sg.data.make_initializable_iterator(data)
element, session = iterator.get_next(), sg.Session()
session.run(iterator.initializer)
session.run(element)
def work():
    found = []
    try:
        for _ in range(9):
            session.run(element)
    except sg.errors.AbortedError as error:
        found.append("prefetches" in str(error))
    session.run(iterator.initializer)
    return found + [int(session.run(element)) for _ in range(9)]
print(child(work))
""",
        "[True, 0, 1, 2, 3, 4, 5, 6, 7, 8]",
    ),
    "a dataset that threads map": (
        """
data = sg.data.Dataset.range(10**9).map(lambda i: i * 2, num_parallel_calls=2)
iterator = sg.data.make_initializable_iterator(data)
element, session = iterator.get_next(), sg.Session()
session.run(iterator.initializer)
session.run(element)
def work():
    try:
        session.run(element)
    except sg.errors.AbortedError as error:
        session.run(iterator.initializer)
        return "compute elements" in str(error), int(session.run(element)), int(session.run(element))
print(child(work))
""",
        "(True, 0, 2)",
    ),
    "the collector that another thread has paused": (
        """
from staticgraph.compiler.support.gc_pause import collector_paused
def pause(begun):
    with collector_paused():
        begun.set()
        threading.Event().wait()
thread(pause)
print(gc.isenabled(), child(gc.isenabled))
""",
        "False True",
    ),
    "a module that another thread imports": (
        """
import types
forks._IMPORT_WAIT = 60
import importlib.machinery
class Slow:
    # finds nothing, slowly
    def find_spec(self, name, path=None, target=None):
        if name == "staticgraph.slow":
            begun.set()
            threading.Event().wait(0.1)
begun = threading.Event()
sys.meta_path.insert(0, Slow())
def load(_):
    _.set()
    try:
        import staticgraph.slow
    except ImportError:
        pass
thread(load)
begun.wait()
def work():
    try:
        import staticgraph.slow
    except ImportError as error:
        return error
print(child(work))
""",
        "No module named 'staticgraph.slow'",
    ),
}


@pytest.mark.takes_long
@pytest.mark.parametrize("case", CASES)
def test_a_child_works_or_raises_at_once(case: str, tmp_path: Path):
    program, found = CASES[case]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", BEGIN + program + "\nsys.stdout.flush(); os._exit(0)"]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=LONGEST
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == found, done.stderr
