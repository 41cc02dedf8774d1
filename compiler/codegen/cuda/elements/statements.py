"""Functions for statements as they are written, by one thread for each item or by one for all."""

from __future__ import annotations

from staticgraph.compiler.codegen.cuda.expr import CudaWriter, counter, index_type
from staticgraph.compiler.codegen.cuda.function import C_TYPES, FunctionCall, call_of, parameters
from staticgraph.compiler.graph.dtypes import int64
from staticgraph.compiler.graph.sizes import AnySize
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Index, Local, number
from staticgraph.compiler.kernel.indices.index import simplify_index
from staticgraph.compiler.kernel.schedule_gpu.elements.loops import LoopSchedule
from staticgraph.compiler.kernel.stmt import If, Let, Loop, Share, Span, Stmt, Store, Update, While, updated
from staticgraph.compiler.kernel.stmt import statements as inside


def statements(made: LoopSchedule) -> FunctionCall:
    """The function of a schedule."""
    writer = StatementWriter(made.buffers)
    if made.item is None:
        writer.body(made.body)
    else:
        _items(writer, made, made.item)
    return call_of(made, parameters(made.buffers, made.written, made.uses), writer.text)


def _items(writer: StatementWriter, made: LoopSchedule, item: Index) -> None:
    """Write a loop whose iterations are spread over threads."""
    block, threads = made.threads, made.grid[0] * made.threads
    kind = counter(threads + item.extent)
    writer.line(f"const {kind} thread = {kind}(blockIdx.x) * {block} + threadIdx.x;")
    for name in made.private:
        buffer = made.buffers[name]
        element = C_TYPES[buffer.dtype.name]
        writer.pointers[name] = mine = writer.name(name)
        if name in made.large:
            writer.line(f"{element}* const {mine} = {name} + int64_t(thread) * {buffer.size};")
        else:
            writer.line(f"{element} {mine}[{max(buffer.size, 1)}];")
    head = f"if (thread < {item.extent})"
    if made.large:
        head = f"for ({kind} item = thread; item < {item.extent}; item += {threads})"
    with writer.block(head):
        writer.bind_index(item, "item" if made.large else "thread")
        writer.body(made.body)


class StatementWriter(CudaWriter):
    """Writes statements for one thread."""

    def body(self, body: tuple[Stmt, ...]) -> None:
        """Write statements one after the other."""
        for n, stmt in enumerate(body):
            self.statement(stmt, body[n:])

    def statement(self, stmt: Stmt, rest: tuple[Stmt, ...]) -> None:
        """Write the first one of the `rest` of a body."""
        match stmt:
            case Let(local, value):
                self.define(local, value, constant=local not in updated(rest))
            case Update(local, value):
                self.assign(local, value)
            case Store(buffer, at, value):
                self.store(buffer, at, value)
            case Loop():
                self.loop(stmt)
            case While(condition, inner):
                self.forget(changed(inner))
                with self.block("while (true)"):
                    self.line(f"if (!({self.value(condition)})) break;")
                    self.body(inner)
            case If(condition, inner):
                with self.block(f"if ({self.value(condition)})"):
                    self.body(inner)

    def loop(self, loop: Loop) -> None:
        index, kind = loop.index, index_type(loop.index)
        self.forget(changed(loop.body))
        first, end = ("0", f"{index.extent}") if loop.share is None else self.share(loop.share, index.extent)
        name = self.name(index.name)
        with self.block(f"for ({kind} {name} = {first}; {name} < {end}; ++{name})"):
            self.bind_index(index, name)
            self.body(loop.body)

    def share(self, share: Share | Span, extent: AnySize) -> tuple[str, str]:
        """The first iteration of a share or a span, and the one after its last."""
        if isinstance(share, Span):
            first, end = scalar.maximum(share.start, 0), scalar.minimum(share.stop, number(extent, int64))
            return self.value(simplify_index(first)), self.value(simplify_index(end))
        units = extent // share.unit
        first, after = (p * units // share.count * share.unit for p in (share.part, share.part + 1))
        end = scalar.select(scalar.eq(share.part, share.count - 1), number(extent, int64), after)
        return self.value(simplify_index(first)), self.value(simplify_index(end))


def changed(body: tuple[Stmt, ...]) -> set[Local | str]:
    """Return the locals and buffers that get new values."""
    return {*updated(body), *(s.buffer for s in inside(body) if isinstance(s, Store))}
