"""`Scaffold`: the operations that make a graph ready to train, each given or of a default kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from staticgraph.building.framework import GraphKeys, add_to_collection, get_collection, get_default_graph
from staticgraph.building.inputs import group
from staticgraph.building.read_only import read_only
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.tensor import Operation
from staticgraph.formats.tf.checkpoints.saver import Saver
from staticgraph.formats.tf.log import log
from staticgraph.state.variable_lists import (
    global_variables,
    global_variables_initializer,
    local_variables_initializer,
    report_uninitialized_variables,
)
from staticgraph.tf1.summary import merge_all


class Scaffold:
    """Parts that a session needs before it can train: to initialise, to check, to summarise and to save.

    An operation or a saver that is None becomes, in `finalize`, the element of the collection
    of its kind (`GraphKeys.INIT_OP` and so on). If that collection is empty, a default is made.

    Args:
        init_op: An operation that initialises variables. It runs if no checkpoint is restored.
        init_feed_dict: The feeds of `init_op`.
        init_fn: A function `init_fn(scaffold, session)`. It is called after `init_op`, in the same case.
        ready_op: A tensor that names the variables without a value.
        ready_for_local_init_op: A tensor that names the variables that `local_init_op` waits for.
        local_init_op: An operation that always runs, once `ready_for_local_init_op` names no variable.
        summary_op: A tensor that holds the summaries.
        saver: The Saver of the checkpoints.
        copy_from_scaffold: Another Scaffold, which supplies the arguments that are None.

    Raises:
        TypeError: If `copy_from_scaffold` is not a Scaffold.

    >>> import staticgraph as sg
    >>> w = sg.Variable(1.0, name="w")
    >>> scaffold = sg.train.Scaffold(init_fn=lambda scaffold, sess: w.load(5.0, sess))
    >>> with sg.train.MonitoredSession(sg.train.ChiefSessionCreator(scaffold)) as sess:
    ...     print(sess.run(w))
    5.0
    """

    def __init__(
        self,
        init_op: Any = None,
        init_feed_dict: dict[Any, Any] | None = None,
        init_fn: Callable[[Scaffold, Any], Any] | None = None,
        ready_op: Any = None,
        ready_for_local_init_op: Any = None,
        local_init_op: Any = None,
        summary_op: Any = None,
        saver: Saver | None = None,
        copy_from_scaffold: Scaffold | None = None,
    ) -> None:
        if not isinstance(copy_from_scaffold, Scaffold | None):
            raise misuse(TypeError, "copy_from_scaffold is not a Scaffold instance.")

        def given(value: Any, name: str) -> Any:
            is_copied = value is None and copy_from_scaffold is not None
            return getattr(copy_from_scaffold, name) if is_copied else value

        self._user_init_fn = given(init_fn, "_user_init_fn")
        self._init_op = given(init_op, "init_op")
        self._init_feed_dict = given(init_feed_dict, "init_feed_dict")
        self._ready_op = given(ready_op, "ready_op")
        self._ready_for_local_init_op = given(ready_for_local_init_op, "ready_for_local_init_op")
        self._local_init_op = given(local_init_op, "local_init_op")
        self._summary_op = given(summary_op, "summary_op")
        self._saver = given(saver, "saver")

    def finalize(self) -> Scaffold:
        """Make what is missing, and finalize the default graph."""
        default = self.get_or_default
        if self._init_op is None:
            self._init_op = default("init_op", GraphKeys.INIT_OP, global_variables_initializer)
        if self._ready_op is None:
            self._ready_op = default("ready_op", GraphKeys.READY_OP, report_uninitialized_variables)
        if self._ready_for_local_init_op is None:
            name, key = "ready_for_local_init_op", GraphKeys.READY_FOR_LOCAL_INIT_OP
            self._ready_for_local_init_op = default(name, key, _report_global_variables)
        if self._local_init_op is None:
            name, key = "local_init_op", GraphKeys.LOCAL_INIT_OP
            self._local_init_op = default(name, key, self.default_local_init_op)
        if self._summary_op is None:
            self._summary_op = default("summary_op", GraphKeys.SUMMARY_OP, merge_all)
        if self._saver is None:
            self._saver = default("saver", GraphKeys.SAVERS, lambda: Saver(sharded=True, allow_empty=True))
        self._saver.build()
        get_default_graph().finalize()
        log.info("Graph was finalized.")
        return self

    @property
    def init_fn(self) -> Callable[[Any], Any] | None:
        """`init_fn` as a function of the session alone."""
        function = self._user_init_fn
        return None if function is None else lambda session: function(self, session)

    init_op: Any = read_only("init_op")
    init_feed_dict: dict[Any, Any] | None = read_only("init_feed_dict")
    ready_op: Any = read_only("ready_op")
    ready_for_local_init_op: Any = read_only("ready_for_local_init_op")
    local_init_op: Any = read_only("local_init_op")
    summary_op: Any = read_only("summary_op")
    saver: Any = read_only("saver")

    @staticmethod
    def get_or_default(arg_name: str, collection_key: str, default_constructor: Callable[[], Any]) -> Any:
        """The only element of a collection; if there is none, a default, which is put into it.

        RuntimeError if there are several.
        """
        elements = get_collection(collection_key)
        if len(elements) > 1:
            message = f'the collection "{collection_key}" has {len(elements)} items'
            hint = f"say which one to use: Scaffold({arg_name}=item)"
            raise misuse(RuntimeError, message, hint)
        if elements:
            return elements[0]
        made = default_constructor()
        if made is not None:
            add_to_collection(collection_key, made)
        return made

    @staticmethod
    def default_local_init_op() -> Operation:
        """An operation that initialises local variables and tables."""
        return group(local_variables_initializer(), *get_collection(GraphKeys.TABLE_INITIALIZERS))


def _report_global_variables() -> Any:
    return report_uninitialized_variables(global_variables())
