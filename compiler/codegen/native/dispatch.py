"""The function that Python calls to run a step: it checks what is fed, runs native code, makes results.

One function serves all callables of a process. It has the calling convention of built-in functions, `ptr (ptr
self, ptr args, i64 nargs, ptr kwnames)`, and finds everything else in the records of `dispatch_layout`: no
address is a part of its text. It runs the first binding whose feeds fit. If none does, nothing has happened
yet, and the head's fallback, a Python function, is called with the same arguments.
"""

from __future__ import annotations

from staticgraph.compiler.codegen.native.builder import Writer, exported, function
from staticgraph.compiler.codegen.native.c_types import BOOL, INT32, INT64, VOID, pointer
from staticgraph.compiler.codegen.native.dispatch_layout import (
    OBJECT,
    UNSOUND,
    ArrayObject,
    Binding,
    Head,
    Host,
    State,
)
from staticgraph.compiler.codegen.native.feeds import is_expected, read_array, read_scalar
from staticgraph.compiler.codegen.native.results import (
    arrange,
    drop,
    free_block,
    make_scalars,
    place_results,
)
from staticgraph.compiler.codegen.native.values import NULL, Register

_HOST, _HEAD, _BINDING, _STATE = pointer(Host), pointer(Head), pointer(Binding), pointer(State)
_OBJECTS = pointer(OBJECT)


@function(BOOL, _HOST, _BINDING, _OBJECTS, INT64, BOOL)
def accepts(
    w: Writer, host: Register, binding: Register, args: Register, nargs: Register, locked: Register
) -> None:
    """Return true if a binding can run now with these arguments. The table then leads to them."""
    state = binding.state
    current = state.version == binding.version
    free = ((state.owner[0] | binding.long) == 0) | locked
    with w.if_(~(current & free & (nargs == binding.feed_count))):
        w.return_(False)
    connected = binding.connected
    with w.if_(connected != NULL), w.if_(connected[0] == 0):
        w.return_(False)
    feeds, ndarray = binding.feeds, host.ndarray
    with w.range(nargs) as i:
        feed, value = feeds[i], args[i]
        type = value.type
        at = w.locals(fits=w.constant(BOOL, False))
        with w.if_(type == ndarray):
            at.fits = read_array(w, feed, value.to(pointer(ArrayObject)))
        with w.else_():
            at.fits = read_scalar(w, host, feed, value, type)
        with w.if_(~at.fits):
            w.return_(False)
        with w.if_(~is_expected(w, feed)):
            w.return_(False)
    with w.each(binding.results, binding.result_count) as result:
        blocks = result.blocks
        with w.if_(blocks != NULL), w.if_(free_block(w, result, blocks) == NULL):
            w.return_(False)
    w.return_(True)


@function(VOID, _BINDING)
def place_variables(w: Writer, binding: Register) -> None:
    """Put the present addresses of variables into the table."""
    with w.each(binding.variables, binding.variable_count) as variable:
        variable.slot[0] = variable.holder[0]


@function(VOID, _BINDING)
def commit(w: Writer, binding: Register) -> None:
    """Exchange the sides of variables that a step did not overwrite, and advance states of random ops."""
    with w.each(binding.flips, binding.flip_count) as cell:
        cell.front, cell.back = cell.back, cell.front
    with w.each(binding.counters, binding.counter_count) as counter:
        number = counter.number
        number[0] += counter.step


@function(BOOL, _HOST, _BINDING)
def hold(w: Writer, host: Register, binding: Register) -> None:
    """Hold the session of a binding if no other thread does and the thread pool is ready.

    Returns true if the session is held.
    """
    ready, state = binding.ready, binding.state
    with w.if_(ready != NULL), w.if_(ready[0] == 0):
        w.return_(False)
    blocking = w.stack(OBJECT)
    blocking[0] = host.false
    answer = host.vectorcall(state.acquire, blocking, 1, NULL)
    host.decref(answer)
    with w.if_(answer != host.true):
        w.return_(False)
    w.return_(True)


