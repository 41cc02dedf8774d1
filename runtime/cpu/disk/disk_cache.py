"""Programs and kernels on disk: what was made before, perhaps by another process, is only loaded.

An entry of a program is found by what the step computes, the processor, the options and the version of the
compiler. It says what a run needs to know; the machine code lies beside it, each function under its own name.
Programs that call Python and those with much constant data are compiled each time.

An entry of a kernel is its text, so that a program is not only compiled but also generated once. It is found
by what the kernel says, the processor, and the version of the compiler.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import fields
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from staticgraph.compiler.capture.guards import Answers, Guard, guard_of_data
from staticgraph.compiler.capture.step import Step
from staticgraph.compiler.capture.step_digest import MOST_DATA, NoDigest, step_digest
from staticgraph.compiler.codegen.abi import KernelCode
from staticgraph.compiler.graph.open_sizes import of_data, to_data
from staticgraph.compiler.graph.size_contexts import Undecided, current_answer
from staticgraph.compiler.graph.tensor import Operation
from staticgraph.compiler.stages import observation
from staticgraph.compiler.support.dataclass import dataclass, replace
from staticgraph.runtime.cpu import jit as cpu_jit
from staticgraph.runtime.cpu.disk.loaded_program import (
    NO_FUNCTION,
    LoadedProgram,
    LoadedStep,
    layout_of,
    prepared,
)
from staticgraph.runtime.disk import object_cache
from staticgraph.runtime.disk.sources import compiler_version
from staticgraph.runtime.switches import Settings, cache_folder

if TYPE_CHECKING:
    from staticgraph.compiler.codegen.gemm.choice import Choice
    from staticgraph.compiler.codegen.target import CpuTarget
    from staticgraph.compiler.compile import Compiled
    from staticgraph.compiler.kernel.contraction import Contraction
    from staticgraph.compiler.lower.program import HostCall

_MOST_ENTRIES = 8  # of one step, for runs with other guards
_FORMAT = 3  # of an entry, and part of every key


def key_of(step: Step, settings: Settings, target: object = None) -> str | None:
    """The name of its program on the disk; None if it is to be compiled, whatever is there.

    `target` is what else than this processor runs it, with a `repr` that tells all that decides.
    """
    shows = settings.dump is not None or settings.trace or observation() is not None
    if cache_folder() is None or shows or settings.check_nan:
        return None
    version = compiler_version()
    if version is None:
        return None
    try:
        digest = step_digest(step)
    except NoDigest:
        return None
    options = (settings.math, settings.memory_limit, sorted(settings.left_out), settings.tune)
    # It is NumPy that folds constants.
    parts = (_FORMAT, version, np.__version__, digest, target or cpu_jit.host(), options)
    return hashlib.blake2b(repr(parts).encode(), digest_size=16).hexdigest()


def recall(key: str, step: Step) -> LoadedProgram | None:
    """The program of `step`, if the disk has it. Some function may be gone: MissingCode when it is loaded.

    Raises Undecided if the disk tells that the step cannot be compiled without knowing a size.
    """
    entry = read(key)
    if entry is None:
        return None
    told, function = entry.told, step.function
    refuse(told)
    same = {f.name: getattr(step, f.name) for f in fields(Step) if f.name != "function"}
    needed, sources = (_variables(step, told.get(name, ())) for name in ("needed", "known_sources"))
    alone = LoadedStep(NO_FUNCTION, **same, needed=needed, known_sources=sources)
    numbers = told.get("collectives")
    calls: list[HostCall] = []
    if numbers:
        from staticgraph.runtime.cpu.disk.stored_collectives import collective_calls  # few programs have some

        calls = collective_calls(function, numbers)
    types = [p.type for p in function.params], [r.type for r in function.results]
    found = prepared(alone, *types, told, entry.rest, calls)
    if not _is_interpreted(step):
        return found
    from staticgraph.compiler.lower.interpret_initializers import by_meaning

    return replace(found, program=by_meaning(function, step.checked))


def _is_interpreted(step: Step) -> bool:
    """Return True if a step has no machine code, because it only sets variables and is small."""
    if not step.only_sets:
        return False
    from staticgraph.compiler.lower.interpret_initializers import is_small

    return is_small(step.function)


def _variables(step: Step, numbers: Sequence[int]) -> list[Operation]:
    """Return variables of a step by their numbers in an entry."""
    return [step.reads[i] for i in numbers]


def remember_undecided(key: str, undecided: Undecided, guards: Sequence[Guard]) -> None:
    """Keep that a step cannot be compiled without knowing a size in runs with these guards."""
    if undecided.equal is None:  # else other sizes may do
        told = {"undecided": undecided.about, "sizes": [*map(to_data, undecided.sizes)]}
        write(key, told, guards)


def refuse(told: dict[str, Any]) -> None:
    """Raise the Undecided that an entry tells, if it does."""
    if "undecided" in told:
        raise Undecided(told["undecided"], sizes=tuple(map(of_data, told["sizes"])))


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry on the disk: its name, what it tells, the bytes after that, and for which runs it is."""

    name: str
    told: dict[str, Any]
    rest: bytes
    guards: Sequence[Guard]


