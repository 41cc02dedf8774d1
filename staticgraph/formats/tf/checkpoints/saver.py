"""`Saver`: writes checkpoints of variables, keeps the last few, and restores them."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Protocol

import numpy as np

from staticgraph.building.framework import GraphKeys, get_default_graph
from staticgraph.compiler.graph.checks.arguments import path_of
from staticgraph.compiler.graph.dtypes import string
from staticgraph.compiler.graph.errors import misuse, shown
from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.graph.recording.op_count import count_more
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.compiler.ops.structural import variable_of
from staticgraph.formats.tf.checkpoints.checkpoint_state import (
    checkpoint_exists,
    get_checkpoint_mtimes,
    remove_checkpoint,
    update_checkpoint_state,
)
from staticgraph.formats.tf.log import log
from staticgraph.formats.tf.messages.meta_graph import MetaGraphDef, SaverDef
from staticgraph.formats.tf.meta_graph.meta_graph import meta_graph, write_meta_graph_file
from staticgraph.formats.tf.tensor_bundle import tensors_of, write_bundle
from staticgraph.runtime.disk.atomic import write_file
from staticgraph.runtime.files import checkpoint
from staticgraph.runtime.files.arrays.safetensors import Stored
from staticgraph.runtime.files.values import Parts, Saved, collect, operations_of
from staticgraph.runtime.session import Session
from staticgraph.state.variables import SaveSliceInfo

_V2 = SaverDef.CheckpointFormatVersion.Value("V2")  # how TensorFlow is to read checkpoints


class _Unasked(int):
    """TensorFlow's default, where nobody asked for it: then checkpoints are in a format of our own."""


_OUR_OWN = _Unasked(_V2)


class Saveable(Protocol):
    """State of a session besides variables, such as the entries of a lookup table."""

    name: str

    def saved(self, resources: Any) -> dict[str, Stored]:
        """The arrays of a checkpoint, by name."""
        ...

    def fitting(self, prefix: str, found: Mapping[str, Stored]) -> Any:
        """Return what `restore` takes, from the arrays of a checkpoint; the errors of `Saver.restore`."""
        ...

    def restore(self, entries: Any, resources: Any) -> None:
        """Set the state in a session."""
        ...


