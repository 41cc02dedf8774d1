"""`tf.contrib.framework`: variables set from a checkpoint after they were initialised."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import staticgraph as sg
from staticgraph.compiler.graph.errors import misuse
from staticgraph.formats.tf.checkpoints.checkpoint_reader import NewCheckpointReader
from staticgraph.tf1.compat.legacy import logging


def _found(
    reader: NewCheckpointReader, model_path: str, var_list: Any, ignore_missing_vars: bool
) -> dict[str, Any]:
    """Variables by the names of their tensors; without those that are not there, if they may be missing."""
    if not var_list:
        raise misuse(ValueError, "assign_from_checkpoint: var_list is empty")
    by_name = dict(var_list) if isinstance(var_list, Mapping) else {var.op.name: var for var in var_list}
    missing = [name for name in by_name if not reader.has_tensor(name)]
    for name in missing if ignore_missing_vars else ():
        logging.warning("Variable %s missing in checkpoint %s", name, model_path)
        del by_name[name]
    return by_name


def assign_from_checkpoint(
    model_path: str, var_list: Any, ignore_missing_vars: bool = False
) -> tuple[sg.Operation, dict[Any, Any]]:
    """An operation that sets variables from a checkpoint, and what to feed to it.

    `var_list` is a list, or a dict from the names of tensors. ValueError for an empty one, and for a tensor
    of another shape; NotFoundError for a tensor that the checkpoint lacks, unless these are ignored.
    """
    reader = NewCheckpointReader(model_path)
    assigned, feeds = [], {}
    for name, var in _found(reader, model_path, var_list, ignore_missing_vars).items():
        value = reader.get_tensor(name)
        if not var.shape.is_compatible_with(value.shape):
            text = f"variable {var.op.name} has shape {var.shape}, and {name!r} there {value.shape}"
            raise misuse(ValueError, text, made=[("it", var.op.where)])
        given = sg.placeholder(var.dtype, value.shape)
        feeds[given] = value
        assigned.append(var.assign(given))
    return sg.group(*assigned), feeds


def assign_from_checkpoint_fn(
    model_path: str, var_list: Any, ignore_missing_vars: bool = False, reshape_variables: bool = False
) -> Callable[[Any], None] | None:
    """A function of a session that sets variables from a checkpoint; None if no variable is left.

    With `reshape_variables`, a tensor need only have the right number of elements.
    """
    if ignore_missing_vars:
        var_list = _found(NewCheckpointReader(model_path), model_path, var_list, ignore_missing_vars)
    if not var_list:
        logging.warning("No Variables to restore")
        return None
    saver = sg.train.Saver(var_list, reshape=reshape_variables)
    return lambda session: saver.restore(session, model_path)
