"""One function, called for several replicas of a model in one graph, which take turns.

Each call has a thread, of which one runs at a time: until its function is done, or comes to something that
all replicas do together. What all do together is done outside of them, once all have come to it. A replica
finds in collections the tensors that it has made, such as its losses, and not those of the others.
"""

from __future__ import annotations

import contextvars
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

from staticgraph.building.framework import GraphKeys, get_default_graph
from staticgraph.compiler.graph.errors import DeadlineExceededError, misuse
from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.graph.provenance import line_of_thread
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.state import replicas
from staticgraph.state.scopes import ScopeState, VariableScope, variable_scope
from staticgraph.tf1.distribute.per_replica import Pairs, added_gradients, total

LIMIT = 300.0  # seconds in which a replica that has its turn must do something
_LOOK = 1.0  # seconds between looks at it


class _Stopped(BaseException):
    """Ends the thread of a replica, since another one has failed."""


class Turns:
    """The replicas of one call.

    Args:
        count: The number of replicas.
        scaled: Makes of a loss that of which gradients are taken, for those of all replicas to be added.
    """

    def __init__(self, count: int, scaled: Callable[[Any], Any]) -> None:
        self.scaled = scaled
        self.graph: Graph = get_default_graph()
        self._back = threading.Event()
        self.caller = threading.current_thread()
        self.turns = [Turn(self, number) for number in range(count)]
        self.variables: list[Any] = []  # that the first replica has made
        self.before = {id(each) for _, items in self.collections() for each in items}
        self.stopped = False

    def run(self, calls: Sequence[Callable[[], Any]]) -> list[Any]:
        """Return the results of functions, one for each replica.

        Raises:
            RuntimeError: Some replicas come more often than others to something that all do together.
        """
        scopes, names = ScopeState.of(self.graph), self.graph.names.scope
        with ExitStack() as ends:
            ends.callback(self._back_to, scopes.scope, names)
            ends.callback(self._stop)
            for turn, call in zip(self.turns, calls, strict=True):
                turn.start(call)
            while True:
                for turn in self.turns:
                    self._let(turn)
                waiting = [turn for turn in self.turns if not turn.is_done]
                if not waiting:
                    return [turn.result for turn in self.turns]
                if len(waiting) < len(self.turns):
                    text = "some replicas call merge_call(), or change variables, more often than others"
                    raise misuse(RuntimeError, text, "do so in each call of the function, not by its number")
                self._together()

    def collections(self) -> list[tuple[str, list[Any]]]:
        """Return the collections whose tensors are of one replica: penalties of variables are of all."""
        keys = set(self.graph.get_all_collection_keys()) - {GraphKeys.REGULARIZATION_LOSSES}
        return [(key, self.graph.get_collection_ref(key)) for key in sorted(keys)]

    def _let(self, turn: Turn) -> None:
        """Let a replica go on to what all do together, or to its end."""
        self._back.clear()
        turn.go.set()
        seen, since = turn.progress, time.monotonic()
        while not self._back.wait(_LOOK):
            if (now := turn.progress) != seen:
                seen, since = now, time.monotonic()
            elif time.monotonic() - since > LIMIT:
                raise self._hangs(turn)
        if turn.error is not None:
            raise turn.error

    def _hangs(self, turn: Turn) -> Exception:
        """Return the error for a replica that neither computes nor adds to the graph."""
        waiting = [f"replica {each.number}" for each in self.turns if each is not turn and not each.is_done]
        at = f" at {turn.line}" if turn.line else ""
        text = f"replica {turn.number} hangs{at}: {', '.join([*waiting, 'the program'])} have waited for it"
        hint = "replicas take turns: none may wait for what another one does later"
        return misuse(DeadlineExceededError, f"{text} for {LIMIT:g} seconds", hint)

    def pause(self, turn: Turn) -> None:
        """Give the turn back, in the thread of a replica, and wait for the next one."""
        self._back.set()
        turn.wait()
        if self.stopped:
            raise _Stopped

    def finish(self) -> None:
        """Give the last turn back."""
        self._back.set()

    def _together(self) -> None:
        first = self.turns[0]
        controls = {op: None for turn in self.turns for op in turn.controls}
        with ExitStack() as place:
            place.enter_context(replicas.within(None))
            place.enter_context(variable_scope(first.state.scope, auxiliary_name_scope=False))
            place.enter_context(self.graph.name_scope(f"{first.names}/" if first.names else None))
            place.enter_context(self.graph.control_dependencies(None))
            place.enter_context(self.graph.control_dependencies(list(controls)))
            made = first.function(*zip(*(turn.values for turn in self.turns), strict=True))
        for turn in self.turns:
            turn.result = made

    def _back_to(self, scope: VariableScope, names: str) -> None:
        """Go on after the call, with the counts of names of the first replica, and with its summaries."""
        for turn in self.turns:
            if turn.number:
                turn.own.pop(GraphKeys.SUMMARIES, None)
            turn.show()
        self.turns[0].state._replace(scope=scope).restore()
        self.graph.names.scope = names

    def _stop(self) -> None:
        self.stopped = True
        for turn in self.turns:
            turn.stop()


