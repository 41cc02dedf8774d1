"""Machine code that `Session.run` calls first: it finds the callable of a run, and calls it.

A training script passes the same objects each time: tensors, operations, or a list of them, and a dict whose
keys are the same placeholders. So previous runs are looked up by identity, by the fetches and the keys of the
feeds in their order. The callable then gets the values of the feeds. If no run matches, or if the graph has
grown since the last look at it, the code returns NotImplemented, and Python takes the slow path.
"""

from __future__ import annotations

from staticgraph.compiler.codegen.native.builder import Writer, exported, function
from staticgraph.compiler.codegen.native.c_types import BOOL, INT64, pointer
from staticgraph.compiler.codegen.native.dispatch_layout import (
    OBJECT,
    ArrayObject,
    Host,
    Known,
    List,
    Run,
    Tuple,
)
from staticgraph.compiler.codegen.native.results import drop
from staticgraph.compiler.codegen.native.values import NULL, Register

_HOST, _RUN, _OBJECTS = pointer(Host), pointer(Run), pointer(OBJECT)


@function(BOOL, _OBJECTS, _OBJECTS, INT64)
def same(w: Writer, some: Register, others: Register, count: Register) -> None:
    """Return true if so many objects are the same."""
    with w.range(count) as i, w.if_(some[i] != others[i]):
        w.return_(False)
    w.return_(True)


@function(BOOL, _HOST, _RUN, OBJECT)
def fetched(w: Writer, host: Register, run: Register, fetches: Register) -> None:
    """Return true if a run is of these fetches: one object, or a list or tuple of the same ones."""
    wanted, kind, count = run.fetches, run.kind, run.fetch_count
    with w.if_(kind == NULL):
        w.return_(fetches == wanted[0])
    with w.if_(fetches.type != kind):
        w.return_(False)
    list, tuple = fetches.to(pointer(List)), fetches.to(pointer(Tuple))
    with w.if_(list.size != count):  # at the same place in both
        w.return_(False)
    items = w.select(kind == host.list, list.items, tuple.items)
    w.return_(same(w, items, wanted, count))


@function(BOOL, _HOST, _RUN, OBJECT, _OBJECTS, pointer(INT64))
def fed(w: Writer, host: Register, run: Register, feeds: Register, values: Register, taken: Register) -> None:
    """Return true if the keys of `feeds`, a dict or None, are those of a run. `values` then has its values.

    They are references to be given up; if the keys are others, so are the `taken` ones that are there.
    """
    keys, count, next_of_dict, incref = run.keys, run.key_count, host.next_of_dict, host.incref
    taken[0] = 0
    with w.if_(feeds == host.none):
        w.return_(count == 0)
    place, key, value = w.stack(INT64), w.stack(OBJECT), w.stack(OBJECT)
    place[0] = 0
    at = w.locals(i=w.constant(INT64, 0))
    with w.while_(lambda: next_of_dict(feeds, place, key, value) != 0):
        with w.if_(at.i == count):
            w.return_(False)
        with w.if_(key[0] != keys[at.i]):
            w.return_(False)
        incref(value[0])
        values[at.i] = value[0]
        at.i += 1
        taken[0] = at.i
    w.return_(at.i == count)


@exported(OBJECT, pointer(ArrayObject), _OBJECTS, INT64, OBJECT)
def find(w: Writer, self: Register, args: Register, nargs: Register, kwnames: Register) -> None:
    """Call what a session knows for these fetches and these feeds, or None. Else return NotImplemented."""
    known = self.data.to(pointer(Known))
    host, none = known.host, known.host.none
    taken = w.stack(INT64)
    values = w.stack(OBJECT, known.most_keys + 1)
    as_ever = known.recorded.size == known.size
    with w.if_((nargs == 2) & (kwnames == NULL) & as_ever):
        fetches, feeds = args[0], args[1]
        with w.if_((feeds == none) | (feeds.type == host.dict)):
            at = w.locals(run=known.first)
            with w.while_(lambda: at.run != NULL):
                run = at.run
                at.run = run.next
                count, call = run.key_count, run.call
                with w.if_(~fetched(w, host, run, fetches)):
                    w.continue_()
                with w.if_(~fed(w, host, run, feeds, values, taken)):
                    drop(w, host, values, taken[0])
                    w.continue_()
                host.incref(call)
                values[count] = call
                made = host.vectorcall(call, values, count, NULL)
                drop(w, host, values, count + 1)
                w.return_(made)
    unknown = host.not_implemented
    host.incref(unknown)
    w.return_(unknown)
