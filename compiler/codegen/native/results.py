"""Making what a run returns: arrays before it, numbers after it, then the structure of both."""

from __future__ import annotations

from staticgraph.compiler.codegen.native.builder import Writer, function
from staticgraph.compiler.codegen.native.c_types import BOOL, INT32, INT64, VOID, pointer
from staticgraph.compiler.codegen.native.dispatch_layout import (
    ALIGNED,
    CONTIGUOUS,
    OBJECT,
    WRITEABLE,
    ArrayObject,
    Binding,
    Block,
    Host,
    Result,
    ResultForm,
)
from staticgraph.compiler.codegen.native.values import NULL, Register

_HOST, _BINDING, _RESULT, _BLOCKS = pointer(Host), pointer(Binding), pointer(Result), pointer(Block)
_OBJECTS = pointer(OBJECT)


@function(VOID, _HOST, _OBJECTS, INT64)
def drop(w: Writer, host: Register, objects: Register, count: Register) -> None:
    """Give up references; some may be null."""
    decref = host.decref
    with w.each(objects, count) as object:
        decref(object)


@function(_BLOCKS, _RESULT, _BLOCKS)
def free_block(w: Writer, result: Register, blocks: Register) -> None:
    """Return a block of the right size that nobody can see any more, or null."""
    size = result.bytes
    with w.each(blocks, 2) as block, w.if_(block.bytes == size), w.if_(block.owner.references == 1):
        w.return_(block)
    w.return_(NULL)


@function(OBJECT, _HOST, _RESULT)
def place_result(w: Writer, host: Register, result: Register) -> None:
    """Return a new array for a result, or null if memory is out.

    Null too for no axes: the value then has a fixed place.
    """
    slot, value = result.slot, result.value
    with w.if_(value != NULL):
        slot[0] = value
        w.return_(NULL)
    ndarray, descr, ndim, dims = host.ndarray, result.descr, result.ndim.to(INT32), result.dims
    host.incref(descr)
    blocks = result.blocks
    at = w.locals(array=w.constant(OBJECT, NULL))
    with w.if_(blocks == NULL):
        at.array = host.new_array(ndarray, descr, ndim, dims, NULL, NULL, 0, NULL)
    with w.else_():
        block = free_block(w, result, blocks)
        flags = CONTIGUOUS | ALIGNED | WRITEABLE
        at.array = host.new_array(ndarray, descr, ndim, dims, NULL, block.data, flags, NULL)
        with w.if_(at.array != NULL):
            owner = block.owner
            host.incref(owner)
            host.set_base(at.array, owner)
    with w.if_(at.array != NULL):
        slot[0] = at.array.to(pointer(ArrayObject)).data
    w.return_(at.array)


@function(BOOL, _HOST, _BINDING, _OBJECTS, INT64)
def place_results(w: Writer, host: Register, binding: Register, values: Register, count: Register) -> None:
    """Return true if all results have a place. `values` then has the arrays."""
    results = binding.results
    with w.range(count) as i:
        array = place_result(w, host, results[i])
        values[i] = array
        with w.if_((array == NULL) & (results[i].value == NULL)):
            drop(w, host, values, i)
            w.return_(False)
    w.return_(True)


@function(BOOL, _HOST, _BINDING, _OBJECTS, INT64)
def make_scalars(w: Writer, host: Register, binding: Register, values: Register, count: Register) -> None:
    """Return true if `values` now has the results without axes too."""
    results = binding.results
    with w.range(count) as i:
        result = results[i]
        value = result.value
        with w.if_(value != NULL):
            scalar = host.new_scalar(value, result.descr, NULL)
            values[i] = scalar
            with w.if_(scalar == NULL):
                drop(w, host, values, count)
                w.return_(False)
    w.return_(True)


@function(VOID, _HOST, _BINDING, _OBJECTS, _OBJECTS, INT64)
def gather(
    w: Writer, host: Register, binding: Register, values: Register, outputs: Register, count: Register
) -> None:
    """Put new references to the outputs there, in their order."""
    none, incref, numbers = host.none, host.incref, binding.outputs
    with w.range(count) as i:
        number = numbers[i]
        at = w.locals(object=none)
        with w.if_(number >= 0):
            at.object = values[number]
        incref(at.object)
        outputs[i] = at.object
    w.return_()


@function(OBJECT, _HOST, _OBJECTS, INT64, BOOL)
def collect(w: Writer, host: Register, objects: Register, count: Register, tuple: Register) -> None:
    """Return a list or tuple that takes over the references in `objects`, or null."""
    set_item = w.select(tuple, host.set_tuple, host.set_list)
    made = w.select(tuple, host.new_tuple, host.new_list)(count)
    with w.if_(made == NULL):
        drop(w, host, objects, count)
        w.return_(NULL)
    with w.range(count) as i:
        set_item(made, i, objects[i])
    w.return_(made)


@function(OBJECT, _HOST, _BINDING, _OBJECTS)
def arrange(w: Writer, host: Register, binding: Register, values: Register) -> None:
    """Return what the caller gets, or null.

    Making a list may run Python code, which may drop the binding: from then on nothing of it is read.
    """
    form, assemble, count = binding.form, binding.assemble, binding.output_count
    outputs = w.stack(OBJECT, count)
    gather(w, host, binding, values, outputs, count)
    with w.if_(form == ResultForm.SINGLE):
        w.return_(outputs[0])
    with w.if_(form == ResultForm.LIST):
        w.return_(collect(w, host, outputs, count, False))
    with w.if_(form == ResultForm.TUPLE):
        w.return_(collect(w, host, outputs, count, True))
    host.incref(assemble)
    at = w.locals(object=collect(w, host, outputs, count, False))
    call = w.stack(OBJECT, 2)  # the list, and the function
    call[0], call[1] = at.object, assemble
    with w.if_(at.object != NULL):
        at.object = host.vectorcall(assemble, call, 1, NULL)
    drop(w, host, call, 2)
    w.return_(at.object)