class Turn:
    """One of the replicas: `staticgraph/state/replicas.py` says what it is for."""

    def __init__(self, turns: Turns, number: int) -> None:
        self._turns, self.number = turns, number
        self.go = threading.Event()
        self.is_done = False
        self.result: Any = None
        self.error: BaseException | None = None
        self.function: Callable[..., Any] = tuple
        self.values: tuple[Any, ...] = ()
        self.controls: tuple[Any, ...] = ()
        self._found = 0
        self._thread: threading.Thread | None = None
        # Where the replica is in the graph, and its tensors in collections, while others have their turns.
        self.own: dict[str, list[Any]] = {}
        self._leave()

    def start(self, call: Callable[[], Any]) -> None:
        """Begin, when the first turn comes."""
        graph = self._turns.graph
        place = graph.place()
        context = contextvars.copy_context()

        def run() -> None:
            self.wait()
            self._enter()
            try:
                if not self._turns.stopped:
                    with graph.as_default(), graph.at(place), replicas.within(self), self._scopes():
                        self.result = call()
            except _Stopped:
                pass
            except BaseException as error:  # which the caller's thread raises
                self.error = error
            finally:
                self._leave()
                self.is_done = True
                self._turns.finish()

        name = f"staticgraph replica {self.number}"
        self._thread = threading.Thread(target=context.run, args=(run,), name=name, daemon=True)
        self._thread.start()

    def wait(self) -> None:
        """Wait for a turn, as long as the thread that gives turns is there."""
        while not self.go.wait(_LOOK):
            if not self._turns.caller.is_alive():
                raise _Stopped
        self.go.clear()

    @property
    def progress(self) -> tuple[int, float]:
        """The number of operations of the graph, and the seconds that the replica has computed."""
        number = self._thread.ident if self._thread else None
        clock = getattr(time, "pthread_getcpuclockid", None)
        spent = time.clock_gettime(clock(number)) if clock and number and not self.is_done else 0.0
        return len(self._turns.graph.recorded), round(spent, 2)

    @property
    def line(self) -> str:
        """The line of the program that the replica is at."""
        return line_of_thread(self._thread.ident or 0) if self._thread else ""

    def _scopes(self) -> ExitStack:
        """The scopes of a replica: operations have its number, and variables are those of the first one."""
        with ExitStack() as scopes:
            if self.number:
                outer = self._turns.graph.names.scope
                scopes.enter_context(
                    self._turns.graph.name_scope(f"{outer}/replica_{self.number}/".lstrip("/"))
                )
                scopes.enter_context(variable_scope(self.state.scope, reuse=True, auxiliary_name_scope=False))
            return scopes.pop_all()

    def merge(self, function: Callable[..., Any], *values: Any) -> Any:
        """Return the result of `function`, which is called once, with the values of all replicas of each."""
        graph = self._turns.graph
        if graph.region is not None:
            text = "replicas do something together in a loop or a branch, and each of them has its own"
            raise misuse(RuntimeError, text, "change variables and apply gradients outside of it")
        self.function, self.values, self.controls = function, values, graph.control_inputs
        self._leave()
        self._turns.pause(self)
        self._enter()
        return self.result

    def _leave(self) -> None:
        graph = self._turns.graph
        self.state, self.names = ScopeState.of(graph), graph.names.scope
        self.own = {}
        for key, items in self._turns.collections():
            if found := [t for t in items if isinstance(t, Tensor) and id(t) not in self._turns.before]:
                self.own[key] = found
                items[:] = [each for each in items if all(each is not t for t in found)]

    def show(self) -> None:
        """Put the tensors of this replica into collections."""
        for key, found in self.own.items():
            self._turns.graph.get_collection_ref(key).extend(found)

    def _enter(self) -> None:
        self.show()
        self.state.restore()
        self._turns.graph.names.scope = self.names

    def once(self, function: Callable[[Any], Any], value: Any, how: str) -> Any:
        """Return what `function` makes of the value of all replicas together."""

        def merged(values: Sequence[Any]) -> Any:
            return function(values[0] if how == "first" else total(values, how == "mean"))

        return self.merge(merged, value)

    def add(self, function: Callable[[Any], Any], value: Any) -> Any:
        """Return what `function` makes of the sum of the values of all replicas, which share the variable."""
        return self.once(function, value, "sum")

    def read(self, value: Any) -> Any:
        """Return the value, which is that of all replicas."""
        return value

    def apply(self, apply: Callable[[Pairs], Any], pairs: Pairs) -> Any:
        """Return the result of `apply` for the gradients of all replicas, in pairs with variables."""
        return self.merge(lambda all_pairs: apply(added_gradients(all_pairs)), pairs)

    def scaled(self, loss: Any) -> Any:
        """Return the loss of which an optimizer takes gradients."""
        return self._turns.scaled(loss)

    def twin(self) -> Any:
        """Return the variable that the first replica has made in place of the next one; None in the first."""
        if self.number == 0:
            return None
        self._found += 1
        if self._found > len(self._turns.variables):
            text = "this replica makes more variables than the first one"
            raise misuse(RuntimeError, text, "make the same variables in each call of the function")
        return self._turns.variables[self._found - 1]

    def made(self, variable: Any) -> None:
        """Note a variable that this replica, the first one, has made."""
        self._turns.variables.append(variable)

    def stop(self) -> None:
        """End the thread, if it has not come to its end. One that hangs ends when it gives its turn back."""
        if self._thread is not None and not self.is_done:
            self.go.set()
            self._thread.join(_LOOK)