class Saver:
    """Saves and restores variables of a graph, and mutable lookup tables.

    `var_list`: a list of variables, or a dict from the names that they have in checkpoints; all global
    variables and mutable tables by default. A partitioned variable is one entry, under its own name.
    `max_to_keep`: older checkpoints than the last so many are removed; None or 0 keeps
    all. `keep_checkpoint_every_n_hours`: one per so many hours is kept besides. `reshape`: restored values
    need only have the right number of elements. `pad_step_number`: steps in file names have eight digits.
    `save_relative_paths`: the file `checkpoint` names paths relative to itself. `write_version`: where it is
    given, checkpoints are TensorFlow's, in its second format (`model.index` and `model.data-00000-of-00001`);
    else, unless tables hold strings, a checkpoint is one file in a format of our own. All formats are
    restored, its first one too. The other parameters are those of TensorFlow and change nothing: a checkpoint
    is written in one go, and nothing is added to the graph.

    ValueError if there is no variable to save, TypeError for what is no variable.

    >>> import os, staticgraph as sg, tempfile
    >>> w = sg.Variable([1.0, 2.0], name="w")
    >>> saver = sg.train.Saver()
    >>> with sg.Session() as sess:
    ...     _ = sess.run(sg.global_variables_initializer())
    ...     path = saver.save(sess, os.path.join(tempfile.mkdtemp(), "model"), global_step=100)
    >>> with sg.Session() as sess:
    ...     saver.restore(sess, path)
    ...     print(os.path.basename(path), sess.run(w))
    model-100 [1. 2.]
    """

    def __init__(
        self,
        var_list: Any = None,
        reshape: bool = False,
        sharded: bool = False,
        max_to_keep: int | None = 5,
        keep_checkpoint_every_n_hours: float = 10000.0,
        name: str | None = None,
        restore_sequentially: bool = False,
        saver_def: Any = None,
        builder: Any = None,
        defer_build: bool = False,
        allow_empty: bool = False,
        write_version: int = _OUR_OWN,
        pad_step_number: bool = False,
        save_relative_paths: bool = False,
        filename: str | None = None,
    ) -> None:
        if defer_build and var_list:
            raise misuse(
                ValueError, "If `var_list` is provided then build cannot be deferred: set defer_build=False"
            )
        self._var_list = var_list  # scripts print it
        self._reshape = reshape
        self._max_to_keep = max_to_keep or 0
        self._every = keep_checkpoint_every_n_hours * 3600
        self._allow_empty = allow_empty
        self._hours = keep_checkpoint_every_n_hours
        self._pad = pad_step_number
        self._relative = save_relative_paths
        self._for_tensorflow = write_version is not _OUR_OWN
        self._variables: dict[str, Saved] | None = None
        self._others: dict[str, Saveable] = {}
        self._more: dict[str, Stored] = {}  # values that belong to no variable of this process
        self._kept: list[tuple[str, float]] = []
        self._described: tuple[Any, bytes] | None = None
        self._next_kept = math.inf
        if saver_def is not None:
            self._max_to_keep = saver_def.max_to_keep
            self._hours = saver_def.keep_checkpoint_every_n_hours
            self._every = self._hours * 3600
        if not defer_build:
            self.build()

    def build(self) -> None:
        """Choose the variables: those that the graph has now, where no list was given."""
        if self._variables is not None:
            return
        given = self._var_list
        if given is None:
            graph = get_default_graph()
            given = graph.get_collection(GraphKeys.GLOBAL_VARIABLES) + graph.get_collection(
                GraphKeys.SAVEABLE_OBJECTS
            )
        if not given and not self._allow_empty:
            raise misuse(ValueError, "No variables to save", "make them before the Saver, or pass var_list")
        self._var_list = given
        self._others, rest = _apart(given)
        self._variables = _by_key(rest)
        self._next_kept = time.time() + self._every
        count = len(self._variables) + len(self._others)
        count_more(get_default_graph(), 11 + count)  # TensorFlow's operations save and restore

    @property
    def variables(self) -> dict[str, Saved]:
        """The variables by their names in checkpoints."""
        return self._built("variables")

    # Saving

    def save(
        self,
        sess: Any,
        save_path: Any,
        global_step: Any = None,
        latest_filename: str | None = None,
        meta_graph_suffix: str = "meta",
        write_meta_graph: bool = True,
        write_state: bool = True,
        strip_default_attrs: bool = False,
        save_debug_info: bool = False,
    ) -> str | None:
        """Write a checkpoint; returns its prefix, for `restore`:
        `save_path`, with `-step` where a step is given. Its folder is made where it does not exist.

        `global_step`: an integer, or a tensor or variable that holds it. `latest_filename` is the file that
        names the latest checkpoint, `checkpoint` by default; `write_state=False` leaves it alone. The graph
        of the session is written beside it, with the suffix `meta_graph_suffix`, for `import_meta_graph`; not
        with
        `write_meta_graph=False`. A checkpoint replaces one of the same name as a whole or not at all.

        SaveError, a ValueError, where the path cannot be written;
        UninitializedError for a variable without a value.
        """
        variables = self._built("save")
        _check_session(sess)
        latest_filename = latest_filename or "checkpoint"
        save_path = path_of(save_path, "save_path")
        if os.path.split(latest_filename)[0]:
            raise misuse(ValueError, "'latest_filename' must not contain path components")
        prefix = self._prefix(sess, save_path, global_step)
        if global_step is None and os.path.basename(save_path) == latest_filename:
            raise misuse(
                ValueError,
                f"'latest_filename' collides with 'save_path': {latest_filename!r} and {save_path!r}",
            )
        if not variables and not self._others:
            return None
        with suppress(OSError):  # where that is not possible, the write says what is wrong
            os.makedirs(os.path.dirname(prefix) or os.curdir, exist_ok=True)
        self._write(prefix, variables, sess)
        if write_meta_graph:
            write_file(f"{prefix}.{meta_graph_suffix}", [self._meta_graph(sess.graph, strip_default_attrs)])
        if write_state:
            self._write_state(os.path.dirname(save_path), prefix, latest_filename)
        return prefix

    def _prefix(self, sess: Session, save_path: str, global_step: Any) -> str:
        if global_step is None:
            return save_path
        step = global_step if isinstance(global_step, int | np.integer) else sess.run(global_step)
        return f"{save_path}-{int(step):08d}" if self._pad else f"{save_path}-{int(step)}"

    def _write(self, prefix: str, variables: Mapping[str, Saved], sess: Session) -> None:
        with sess.held() as store:
            others = [each.saved(store.resources) for each in self._others.values()]
            more = {**self._more, **{name: stored for each in others for name, stored in each.items()}}
            if self._for_tensorflow or any(dtype is string for dtype, _ in more.values()):
                write_bundle(prefix, {**collect(variables, store), **more})
            else:
                checkpoint.write(prefix, variables, sess, more)

    def _meta_graph(self, graph: Graph, strip_default_attrs: bool) -> bytes:
        """The message of a graph, made once for all checkpoints that are written while it is the same."""
        sizes = {key: len(graph.get_collection_ref(key)) for key in graph.get_all_collection_keys()}
        state = (graph, graph.version, sizes, strip_default_attrs)
        if self._described is None or self._described[0] != state:
            variables, told = self._built("save"), self.as_saver_def()
            made = meta_graph(graph, None, told, variables, strip_default_attrs=strip_default_attrs)
            self._described = state, made.SerializeToString()
        return self._described[1]

    def _write_state(self, folder: str, prefix: str, latest_filename: str) -> None:
        """Name the new checkpoint before an old one is removed: whenever we stop, the latest exists."""
        dropped = []
        if self._max_to_keep:
            self._kept = [(p, t) for p, t in self._kept if p != prefix] + [(prefix, time.time())]
            dropped, self._kept = self._kept[: -self._max_to_keep], self._kept[-self._max_to_keep :]
        paths = self.last_checkpoints
        if self._relative:
            prefix, *paths = (os.path.relpath(p, folder) if os.path.isabs(p) else p for p in (prefix, *paths))
        update_checkpoint_state(folder, prefix, paths, latest_filename)
        for old, written in dropped:
            self._drop(old, written)

    def _drop(self, prefix: str, written: float) -> None:
        if written > self._next_kept:
            self._next_kept += self._every
            return
        try:
            remove_checkpoint(prefix)
        except (
            OSError
        ) as error:  # the new checkpoint is written: what became of an old one must not stop training
            log.warning("the old checkpoint %s could not be removed: %s", prefix, error)

    # The graph

    def export_meta_graph(
        self,
        filename: str | None = None,
        collection_list: Sequence[str] | None = None,
        as_text: bool = False,
        export_scope: str | None = None,
        clear_devices: bool = False,
        clear_extraneous_savers: bool = False,
        strip_default_attrs: bool = False,
        save_debug_info: bool = False,
    ) -> MetaGraphDef:
        """The default graph as a message, with the collections and with what restores the variables of this
        Saver; written to `filename` too. The parameters are those of `staticgraph.train.export_meta_graph`.
        """
        if export_scope is not None:
            raise misuse(NotImplementedError, "export_meta_graph: export_scope is not supported")
        variables = self._built("export_meta_graph")
        made = meta_graph(
            get_default_graph(),
            None,
            self.as_saver_def(),
            variables,
            collection_list,
            clear_devices,
            strip_default_attrs,
        )
        if filename:
            write_meta_graph_file(filename, made, as_text)
        return made

    def as_saver_def(self) -> SaverDef:
        """Return the options for how many checkpoints are kept, as a SaverDef message."""
        return SaverDef(max_to_keep=self._max_to_keep, keep_checkpoint_every_n_hours=self._hours, version=_V2)

    @property
    def saver_def(self) -> SaverDef:
        """`as_saver_def`."""
        return self.as_saver_def()

    def to_proto(self, export_scope: str | None = None) -> SaverDef:
        """`as_saver_def`."""
        return self.as_saver_def()

    @staticmethod
    def from_proto(saver_def: SaverDef, import_scope: str | None = None) -> Saver:
        """A Saver of all variables that keeps as many checkpoints as a message says."""
        return Saver(saver_def=saver_def)

    # Restoring

    def restore(self, sess: Any, save_path: Any) -> None:
        """Set the variables from a checkpoint, all of them or none. They need not have been initialised.

        `save_path`: what `save` or `latest_checkpoint` returned, or what `Checkpoint.save` did: there the
        variables are found by the names that they had. ValueError if there is no such
        checkpoint, NotFoundError for a variable that it lacks, InvalidArgumentError for a value of another
        shape or dtype, InvalidFileError for a damaged file.
        """
        variables = self._built("restore")
        _check_session(sess)
        if not variables and not self._others:
            return
        if save_path is None:
            hint = "latest_checkpoint gives None for a folder without checkpoints"
            raise misuse(ValueError, "Can't load save_path when it is None.", hint)
        prefix = path_of(save_path, "save_path")
        if not checkpoint_exists(prefix):
            hint = _neighbours(prefix)
            raise misuse(ValueError, f"The passed save_path is not a valid checkpoint: {prefix}", hint)
        log.info("Restoring parameters from %s", prefix)
        theirs = tensors_of(prefix)
        found = theirs if theirs is not None or not self._others else checkpoint.arrays(prefix)
        entries = {name: each.fitting(prefix, found or {}) for name, each in self._others.items()}
        if theirs is None:
            checkpoint.restore(prefix, variables, sess, self._reshape)
        else:
            from staticgraph.formats.tf.checkpoints.object_graph import (  # never to save
                ByName,
                object_graph_of,
            )

            described = object_graph_of(prefix, theirs)
            theirs = theirs if described is None else ByName(described, theirs)
            checkpoint.commit(variables, checkpoint.chosen(prefix, variables, theirs, self._reshape), sess)
        with sess.held() as store:
            for name, each in self._others.items():
                each.restore(entries[name], store.resources)

    # Which checkpoints there are

    @property
    def last_checkpoints(self) -> list[str]:
        """The prefixes of the checkpoints that were written and not removed, oldest first."""
        return [prefix for prefix, _ in self._kept]

    def set_last_checkpoints(self, last_checkpoints: list[str]) -> None:
        """Take these as the checkpoints written so far; they will not be removed."""
        self._kept = [(prefix, math.inf) for prefix in last_checkpoints]

    def set_last_checkpoints_with_time(self, last_checkpoints_with_time: list[tuple[str, float]]) -> None:
        """Take these as the checkpoints written so far, with the times of writing."""
        self._kept = list(last_checkpoints_with_time)

    def recover_last_checkpoints(self, checkpoint_paths: Sequence[str]) -> None:
        """Take those of these checkpoints that exist as the ones written so far: after a restart."""
        existing = [p for p in checkpoint_paths if checkpoint_exists(p)]
        self._kept = list(zip(existing, get_checkpoint_mtimes(existing), strict=True))

    def _built(self, call: str) -> dict[str, Saved]:
        if self._variables is None:
            raise misuse(RuntimeError, f"`build()` should be called before {call} if defer_build==True")
        return self._variables