@function(VOID, _HOST, _STATE)
def let_go(w: Writer, host: Register, state: Register) -> None:
    """Hold the session no longer. An error that was set stays so."""
    kind, error, trace = w.stack(OBJECT), w.stack(OBJECT), w.stack(OBJECT)
    host.fetch_error(kind, error, trace)
    host.decref(host.vectorcall(state.release, NULL, 0, NULL))
    host.restore_error(kind[0], error[0], trace[0])


@function(OBJECT, _HEAD, _OBJECTS, INT64, OBJECT)
def fall_back(w: Writer, head: Register, args: Register, nargs: Register, kwnames: Register) -> None:
    """Return what Python makes of these arguments; NotImplemented if the head has no fallback."""
    host, fallback = head.host, head.fallback
    with w.if_(fallback != NULL):
        w.return_(host.vectorcall(fallback, args, nargs, kwnames))
    answer = host.not_implemented
    host.incref(answer)
    w.return_(answer)


@function(VOID, _HOST, _BINDING, _OBJECTS, INT64)
def raise_failure(w: Writer, host: Register, binding: Register, args: Register, nargs: Register) -> None:
    """Have Python raise the error of a run with collectives. One that is set already, by a signal, stays."""
    kind, error, trace = w.stack(OBJECT), w.stack(OBJECT), w.stack(OBJECT)
    host.fetch_error(kind, error, trace)
    host.vectorcall(binding.failed, args, nargs, NULL)
    with w.if_(kind[0] != NULL):
        host.restore_error(kind[0], error[0], trace[0])


@function(OBJECT, _HEAD, _BINDING, _OBJECTS, INT64)
def run(w: Writer, head: Register, binding: Register, args: Register, nargs: Register) -> None:
    """Run a binding that accepts. Returns what the caller gets, or null.

    If a check of the step fails, nothing has happened, and Python is to find out why.
    """
    host, count = head.host, binding.result_count
    values = w.stack(OBJECT, count)
    with w.if_(~place_results(w, host, binding, values, count)):
        w.return_(NULL)
    place_variables(w, binding)
    entry, table, calls = binding.entry, binding.table, binding.calls
    calls[0] += 1
    at = w.locals(status=w.constant(INT32, 0))
    with w.if_(binding.long == 0):
        at.status = entry(table)
    with w.else_():
        restore = host.restore_thread
        thread = host.save_thread()
        at.status = entry(table)
        restore(thread)
    with w.if_(at.status != 0):
        with w.if_(binding.failed != NULL):
            raise_failure(w, host, binding, args, nargs)
            w.return_(NULL)  # and keep the values: MPI may still write to them
        drop(w, host, values, count)
        with w.if_(at.status == UNSOUND):
            w.return_(fall_back(w, head, args, nargs, NULL))
        w.return_(NULL)
    commit(w, binding)
    with w.if_(~make_scalars(w, host, binding, values, count)):
        w.return_(NULL)
    made = arrange(w, host, binding, values)
    drop(w, host, values, count)
    w.return_(made)


@exported(OBJECT, pointer(ArrayObject), _OBJECTS, INT64, OBJECT)
def dispatch(w: Writer, self: Register, args: Register, nargs: Register, kwnames: Register) -> None:
    """Run the first binding that accepts the arguments, else fall back."""
    head = self.data.to(_HEAD)
    host = head.host
    with w.if_(kwnames != NULL):
        w.return_(fall_back(w, head, args, nargs, kwnames))
    at = w.locals(binding=head.chain[0], held=head.locked != 0, mine=w.constant(_STATE, NULL))
    with w.while_(lambda: at.binding != NULL):
        binding = at.binding
        with w.if_((binding.long != 0) & ~at.held):
            with w.if_(~hold(w, host, binding)):
                w.break_()
            at.held, at.mine = True, binding.state
        with w.if_(accepts(w, host, binding, args, nargs, at.held)):
            made = run(w, head, binding, args, nargs)
            with w.if_(at.mine != NULL):
                let_go(w, host, at.mine)
            w.return_(made)
        at.binding = binding.next
    with w.if_(at.mine != NULL):
        let_go(w, host, at.mine)
    w.return_(fall_back(w, head, args, nargs, kwnames))
