"""A program, asked of a driver: instruction by instruction, or captured as graphs.

    recorder.program(program, table)             all of it, now
    recorder.captured(lambda: ...)               functions that do it: replays of graphs, and decisions

Between the graphs the host decides: what NumPy computes, which branch is taken, whether a loop goes on. Loops
whose rounds are known beforehand are part of a graph, round after round.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial

import numpy as np

from staticgraph.compiler.codegen.cuda.function import CudaFunction, FunctionCall
from staticgraph.compiler.gpu.step import GpuCompiled
from staticgraph.compiler.graph.interpret import failure
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.kernel.schedule_gpu.function import Extents
from staticgraph.compiler.kernel.schedule_gpu.products.convolution import Convolution, Made
from staticgraph.compiler.kernel.schedule_gpu.products.product import Product
from staticgraph.compiler.kernel.stmt import padded
from staticgraph.compiler.lower.program import (
    Branch,
    Copy,
    HostCall,
    Instruction,
    Launch,
    LoopInstruction,
    Program,
    Require,
    buffers_of,
)
from staticgraph.runtime.gpu.cuda.driver import Direction
from staticgraph.runtime.gpu.device import Device
from staticgraph.runtime.gpu.graphs.control_flow import branch, loop, require
from staticgraph.runtime.gpu.graphs.kept import NOTHING, KeptResults
from staticgraph.runtime.gpu.graphs.merging import RecordedWork, plan
from staticgraph.runtime.gpu.graphs.order import CHAIN, Chain, Overlap, Ring, Span
from staticgraph.runtime.gpu.graphs.predicate import NotPredicable, Predicate
from staticgraph.runtime.gpu.graphs.predicated_branch import StepBranches
from staticgraph.runtime.gpu.graphs.recording import Table, at
from staticgraph.runtime.gpu.timing import COPIES, UNTIMED, Untimed
from staticgraph.runtime.state.memory import empty, from_storage, to_storage

Action = Callable[[], None]
_LOOKS = 4  # at the body of a loop, for what can be merged: its values may change places from round to round


class GraphRecorder:
    """Asks `device` for what programs do. `scratch` is the address of memory for single launches. `overlap`:
    what is captured is done side by side where it can be, and small pieces of it are merged. `merges`:
    functions for that may be compiled; if not, only those are used that are there. `kept`: memory for
    what a launch leaves to later ones.
    """

    def __init__(
        self,
        device: Device,
        compiled: GpuCompiled,
        scratch: int,
        timing: Untimed = UNTIMED,
        overlap: bool = False,
        merges: bool = True,
        kept: KeptResults = NOTHING,
    ) -> None:
        self.device = device
        self.driver = device.driver
        self.timing = timing
        self._compiled = compiled
        self._kept = kept
        self._scratch = Ring(scratch, compiled.scratch)
        self.merges = overlap and timing.overlap
        self._overlap = self.merges and self.driver.overlaps
        self._compiles = merges and not device.images  # with an image of all functions, nothing is compiled
        # To be loaded before a capture, while that is found: in an order by which images on disk are found.
        self._planned: dict[CudaFunction, None] | None = None
        self._seen = Counter[int]()  # how often a program was looked at for them
        self._waits: Chain = CHAIN
        self._products = 0  # that were asked for, which take workspaces by turns
        self.predicate: Predicate | None = None
        self._branches = StepBranches(device, compiled.program)
        self._parts: list[Action] | None = None  # what was captured so far; None: all is done at once
        self._peek = self.driver.pinned(8)  # for single numbers that the host looks at

    def captured(self, ask: Action, program: Program, table: Table) -> list[Action]:
        """Capture all that `ask` enqueues, and return the actions that do it. Nothing is done yet.

        `program` is what it asks for, with this table.
        """
        if self.merges and self._compiles:
            self._load(self.functions(lambda: self.program(program, table)))
        return self._captured(ask)

    def predicated(self, ask: Action, predicate: Predicate, late: bool) -> Action | None:
        compiles = self._compiles or (late and not self.device.images)
        try:
            with self.under(predicate):
                functions = self.functions(ask)
                if not compiles and not all(map(self.device.is_loaded, functions)):
                    return None
                self._load(functions)
                (action,) = self._captured(ask)
                return action
        except NotPredicable:
            return None

    @contextmanager
    def under(self, predicate: Predicate) -> Iterator[None]:
        outer, self.predicate = self.predicate, predicate
        try:
            yield
        finally:
            self.predicate = outer

    def predicate_of(self, instruction: Branch, table: Table) -> Predicate | None:
        return self.predicate or self._branches.predicate(self, instruction, table)

    @property
    def plans(self) -> bool:
        return self._planned is not None and self.predicate is None

    def _captured(self, ask: Action) -> list[Action]:
        outer, self._parts = self._parts, []
        try:
            self._begin()
            ask()
            self._parts.append(self._end())
            return self._parts
        except BaseException:
            self.driver.abandon_capture()
            raise
        finally:
            self._parts, self._waits = outer, CHAIN

    def _begin(self) -> None:
        self.driver.begin_capture()
        self.timing.begin()
        self._waits = Overlap(self.driver) if self._overlap else CHAIN

    def _end(self) -> Action:
        self._waits = CHAIN
        return self.timing.end(self.driver.end_capture().replay)

    def decide(self, action: Action, instruction: Instruction) -> None:
        """Have the host do something at this point, for an instruction; it may ask for more. NotPredicable
        where the GPU decides if it is to be done.
        """
        if self.predicate is not None:
            raise NotPredicable
        if self._planned is not None:
            return
        action = self.timing.hosted(action, instruction)
        if self._parts is None:
            action()
            return
        self._parts += [self._end(), action]
        self._begin()

    def program(self, program: Program, table: Table) -> None:
        """Ask for all of a program."""
        if self._planned is not None:
            self._seen[id(program)] += 1
            if self._seen[id(program)] > _LOOKS and self.predicate is None:
                return
        pieces: list[RecordedWork] = []  # which may be done in another order, and some of them together
        for instruction in program.instructions:
            match instruction:
                case Launch() if self.merges:
                    pieces += self._pieces(instruction, table)
                case Copy(target, source, size) if self.merges:
                    pieces += self._copies(at(table, target), at(table, source), size)
                case Launch():
                    with self.timing.of(instruction):
                        for piece in self._pieces(instruction, table):
                            self._do(piece)
                case Copy(target, source, size):
                    self.copy(at(table, target), at(table, source), size)
                case _:
                    self._do_all(pieces)
                    pieces = []
                    self._host(instruction, table)
        self._do_all(pieces)

    def _host(self, instruction: Instruction, table: Table) -> None:
        """Ask for an instruction in which the host takes part, or for the rounds of a loop."""
        match instruction:
            case HostCall():
                self.decide(lambda: self._host_call(instruction, table), instruction)
            case LoopInstruction():
                loop(self, instruction, table)
            case Branch():
                branch(self, instruction, table)
            case Require():
                require(self, instruction, table)

    def _do_all(self, pieces: Sequence[RecordedWork]) -> None:
        """Ask for pieces, small ones together, if their functions are loaded."""
        if self._parts is None and self._planned is None:
            for piece in pieces:
                self._do(piece)
            return
        for group in plan(pieces, self.device.machine):
            if not group.is_one_piece:
                addresses, sizes, grid = group.call
                form = self._form(group.function, addresses, sizes)
                if self._planned is not None or self.device.is_loaded(form[0]):
                    reads = [span for piece in group.pieces for span in piece.reads]
                    writes = [span for piece in group.pieces for span in piece.writes]
                    with self.touching(reads, writes):
                        self._launch(*form, grid)
                    continue
            for piece in group.pieces:
                self._do(piece)

    def functions(self, ask: Action) -> dict[CudaFunction, None]:
        scratch, outer = self._scratch.place, self._planned
        self._planned = found = dict[CudaFunction, None]()
        try:
            ask()
        finally:
            self._planned = outer
            self._scratch.place = scratch
        return found

    def _load(self, functions: Collection[CudaFunction]) -> None:
        """Load functions, so that their first calls can be captured."""
        self.device.load(functions)
        for function in functions:
            self.device.kernel(function).ready()

    def _do(self, piece: RecordedWork) -> None:
        if piece.action is not None:
            if self._planned is None:
                piece.action()
            return
        assert piece.call is not None
        starts = [start for start, _ in piece.given]
        with self.touching(piece.reads, piece.writes):
            form = self._form(piece.call.function, starts, piece.call.sizes)
            self._launch(*form, piece.call.blocks)

    def _form(
        self, function: CudaFunction, addresses: Sequence[int], sizes: Sequence[int]
    ) -> tuple[CudaFunction, Sequence[int], Sequence[int]]:
        """The form of a function that is asked for, and its arguments."""
        found = function, addresses, sizes
        return found if self.predicate is None else self.predicate.call(*found)

    def _launch(
        self,
        function: CudaFunction,
        addresses: Sequence[int],
        sizes: Sequence[int],
        grid: Extents | None,
    ) -> None:
        if self._planned is not None:
            self._planned[function] = None
        else:
            self.device.kernel(function)(addresses, sizes, grid)

    def call(
        self, call: FunctionCall, given: Sequence[int], reads: Sequence[Span], writes: Sequence[Span]
    ) -> None:
        with self.touching(reads, writes):
            self._launch(call.function, given, call.sizes, call.blocks)

    def fetch(self, host: np.ndarray, address: int) -> None:
        if self._planned is None:
            place, size = host.ctypes.data, host.nbytes
            with self.touching([(address, address + size)], [(place, place + size)]):
                self.driver.copy(place, address, size, Direction.FROM_DEVICE)

    def touching(self, reads: Sequence[Span], writes: Sequence[Span]) -> AbstractContextManager[None]:
        """Context in which one piece of work is asked for that reads and writes these bytes."""
        return self._waits.work(reads, writes)

    def copy(self, target: int, source: int, size: int) -> None:
        """Ask for a copy on the GPU."""
        for piece in self._copies(target, source, size):
            self._do(piece)

    def _copies(self, target: int, source: int, size: int) -> list[RecordedWork]:
        """A copy on the GPU, if there is something to be copied."""
        if not size or target == source:
            return []
        if self.predicate is not None:
            return [self.predicate.copy(target, source, size)]
        reads, writes = [(source, source + size)], [(target, target + size)]

        def ask() -> None:
            with self.timing.of(COPIES), self.touching(reads, writes):
                self.driver.copy(target, source, size, Direction.ON_DEVICE)

        return [RecordedWork(reads, writes, ask)]

    def clear(self, address: int, size: int) -> None:
        """Ask for bytes of the GPU to be zero."""
        if self.predicate is not None:
            self.predicate.harmless([(address, address + size)])
        if self._planned is None:
            with self.touching([], [(address, address + size)]):
                self.driver.clear(address, size)

    def number(self, address: int, dtype: np.dtype) -> int:
        """A number on the GPU, when all that was asked for is done."""
        self.driver.copy(self._peek.ctypes.data, address, dtype.itemsize, Direction.FROM_DEVICE)
        self.driver.synchronize()
        return int(self._peek[: dtype.itemsize].view(dtype)[0])

    def _pieces(self, launch: Launch, table: Table) -> Iterator[RecordedWork]:
        """The calls of a launch."""
        if self.predicate is None:
            return self._calls(launch, table)
        return map(self.predicate.piece, self._calls(launch, table))

    def _calls(self, launch: Launch, table: Table) -> Iterator[RecordedWork]:
        work = self._compiled.work(launch)
        spans = {}
        for (name, size), ref in zip(arguments(launch), launch.args, strict=True):
            spans[name] = at(table, ref), at(table, ref) + size
        end = self._scratch.take(sum(padded(size) for _, size in work.scratch))
        for name, size in work.scratch:
            spans[name] = end, end + size
            end += padded(size)
        spans |= self._kept.places(launch)
        for number, call in enumerate(work.calls):
            if self._kept.is_there(launch, number):
                continue
            given = [spans[name] for name in call.arguments]
            match call:
                case FunctionCall(written=written):
                    reads = [span for span, w in zip(given, written, strict=True) if not w]
                    writes = [span for span, w in zip(given, written, strict=True) if w]
                    yield RecordedWork(reads, writes, None, call, given)
                case Product():
                    if self.predicate is not None:
                        self.predicate.multiplies(call)
                    a, b, out, *pointers = given
                    yield RecordedWork([a, b, *pointers], [out], partial(self._multiply, call, given))
                case Convolution():
                    if self.predicate is not None:
                        raise NotPredicable
                    operands, results = _operands(call, given)
                    yield RecordedWork(operands, results, partial(self._convolve, call, given))

    def _multiply(self, product: Product, given: Sequence[Span]) -> None:
        if product.is_empty:
            self._clear(product, given[2][0])
            return
        multiplication = self.device.multiplication(product)
        a, b, out, *pointers = given
        used, which = [], 0
        if multiplication.workspaces:
            which = self._products % len(multiplication.workspaces)
            self._products += 1
            used = [multiplication.workspaces[which]]
        with self.touching([a, b, *pointers], [out, *used]):
            multiplication(*(start for start, _ in given), workspace=which)

    def _clear(self, product: Product, out: int) -> None:
        """Ask for sums of nothing, which a library is not asked for."""
        size, rows = product.dtype.size, range(0 if product.accumulate else product.m)
        for start in product.starts(product.out) if product.n else ():
            for row in rows:
                self.clear(out + (start + row * product.out.stride) * size, product.n * size)

    def _convolve(self, convolution: Convolution, given: Sequence[Span]) -> None:
        with self.touching(*_operands(convolution, given)):
            self.device.convolution(convolution)(*(start for start, _ in given))

    def _host_call(self, call: HostCall, table: Table) -> None:
        try:
            if call.is_collective and self.device.exchange is not None:
                source, target = (at(table, ref) for ref, _ in (call.inputs[0], call.outputs[0]))
                if self.device.exchange(call, source, target):
                    return
            with np.errstate(all="ignore"):
                inputs = [self._download(at(table, ref), type) for ref, type in call.inputs]
                made = call.function(*inputs, **call.attrs)
        except Exception as error:
            raise failure(error, call.node.op.name, call.node.where) from error.__cause__
        made = made if isinstance(made, tuple) else (made,)
        for (ref, type), value in zip(call.outputs, made, strict=True):
            self._upload(at(table, ref), type, value)

    def _download(self, address: int, type: TensorType) -> np.ndarray:
        stored = empty(type)
        if stored.nbytes:
            self.driver.copy(stored.ctypes.data, address, stored.nbytes, Direction.FROM_DEVICE)
        return from_storage(stored, type.dtype)

    def _upload(self, address: int, type: TensorType, value: object) -> None:
        stored = np.ascontiguousarray(to_storage(type.dtype.round(value), type.dtype))
        if stored.nbytes:
            self.driver.copy(address, stored.ctypes.data, stored.nbytes, Direction.TO_DEVICE)


def _operands(convolution: Convolution, given: Sequence[Span]) -> tuple[list[Span], list[Span]]:
    """Return the arguments that a convolution reads, and those that it writes."""
    image, filter, result, workspace = given
    made, other = (result, filter) if convolution.made is Made.RESULT else (filter, result)
    return [image, other], [made, workspace]


def prepare(device: Device, compiled: GpuCompiled) -> None:
    """Load the functions of a step, and choose how its products and convolutions are done: not to be done in
    a capture.
    """
    device.load(compiled.functions)
    for work in compiled.works.values():
        for call in work.calls:
            match call:
                case Product() if not call.is_empty:
                    device.multiplication(call)
                case Convolution():
                    device.convolution(call)


def arguments(launch: Launch) -> Iterator[tuple[str, int]]:
    """The buffers of a launch that are its arguments: their names, and how many bytes they have."""
    for name, buffer in buffers_of(launch.work).items():
        if not (buffer.local or buffer.shared):
            yield name, buffer.size * buffer.dtype.size
