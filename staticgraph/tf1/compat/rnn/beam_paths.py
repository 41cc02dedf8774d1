"""`tf.contrib.seq2seq`: batches of several candidates each, and the ways back through their history."""

from __future__ import annotations

from typing import Any

import staticgraph as sg
from staticgraph.building import nest
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.recording.op_count import counted_as
from staticgraph.formats.tf.graph_def.nodes import Node, reads

__all__ = ["gather_tree", "gather_tree_from_array", "tile_batch"]


def tile_batch(t: Any, multiplier: int, name: str | None = None) -> Any:
    """Each row of a tensor, or of all tensors of a structure, `multiplier` times, one after the other.

    >>> import staticgraph as sg
    >>> from staticgraph.tf1.compat.rnn.beam_paths import tile_batch
    >>> sg.Session().run(tile_batch(sg.constant([1, 2]), 3)).tolist()
    [1, 1, 1, 2, 2, 2]
    """
    with sg.name_scope(name, "tile_batch"):
        return nest.map_structure(lambda each: _tiled(sg.convert_to_tensor(each, name="t"), multiplier), t)


def _tiled(t: sg.Tensor, multiplier: int) -> sg.Tensor:
    rank = t.shape.ndims
    if not rank:
        raise misuse(ValueError, f"tile_batch: {t.name} of shape {t.shape} has no batch axis")
    with counted_as(t.graph, 19):  # TensorFlow works out the size of the batch
        wide = sg.tile(sg.expand_dims(t, 1), [1, multiplier, *[1] * (rank - 1)])
        made = sg.reshape(wide, sg.concat([[-1], sg.shape(t)[1:]], 0))
    batch = t.shape[0].value
    made.set_shape([None if batch is None else batch * multiplier, *t.shape[1:].as_list()])
    return made


def rows_at(x: sg.Tensor, indices: sg.Tensor) -> sg.Tensor:
    """For `x` [batch, n, ...] the rows at `indices` [batch, beams] along its second axis."""
    sizes = sg.shape(x)
    at = indices + sg.expand_dims(sg.range(sizes[0]) * sizes[1], 1)
    rows = sg.gather(sg.reshape(x, sg.concat([[-1], sizes[2:]], 0)), sg.reshape(at, [-1]))
    made = sg.reshape(rows, sg.concat([sg.shape(indices), sizes[2:]], 0))
    made.set_shape(indices.shape.concatenate(x.shape[2:]))
    return made


def gather_tree(
    step_ids: Any, parent_ids: Any, max_sequence_lengths: Any, end_token: Any, name: str | None = None
) -> sg.Tensor:
    """The symbols of whole candidates [time, batch, beams]: from the symbols of each step, and the candidate
    of the step before that each belongs to.

    After `max_sequence_lengths` [batch], and after the first `end_token`, all are `end_token`.
    """
    with sg.name_scope(name, "GatherTree"):
        step_ids, parent_ids = sg.convert_to_tensor(step_ids), sg.convert_to_tensor(parent_ids)
        lengths = sg.convert_to_tensor(max_sequence_lengths)
        steps, batch, beams = (sg.shape(step_ids)[axis] for axis in range(3))
        end = sg.convert_to_tensor(end_token, dtype=step_ids.dtype)
        ids = sg.TensorArray(step_ids.dtype, size=steps).unstack(step_ids)
        parents = sg.TensorArray(sg.int32, size=steps).unstack(parent_ids)

        def back(time: sg.Tensor, beam: sg.Tensor, paths: sg.TensorArray) -> Any:
            inside = sg.expand_dims(time < lengths, 1)
            found = sg.where_v2(inside, rows_at(ids.read(time), beam), end)
            before = sg.where_v2(inside, rows_at(parents.read(time), beam), beam)
            return time - 1, before, paths.write(time, found)

        first = sg.tile(sg.expand_dims(sg.range(beams), 0), sg.stack([batch, 1]))
        first.set_shape(step_ids.shape[1:])
        _, _, paths = sg.while_loop(
            lambda time, *_: time >= 0, back, (steps - 1, first, sg.TensorArray(step_ids.dtype, size=steps))
        )
        found = paths.stack()
        ended = sg.cumsum(sg.cast(sg.equal(found, end), sg.int32), axis=0, exclusive=True) > 0
        made = sg.where_v2(ended, end, found)
        made.set_shape(step_ids.shape)
        return made


@reads("GatherTree")
def _read_gather_tree(node: Node) -> Any:
    ids, parents, lengths, end = node.tensors
    return sg.identity(gather_tree(ids, parents, lengths, end), name=node.out)


def gather_tree_from_array(t: Any, parent_ids: Any, sequence_length: Any) -> sg.Tensor:
    """Rows `t` [time, batch, beams, ...], or with the last two axes as one, in the order of whole candidates.

    `sequence_length` [batch, beams]: after it the order stays.
    """
    t, parent_ids = sg.convert_to_tensor(t), sg.convert_to_tensor(parent_ids)
    steps, batch, beams = (sg.shape(parent_ids)[axis] for axis in range(3))
    own = sg.tile(sg.reshape(sg.range(beams), [1, 1, -1]), sg.stack([steps, batch, 1]))
    longest = sg.cast(sg.reduce_max(sequence_length, 1), sg.int32)
    order = gather_tree(own, parent_ids, longest, beams + 1)
    inside = sg.transpose(sg.sequence_mask(sequence_length, steps), [2, 0, 1])
    order = sg.reshape(sg.where(inside, order, own), sg.stack([steps * batch, beams]))
    rows = sg.reshape(t, sg.stack([steps * batch, beams, -1]))
    return sg.reshape(rows_at(rows, order), sg.shape(t))
