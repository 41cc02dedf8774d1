"""Reading of checkpoints without a session, and variables whose initial values come from a checkpoint."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from staticgraph.building.framework import init_scope, name_scope
from staticgraph.building.inputs import constant
from staticgraph.compiler import ops
from staticgraph.compiler.graph.checks.arguments import path_of
from staticgraph.compiler.graph.errors import NotFoundError, misuse
from staticgraph.compiler.support.nearest import nearest_name
from staticgraph.formats.tf.checkpoints.checkpoint_state import latest_checkpoint
from staticgraph.formats.tf.checkpoints.vocabularies import VocabInfo
from staticgraph.formats.tf.tensor_bundle import tensors_of
from staticgraph.runtime.files import container
from staticgraph.runtime.files.arrays import safetensors
from staticgraph.runtime.files.checkpoint import checkpoint_file
from staticgraph.runtime.files.values import Part, owned
from staticgraph.state.variable_lists import global_variables, trainable_variables
from staticgraph.state.variables import Variable, parts_of

_WEIGHTS = "weights.safetensors"


class NewCheckpointReader:
    """The tensors of the checkpoint with the prefix `filepattern`, by name.

    It may be one of ours, or one that TensorFlow wrote. NotFoundError if there is no such checkpoint,
    InvalidFileError for a damaged one.
    """

    def __init__(self, filepattern: str) -> None:
        def take(_: dict[str, Any], members: dict[str, memoryview]) -> dict[str, Any]:
            found = safetensors.read(members[_WEIGHTS], _WEIGHTS)
            return {name: (stored[0], owned(stored)) for name, stored in found.items()}

        self._prefix = path_of(filepattern, "filepattern")
        theirs = tensors_of(self._prefix)
        if theirs is not None:
            self._stored = dict(theirs)
            return
        self._stored = container.read(checkpoint_file(filepattern), "checkpoint", {}, (_WEIGHTS,), take)

    def get_variable_to_shape_map(self) -> dict[str, list[int]]:
        """The shapes."""
        return {name: list(array.shape) for name, (_, array) in self._stored.items()}

    def get_variable_to_dtype_map(self) -> dict[str, Any]:
        """The dtypes."""
        return {name: dtype for name, (dtype, _) in self._stored.items()}

    def has_tensor(self, tensor_str: str) -> bool:
        """Return True if the checkpoint has a tensor of this name.

        Args:
            tensor_str: The name.
        """
        return tensor_str in self._stored

    def get_tensor(self, tensor_str: str) -> np.ndarray:
        """A tensor. NotFoundError if there is none of that name."""
        if tensor_str not in self._stored:
            close = nearest_name(tensor_str, self._stored)
            text = f"checkpoint {self._prefix} has no tensor {tensor_str!r}"
            hint = f"it has {close!r}" if close else None
            raise misuse(NotFoundError, text, hint)
        return np.array(self._stored[tensor_str][1])

    def debug_string(self) -> bytes:
        """A line for each tensor: its name, dtype and shape."""
        lines = [
            f"{name} ({dtype.name}) {list(a.shape)}" for name, (dtype, a) in sorted(self._stored.items())
        ]
        return "\n".join(lines).encode()


def load_checkpoint(ckpt_dir_or_file: str) -> NewCheckpointReader:
    """The reader of a checkpoint, or of the latest one in a folder. ValueError if a folder has none."""
    if not os.path.isdir(ckpt_dir_or_file):
        return NewCheckpointReader(ckpt_dir_or_file)
    prefix = latest_checkpoint(ckpt_dir_or_file)
    if prefix is None:
        raise misuse(ValueError, f"the folder {ckpt_dir_or_file} has no checkpoint")
    return NewCheckpointReader(prefix)


def load_variable(ckpt_dir_or_file: str, name: str) -> np.ndarray:
    """One tensor of a checkpoint. NotFoundError if there is none of that name.

    >>> import os, staticgraph as sg, tempfile
    >>> w = sg.Variable([1.0, 2.0], name="w")
    >>> with sg.Session() as sess:
    ...     _ = sess.run(sg.global_variables_initializer())
    ...     path = sg.train.Saver().save(sess, os.path.join(tempfile.mkdtemp(), "model"))
    >>> sg.train.list_variables(path), sg.train.load_variable(path, "w")
    ([('w', [2])], array([1., 2.], dtype=float32))
    """
    return load_checkpoint(ckpt_dir_or_file).get_tensor(name.removesuffix(":0"))


def list_variables(ckpt_dir_or_file: str) -> list[tuple[str, list[int]]]:
    """Names and shapes of the tensors in a checkpoint, sorted."""
    return sorted(load_checkpoint(ckpt_dir_or_file).get_variable_to_shape_map().items())


def init_from_checkpoint(ckpt_dir_or_file: str, assignment_map: Mapping[str, Any]) -> None:
    """Make variables begin as tensors of a checkpoint do: their initializers are replaced.

    `assignment_map` maps a tensor's name to a variable or its name; or a scope of the checkpoint, "a/" or
    "/", to one of the graph, for all variables in that. Call it before `global_variables_initializer()`.
    ValueError for a tensor that the checkpoint lacks, and for one of another shape.
    """
    reader = load_checkpoint(ckpt_dir_or_file)
    for key, target in sorted(assignment_map.items(), key=lambda item: item[0]):
        for variable, tensor_name in _pairs(key, target):
            _begin_as(variable, reader, tensor_name)


def warm_start(
    ckpt_to_initialize_from: str,
    vars_to_warm_start: Any = ".*",
    var_name_to_vocab_info: Mapping[str, VocabInfo] | None = None,
    var_name_to_prev_var_name: Mapping[str, str] | None = None,
) -> None:
    """`init_from_checkpoint` for trainable variables whose name begins with a pattern, or for those in a
    list.

    A pattern sees names with their `:0`, as in TensorFlow: `w[^/]` chooses `w` and not `w/Momentum`.

    Args:
        ckpt_to_initialize_from: The prefix of a checkpoint, or a folder with checkpoints.
        vars_to_warm_start: A regular expression for trainable variables, a list of expressions for all
            variables, or a list of variables. None: trainable variables that have a vocabulary.
        var_name_to_vocab_info: Map from the name of a variable to a `VocabInfo`, if the words that its rows
            stand for have changed.
        var_name_to_prev_var_name: Map from names in the graph to names in the checkpoint, where they differ.

    Raises:
        ValueError: If the checkpoint lacks a tensor, one has another shape, or a map has the name of a
            variable that is not chosen.
    """
    reader = load_checkpoint(ckpt_to_initialize_from)
    earlier, vocabularies = var_name_to_prev_var_name or {}, var_name_to_vocab_info or {}
    chosen = [(_saved_name(var), var) for var in _chosen(vars_to_warm_start or ".*")]
    for label, given in ("var_name_to_prev_var_name", earlier), ("var_name_to_vocab_info", vocabularies):
        if unused := sorted(set(given) - {name for name, _ in chosen}):
            text = f"warm_start: {label} has {unused}, and no such variable is warm-started"
            raise misuse(ValueError, text, f"these are: {sorted({name for name, _ in chosen})}")
    for name, variable in chosen:
        if vars_to_warm_start or name in vocabularies:
            _begin_as(variable, reader, earlier.get(name, name), vocabularies.get(name))


def _chosen(wanted: Any) -> list[Variable]:
    if isinstance(wanted, str):
        return [var for var in trainable_variables() if re.match(wanted, var.name)]
    if all(isinstance(each, str) for each in wanted):
        return [var for var in global_variables() if any(re.match(each, var.name) for each in wanted)]
    return list(wanted)


def _pairs(key: str, target: Any) -> Iterator[tuple[Variable, str]]:
    """Variables and the names of the tensors that they begin as."""
    if not isinstance(target, str):
        yield from ((var, key) for var in (target if isinstance(target, list | tuple) else parts_of(target)))
        return
    by_name: dict[str, list[Variable]] = {}
    for var in global_variables():
        by_name.setdefault(_saved_name(var), []).append(var)
    if target in by_name:
        yield from ((var, key) for var in by_name[target])
        return
    if not key.endswith("/"):
        text = f"init_from_checkpoint: there is no variable {target!r} for tensor {key!r}"
        raise misuse(ValueError, text, 'scopes end in a slash: {"old/": "new/"}')
    scope = target.rpartition("/")[0]
    for name, variables in by_name.items():
        if not scope or name.startswith(f"{scope}/"):
            within = name[len(scope) :].lstrip("/")
            yield from ((var, within if key == "/" else key + within) for var in variables)


def _saved_name(variable: Variable) -> str:
    """The name under which a Saver saves a variable: for a part of a larger one, that of the whole."""
    info = variable._get_save_slice_info()
    return variable.op.name if info is None else info.full_name


def _begin_as(
    variable: Variable, reader: NewCheckpointReader, tensor_name: str, words: VocabInfo | None = None
) -> None:
    if not reader.has_tensor(tensor_name):
        known: Sequence[str] = list(reader.get_variable_to_shape_map())
        close = nearest_name(tensor_name, known)
        text = f"variable {variable.op.name}: checkpoint {reader._prefix} has no tensor {tensor_name!r}"
        hint = f"it has {close!r}" if close else None
        raise misuse(ValueError, text, hint, made=[("it", variable.op.where)])
    value = reader.get_tensor(tensor_name)
    taken = None
    if words is not None:
        value, taken = words.taken_from(value, variable.op.name)
    if (info := variable._get_save_slice_info()) is not None and list(value.shape) == info.full_shape:
        box = Part.of(info.full_shape, info.var_offset, info.var_shape).box
        value, taken = value[box], None if taken is None else taken[box]
    if not variable.shape.is_compatible_with(value.shape):
        text = (
            f"variable {variable.op.name} has shape {variable.shape}, and {tensor_name!r} has {value.shape}"
        )
        raise misuse(ValueError, text, made=[("it", variable.op.where)])
    with variable.graph.as_default(), init_scope(), name_scope(f"{variable.op.name}/"):
        initial = constant(value, variable.dtype, name="checkpoint_initializer")
        if words is not None and taken is not None:
            initial = ops.select(taken, initial, words.begun(value.shape, variable.dtype))
        variable._initial_value = initial
        variable._initializer = ops.assign(variable.handle, initial, name="Assign").op
