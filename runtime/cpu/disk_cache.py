"""Programs on disk, so that a step which was compiled before, perhaps by another process, is only loaded.

An entry is found by what the step computes, the processor, the options and the version of the compiler. It
says what a run needs to know; the machine code lies beside it, each function under its own name. Programs
that call Python and those with much constant data are compiled each time.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import fields, replace
from typing import TYPE_CHECKING

import numpy as np

from staticgraph.compiler.capture.open_shapes import is_pair
from staticgraph.compiler.capture.step import Step
from staticgraph.compiler.capture.step_digest import MOST_DATA, NoDigest, step_digest
from staticgraph.compiler.graph.sizes import Undecided
from staticgraph.compiler.lower.interpret_initializers import by_meaning, runs_once
from staticgraph.compiler.stages import observation
from staticgraph.runtime.cpu import jit as cpu_jit
from staticgraph.runtime.cpu.loaded_program import NO_FUNCTION, LoadedProgram, LoadedStep, layout_of, prepared
from staticgraph.runtime.disk import object_cache
from staticgraph.runtime.disk.sources import compiler_version
from staticgraph.runtime.switches.table import Settings

if TYPE_CHECKING:
    from staticgraph.compiler.compile import Compiled

_FORMAT = 2  # of an entry, and part of every key


def key_of(step: Step, settings: Settings, target: object = None) -> str | None:
    """The name of its program on the disk; None where it is to be compiled, whatever is there.

    `target` is what else than this processor runs it, with a `repr` that tells all that decides.
    """
    shows = settings.dump is not None or settings.trace or observation() is not None
    if object_cache.folder() is None or shows or settings.check_nan:
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
    entry = object_cache.read(key)
    if entry is None:
        return None
    head, _, constants = entry.partition(b"\n")
    told, function = json.loads(head), step.function
    if "undecided" in told:
        raise Undecided(told["undecided"])
    same = {f.name: getattr(step, f.name) for f in fields(Step) if f.name != "function"}
    alone = LoadedStep(NO_FUNCTION, **same, needed=[step.reads[i] for i in told["needed"]])
    found = prepared(
        alone, [p.type for p in function.params], [r.type for r in function.results], told, constants
    )
    return replace(found, program=by_meaning(function, step.checked)) if runs_once(step) else found


def remember_undecided(key: str, undecided: Undecided) -> None:
    """Keep that a step cannot be compiled without knowing a size, unless other sizes may do."""
    if not is_pair(undecided):
        object_cache.write(key, json.dumps({"undecided": undecided.about}).encode())


def remember(key: str, step: Step, compiled: Compiled) -> None:
    """Keep the program that `step` was compiled to, where it is of that kind."""
    program, function = compiled.program, step.function
    types = (*(p.type for p in function.params), *(r.type for r in function.results))
    calls_python = program.host_calls and not runs_once(step)
    laid_out = (*program.arguments, *program.results)
    if calls_python or types != laid_out or len(program.constants) > MOST_DATA:
        return
    numbers = {op: number for number, op in enumerate(step.reads)}
    needed = [numbers[op] for op in compiled.step.needed]
    head = json.dumps({"needed": needed, **layout_of(compiled)})
    object_cache.write(key, head.encode() + b"\n" + bytes(program.constants))