def read(key: str) -> Entry | None:
    """Return the entry for runs such as the one at hand, if there is one."""
    for number in range(_MOST_ENTRIES):
        name = _numbered(key, number)
        entry = object_cache.read(name)
        if entry is None:
            return None
        head, _, rest = entry.partition(b"\n")
        told = json.loads(head)
        guards = [guard_of_data(each) for each in told["guards"]]
        answers = current_answer()
        if not guards:
            return Entry(name, told, rest, guards)
        if isinstance(answers, Answers) and all(guard.holds(answers.values) for guard in guards):
            answers.keep(guards)
            return Entry(name, told, rest, guards)
    return None


def write(
    key: str, told: dict[str, Any], guards: Sequence[Guard], rest: bytes = b"", replaces: bool = False
) -> str | None:
    """Write an entry for runs with these guards, after the entries for others. Return its name, if there is
    room for one.

    `replaces`: `key` is the name of an entry that is written anew.
    """
    head = json.dumps({**told, "guards": [guard.to_data() for guard in guards]})
    entry = head.encode() + b"\n" + rest
    for number in range(_MOST_ENTRIES):
        name = _numbered(key, number)
        if replaces or not guards or object_cache.read(name) is None:
            object_cache.write_later(name, lambda: entry)
            return name
    return None


def _numbered(key: str, number: int) -> str:
    return hashlib.blake2b(f"{key} {number}".encode(), digest_size=16).hexdigest() if number else key


def remember(key: str, step: Step, compiled: Compiled, guards: Sequence[Guard]) -> None:
    """Keep the program that `step` was compiled to in runs with these guards, where it is of that kind."""
    program, function = compiled.program, step.function
    types = (*(p.type for p in function.params), *(r.type for r in function.results))
    found: list[int] | None = []
    if program.host_calls and not _is_interpreted(step):
        from staticgraph.runtime.cpu.disk.stored_collectives import collective_numbers

        found = collective_numbers(function, program.host_calls)
    calls_python = found is None
    laid_out = (*program.arguments, *program.results)
    if calls_python or types != laid_out or len(program.constants) > MOST_DATA:
        return
    numbers = {op: number for number, op in enumerate(step.reads)}
    told = {"needed": [numbers[op] for op in compiled.step.needed], **layout_of(compiled)}
    if found:
        sources = [numbers[op] for op in compiled.step.sources()]
        told |= {"collectives": found, "known_sources": sources}
    write(key, told, guards, bytes(program.constants))


class Generated:
    """Code by the digest of what it was generated from.

    >>> Generated().read("no such digest") is None
    True
    """

    def read(self, digest: str) -> KernelCode | None:
        """The code that was generated from this, by this generator."""
        key = _key(digest)
        data = object_cache.read(key) if key is not None else None
        if data is None:
            return None
        from staticgraph.compiler.codegen.record import from_bytes  # only with a cache on disk

        return from_bytes(data)

    def write(self, digest: str, code: KernelCode) -> None:
        """Keep what was generated, if possible."""
        key = _key(digest)
        if key is not None:
            from staticgraph.compiler.codegen.record import to_bytes  # only with a cache on disk

            object_cache.write_later(key, partial(to_bytes, code))

    def best(self, product: Contraction, target: CpuTarget) -> Choice:
        """Return the fastest way of computing a product.

        It is measured now, unless it was measured before.
        """
        from staticgraph.runtime.cpu.measurements.autotune import best  # what few programs ask for

        return best(product, target)


def _key(digest: str) -> str | None:
    version = compiler_version() if cache_folder() is not None else None
    return version and hashlib.blake2b(f"{version} {digest}".encode(), digest_size=16).hexdigest()


KEPT = Generated()