def _by_key(given: Any) -> dict[str, Saved]:
    """Return variables by their names in checkpoints.

    Args:
        given: A list of variables, or a dict from names to variables. A partitioned variable is one entry,
            and so is a list of its parts in a dict; parts in a list of variables make one entry together.

    Raises:
        TypeError: Something is no variable, or a name is no string.
        ValueError: Two entries have one name, or a variable is in two entries.
    """
    pairs = list(given.items()) if isinstance(given, Mapping) else list(_named(given))
    out: dict[str, Saved] = {}
    seen: set[Operation] = set()
    for key, value in pairs:
        saved = _saved(value)
        name = saved.name if key is None and isinstance(saved, Operation) else key
        if not isinstance(name, str):
            raise misuse(TypeError, f"names in a checkpoint are strings, not {name!r}")
        if name in out:
            raise misuse(ValueError, f"At least two variables have the same name: {name}")
        for op, _ in operations_of({name: saved}):
            if op in seen:
                raise misuse(ValueError, f"The variable {op.name} would be saved under two names")
            seen.add(op)
        out[name] = saved
    return out


def _apart(given: Any) -> tuple[dict[str, Saveable], Any]:
    """Return what is saved besides variables, by name, and the variables of a list or dict."""
    if isinstance(given, Mapping):
        return {}, given
    others: dict[str, Saveable] = {}
    for each in given:
        if hasattr(each, "fitting"):
            if each.name in others:
                raise misuse(ValueError, f"At least two tables have the same name: {each.name}")
            others[each.name] = each
    return others, [each for each in given if not hasattr(each, "fitting")] if others else given


