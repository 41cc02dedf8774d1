"""GPU programs on disk, so that a step which was compiled before, perhaps by another process, is only loaded.

Keys and guards are those of a processor's programs (`cpu/disk/disk_cache.py`), with the GPU's numbers. An
entry has the instructions, the text of their functions, and the calls of libraries. Images of functions lie
beside it, under keys of their own. Programs that call the host are compiled each time.

An entry of a program with open sizes serves all sizes, as far as its functions take them. What had to be
compiled for some values alone is added to it when that happens.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field, fields, replace
from typing import Any

from staticgraph.compiler.capture.guards import Guard
from staticgraph.compiler.capture.step import Step
from staticgraph.compiler.capture.step_digest import MOST_DATA
from staticgraph.compiler.codegen.cuda.function import KernelWork
from staticgraph.compiler.fusion.group import Fusion
from staticgraph.compiler.gpu.step import GpuCompiled, every_instruction
from staticgraph.compiler.gpu.step_open import OpenGpuCompiled
from staticgraph.compiler.kernel.schedule_gpu.target import GpuTarget
from staticgraph.compiler.lower.program import Constants, Launch, Program
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.runtime.cpu.disk import disk_cache
from staticgraph.runtime.cpu.disk.loaded_program import NO_FUNCTION, LoadedStep
from staticgraph.runtime.gpu.disk.records import Decoder, Encoder, is_storable
from staticgraph.runtime.switches import Settings

_FORMAT = 4  # of an entry, and part of every key
_NO_FUSION = Fusion(NO_FUNCTION, ())


def key_of(step: Step, settings: Settings, target: GpuTarget) -> str | None:
    """The name of its program on the disk; None if it is to be compiled, whatever is there."""
    refused = target.refused
    of_library = None if refused is None else sorted(convolution.name for convolution in refused)
    return disk_cache.key_of(
        step, settings, ("gpu", _FORMAT, target.precision.value, of_library, target.machine)
    )


def remember(key: str, step: Step, compiled: GpuCompiled) -> None:
    """Keep the program that `step` was compiled to, if it is of that kind."""
    program = compiled.program
    if _is_kept(program):
        works = [compiled.work(launch) for launch in _launches(program)]
        told = {"needed": _needed(step, compiled.step), "room": compiled.room}
        told |= _told(Encoder(), program, works)
        disk_cache.write(key, told, (), bytes(program.constants))


def recall(key: str, step: Step) -> GpuCompiled | None:
    """The program of `step`, if the disk has it: all that a run needs, and nothing of the graph."""
    found = disk_cache.read(key)
    if found is None:
        return None
    told, constants = found.told, found.rest
    program, works = _known(Decoder(), told, constants)
    launches = _launches(program)
    of_launch = {id(launch): work for launch, work in zip(launches, works, strict=True) if work is not None}
    return GpuCompiled(_loaded(step, told["needed"]), _NO_FUSION, program, of_launch, told["room"])


@dataclass(slots=True)
class OpenEntry:
    """A program with open sizes, and where the disk has it; nowhere, if `name` is None."""

    opened: OpenGpuCompiled
    step: Step = field(repr=False)
    name: str | None = None
    guards: Sequence[Guard] = ()
    _kept: tuple[int, ...] = ()

    def compiled(self, opened: OpenGpuCompiled) -> None:
        """Take the program as it was compiled in place of the one from the disk, with what that has."""
        for mine, its in zip(_parts(opened), _parts(self.opened), strict=True):
            mine.closed.update(its.closed)
        self.opened = opened

    def keep(self) -> None:
        """Write what the disk does not have yet."""
        parts = _parts(self.opened)
        now = tuple(len(part.closed) for part in parts)
        if self.name is None or now == self._kept or not all(_is_kept(part.program) for part in parts):
            return
        encoder, constants = Encoder(), [bytes(part.program.constants) for part in parts]
        told = {
            "needed": _needed(self.step, self.opened.step),
            "parts": [_told_open(encoder, part) for part in parts],
            "constants": [len(each) for each in constants],
        }
        found = disk_cache.write(self.name, told, self.guards, b"".join(constants), replaces=bool(self._kept))
        self.name, self._kept = found, now


def recall_open(key: str, step: Step) -> OpenEntry | None:
    """The program of a step with open sizes, if the disk has it. `Undecided` as in `disk_cache.refuse`."""
    found = disk_cache.read(key)
    if found is None:
        return None
    disk_cache.refuse(found.told)
    decoder, rest = Decoder(), found.rest
    plain: OpenGpuCompiled | None = None
    parts = []
    for told, size in zip(found.told["parts"], found.told["constants"], strict=True):
        program, works = _known(decoder, told, rest[:size])
        rest = rest[size:]
        closed = {values: dict(own) for values, own in decoder(told["closed"])}
        attentions = frozenset(told["attentions"])
        alone = _loaded(step, found.told["needed"])
        parts.append(
            OpenGpuCompiled(alone, _NO_FUSION, program, works, attentions, None, closed, sealed=True)
        )
    for part in reversed(parts):
        plain = replace(part, plain=plain)
    assert plain is not None
    kept = tuple(len(part.closed) for part in parts)
    return OpenEntry(plain, step, found.name, found.guards, kept)


def _parts(opened: OpenGpuCompiled) -> list[OpenGpuCompiled]:
    return [opened] if opened.plain is None else [opened, *_parts(opened.plain)]


def _told_open(encoder: Encoder, part: OpenGpuCompiled) -> dict[str, Any]:
    told = _told(encoder, part.program, part.works)
    closed = [(values, [*own.items()]) for values, own in part.closed.items()]
    return {**told, "attentions": sorted(part.attentions), "closed": encoder(closed)}


def _told(encoder: Encoder, program: Program, works: Iterable[KernelWork | None]) -> dict[str, Any]:
    return {"program": encoder(program), "works": encoder([*works])}


def _known(
    decoder: Decoder, told: dict[str, Any], constants: bytes
) -> tuple[Program, Sequence[KernelWork | None]]:
    program = replace(decoder(told["program"]), constants=Constants.of(constants))
    return program, decoder(told["works"])


def _is_kept(program: Program) -> bool:
    return is_storable(program) and len(program.constants) <= MOST_DATA


def _launches(program: Program) -> list[Launch]:
    return [each for each in every_instruction(program) if isinstance(each, Launch)]


def _needed(step: Step, compiled: Step) -> list[int]:
    return [step.reads.index(op) for op in compiled.needed]


def _loaded(step: Step, needed: Sequence[int]) -> LoadedStep:
    same = {f.name: getattr(step, f.name) for f in fields(Step) if f.name != "function"}
    return LoadedStep(NO_FUNCTION, **same, needed=[step.reads[i] for i in needed])
