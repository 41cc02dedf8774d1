"""Results of `Checkpoint.restore`: they set the variables, and check that nothing was left over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

from staticgraph.building.framework import get_default_session
from staticgraph.compiler.graph.errors import NotFoundError, misuse
from staticgraph.compiler.support.lazy_names import EXTENSIONS
from staticgraph.formats.tf.checkpoints.checkpoint_reader import NewCheckpointReader
from staticgraph.formats.tf.checkpoints.checkpoint_state import checkpoint_exists
from staticgraph.formats.tf.checkpoints.object_graph import ObjectGraph, matched
from staticgraph.formats.tf.checkpoints.saver import Saver
from staticgraph.formats.tf.messages.object_graph import TrackableObjectGraph
from staticgraph.runtime.files import checkpoint
from staticgraph.runtime.files.arrays.safetensors import Stored
from staticgraph.state.variable_lists import variables_initializer
from staticgraph.state.variables import Variable


def session_of(session: Any) -> Any:
    """Return a session, or the default session, or that of Keras."""
    if session is None:
        session = get_default_session()
    return EXTENSIONS["keras_session"]() if session is None else session


class LoadStatus:
    """The interface of what `Checkpoint.restore` returns, and its behaviour without a checkpoint."""

    def __init__(self, root: Any) -> None:
        self._root = root

    def _variables(self) -> list[Variable]:
        return list(ObjectGraph(self._root).variables.values())

    def run_restore_ops(self, session: Any = None) -> None:
        """Set the variables that the checkpoint has, in a session: the default one, or that of Keras."""
        raise NotImplementedError

    def initialize_or_restore(self, session: Any = None) -> None:
        """Set the variables that the checkpoint has, and initialise the others."""
        raise NotImplementedError

    def assert_consumed(self) -> Self:
        """Raise AssertionError if a variable has no value in the checkpoint, or a value no variable."""
        raise NotImplementedError

    def assert_existing_objects_matched(self) -> Self:
        """Raise AssertionError if a variable has no value in the checkpoint."""
        return self.assert_consumed()

    def assert_nontrivial_match(self) -> Self:
        """Raise AssertionError if nothing but the root is in the checkpoint and in the program."""
        return self.assert_consumed()

    def expect_partial(self) -> Self:
        """Return the status: nothing is said of values that are left over."""
        return self


class InitializationOnlyStatus(LoadStatus):
    """No checkpoint: variables are initialised."""

    def run_restore_ops(self, session: Any = None) -> None:
        text = "no checkpoint was given to restore: save_path is None"
        raise misuse(AssertionError, text, "initialize_or_restore() initialises where there is none")

    def initialize_or_restore(self, session: Any = None) -> None:
        _initialize(self._variables(), session_of(session))

    def assert_consumed(self) -> Self:
        raise misuse(AssertionError, "no checkpoint was given to restore: save_path is None")


class ObjectStatus(LoadStatus):
    """An object-based checkpoint.

    Args:
        root: The object that stands for the first one of the checkpoint.
        prefix: The path of the checkpoint.
        tensors: Its values.
        described: Its objects.
    """

    def __init__(
        self, root: Any, prefix: str, tensors: Mapping[str, Stored], described: TrackableObjectGraph
    ) -> None:
        super().__init__(root)
        self._prefix, self._tensors, self._described = prefix, tensors, described

    def _matched(self) -> dict[str, Variable]:
        """Return the variables by the keys of their values."""
        found = matched(self._described, self._root)
        return {
            value.checkpoint_key: each
            for number, each in found.items()
            if isinstance(each, Variable)
            for value in self._described.nodes[number].attributes
        }

    def run_restore_ops(self, session: Any = None) -> None:
        variables = Saver(self._matched(), allow_empty=True).variables
        values = checkpoint.chosen(self._prefix, variables, self._tensors, reshape=False)
        checkpoint.commit(variables, values, session_of(session))

    def initialize_or_restore(self, session: Any = None) -> None:
        session = session_of(session)
        restored = {id(each) for each in self._matched().values()}
        self.run_restore_ops(session)
        _initialize([each for each in self._variables() if id(each) not in restored], session)

    def assert_consumed(self) -> Self:
        self.assert_existing_objects_matched()
        known = self._matched()
        left = [
            value.checkpoint_key
            for node in self._described.nodes
            for value in node.attributes
            if value.checkpoint_key not in known and not value.optional_restore
        ]
        if left:
            text = f"checkpoint {self._prefix} has values that no object took: {_listed(left)}"
            raise misuse(AssertionError, text, "expect_partial() says that some may be left")
        return self

    def assert_existing_objects_matched(self) -> Self:
        restored = {id(each) for each in self._matched().values()}
        left = {
            key: each for key, each in ObjectGraph(self._root).variables.items() if id(each) not in restored
        }
        if left:
            text = f"checkpoint {self._prefix} has no value for {_listed(list(left))}"
            raise misuse(
                AssertionError,
                text,
                "initialize_or_restore() initialises these variables",
                made=[(each.op.name, each.op.where) for each in list(left.values())[:1]],
            )
        return self

    def assert_nontrivial_match(self) -> Self:
        if len(matched(self._described, self._root)) <= 1:
            held = ObjectGraph(self._root).objects[1:]
            text = f"nothing but the root is both in checkpoint {self._prefix} and in the program"
            hint = (
                "the names by which objects are held differ" if held else "the Checkpoint holds no object yet"
            )
            raise misuse(AssertionError, text, hint)
        return self


class NamedStatus(LoadStatus):
    """A checkpoint of a Saver: its values are found by the names of variables."""

    def __init__(self, root: Any, prefix: str) -> None:
        super().__init__(root)
        if not checkpoint_exists(prefix):
            text = f"there is no checkpoint {prefix}"
            raise misuse(NotFoundError, text, "latest_checkpoint(folder) gives the path of the newest one")
        self._prefix = prefix

    def _named(self) -> list[Variable]:
        """Return the variables that a Saver would have saved."""
        counter = self._root.save_counter
        return [each for each in self._variables() if each is not counter]

    def run_restore_ops(self, session: Any = None) -> None:
        """Set all variables; NotFoundError for one that the checkpoint lacks."""
        Saver(self._named(), allow_empty=True).restore(session_of(session), self._prefix)

    def initialize_or_restore(self, session: Any = None) -> None:
        session = session_of(session)
        _initialize([self._root.save_counter], session)
        self.run_restore_ops(session)

    def assert_consumed(self) -> Self:
        found = NewCheckpointReader(self._prefix)
        left = [each.op.name for each in self._named() if not found.has_tensor(each.op.name)]
        if left:
            raise misuse(AssertionError, f"checkpoint {self._prefix} has no value named {_listed(left)}")
        return self


def _initialize(variables: Sequence[Variable], session: Any) -> None:
    if variables:
        graph = variables[0].graph
        with graph.as_default(), graph.control_dependencies(None):
            session.run(variables_initializer(list(variables)))


def _listed(keys: Sequence[str]) -> str:
    return ", ".join(keys[:5]) + (f" and {len(keys) - 5} more" if len(keys) > 5 else "")