def _named(variables: Any) -> Iterator[tuple[str | None, Any]]:
    """Yield the items of a list with their names; None if a name is that of the operation."""
    parts: dict[str, list[Any]] = {}
    for each in variables:
        info = _slice_info(each)
        if hasattr(each, "_get_partitions"):
            yield each.name, each
        elif info is not None:
            parts.setdefault(info.full_name, []).append(each)
        else:
            yield None, each
    yield from parts.items()


def _saved(value: Any) -> Saved:
    if isinstance(value, Parts):
        return value
    if isinstance(value, list | tuple) or hasattr(value, "_get_partitions"):
        return _parts(list(value))
    handle = getattr(value, "handle", value)
    op = variable_of(handle) if isinstance(handle, Tensor) else None
    if op is None:
        hint = "var_list is a list of variables, or a dict of names and variables"
        raise misuse(TypeError, f"a Saver saves variables, not {shown(value)}", hint)
    return op


def _parts(variables: Sequence[Any]) -> Parts:
    told = [_slice_info(each) for each in variables]
    infos = [info for info in told if info is not None]
    if not infos or len(infos) < len(told) or any(info.full_shape != infos[0].full_shape for info in infos):
        raise misuse(ValueError, f"{shown(variables)}: these are not the parts of one variable")
    boxes = tuple(info.part for info in infos)
    return Parts(tuple(each.op for each in variables), boxes)


def _slice_info(value: Any) -> SaveSliceInfo | None:
    found: SaveSliceInfo | None = getattr(value, "_save_slice_info", None)
    return found


def _check_session(sess: Any) -> None:
    if not isinstance(sess, Session):
        raise misuse(TypeError, f"'sess' must be a Session; {sess!r}")


def _neighbours(prefix: str) -> str:
    folder = os.path.dirname(prefix) or os.curdir
    if not os.path.isdir(folder):
        return f"the folder {folder} does not exist"
    suffix = checkpoint.checkpoint_file("")
    found = sorted(name.removesuffix(suffix) for name in os.listdir(folder) if name.endswith(suffix))
    where = "the folder of the program" if folder == os.curdir else f"the folder {folder}"
    return f"{where} has {', '.join(found[-5:])}" if found else f"{where} has no checkpoint"
