"""A run in parts: what an earlier part has computed is held for the later ones, and not computed again.

A part fetches, beside what is asked for, each tensor that a later part will need of it. Those are fed to the
later parts, so that no operation runs twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from staticgraph.compiler.graph.errors import InvalidArgumentError, UnimplementedError, misuse
from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.graph.opdef import Effect
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.compiler.support.dataclass import cached_property
from staticgraph.runtime.feeds import feed_tensors
from staticgraph.runtime.fetches import Fetches

_REPEATABLE = (Effect.PURE, Effect.SOURCE, Effect.READ, Effect.MARK)


class PartialRuns:
    """The methods of a session that run a graph in parts."""

    graph: Graph

    def run(self, fetches: Any, feed_dict: Any = None) -> Any:
        """Run everything at once: a session's own method."""
        raise NotImplementedError

    def partial_run_setup(self, fetches: Any, feeds: Any = None) -> str:
        """Announce a run in parts.

        Args:
            fetches: All tensors and operations that the parts will ask for, nested at will.
            feeds: A list of all tensors that the parts will feed; by default none.

        Returns:
            The handle that `partial_run` takes.

        Raises:
            InvalidArgumentError: If there is nothing to fetch, or something that cannot be fetched or fed.

        >>> import staticgraph as sg
        >>> a, b = sg.placeholder(sg.float32, []), sg.placeholder(sg.float32, [])
        >>> double, product = a * 2, a * 2 * b
        >>> with sg.Session() as sess:
        ...     run = sess.partial_run_setup([double, product], [a, b])
        ...     found = sess.partial_run(run, double, {a: 3.0})
        ...     print(sess.partial_run(run, product, {b: found}))
        36.0
        """
        found = Fetches(self.graph, fetches)
        if not found.tensors and not found.targets:
            text = "there is nothing to fetch in the parts of a run"
            raise misuse(InvalidArgumentError, text, "name all tensors that the parts will ask for")
        handle = f"partial run {len(self._announced)}"
        fed = feed_tensors(self.graph, dict.fromkeys(feeds or ()))
        self._announced[handle] = _Announced([*found.tensors, *found.targets], fed)
        return handle

    def partial_run(self, handle: str, fetches: Any, feed_dict: Any = None) -> Any:
        """Run one part of what `partial_run_setup` has announced, and return the values of `fetches`.

        Args:
            handle: The result of `partial_run_setup`.
            fetches: Some of the tensors and operations announced; each is fetched in one part only.
            feed_dict: Values of some of the tensors announced; each is fed in one part only.

        Raises:
            InvalidArgumentError: If something was not announced, was fetched or fed before, or needs a tensor
                that has not been fed yet; if all fetches of the handle are done.
            UnimplementedError: If an operation with an effect, which has run in an earlier part, would run
                once more, because another operation waits for it by a control dependency.

        Variables are changed at the end of each part.
        """
        announced = self._announced.get(handle)
        if announced is None or not announced.open:
            what = f"{handle!r} is no partial run with fetches left"
            hint = "call partial_run_setup first; a run ends when all of its fetches are done"
            raise misuse(InvalidArgumentError, what, hint)
        found = Fetches(self.graph, fetches)
        wanted = [*found.tensors, *found.targets]
        announced.check(wanted, given := feed_tensors(self.graph, feed_dict))
        known = announced.held | given
        left = [one for one in announced.open if one not in wanted]
        now = announced.operations(wanted, known)
        announced.check_ready(now, wanted, known)
        keep = _between(
            now, announced.operations(left, {**known, **dict.fromkeys(announced.feeds)}) - now, left
        )
        used = {t for op in now for t in op.all_inputs} | set(found.tensors)
        feeds = {t: value for t, value in known.items() if t in used}
        values, _, kept = self.run([found.tensors, found.targets, keep], feeds)
        announced.done |= now
        announced.fed |= set(given)
        announced.held = known | dict(zip(keep, kept, strict=True))
        announced.open = left
        return found.assemble(values)

    @cached_property
    def _announced(self) -> dict[str, _Announced]:
        return {}


class _Announced:
    """One run in parts: what is still to be fetched and fed, what has run, and the values that are held."""

    def __init__(self, fetches: list[Any], feeds: Mapping[Tensor, Any]) -> None:
        self.fetches, self.feeds = set(fetches), set(feeds)
        self.open = fetches
        self.held: dict[Tensor, Any] = {}
        self.fed: set[Tensor] = set()
        self.done: set[Operation] = set()

    def check(self, fetches: list[Any], feeds: Mapping[Tensor, Any]) -> None:
        """Raise an InvalidArgumentError for what was not announced, or is done already."""
        for kind, past, given, announced, left in (
            ("fetch", "fetched", fetches, self.fetches, set(self.open)),
            ("feed", "fed", feeds, self.feeds, self.feeds - self.fed),
        ):
            for one in given:
                if one not in announced:
                    text = f"the {kind} {one.name} was not announced"
                    raise misuse(InvalidArgumentError, text, "give all of them to partial_run_setup")
                if one not in left:
                    text = f"{one.name} has already been {past}"
                    raise misuse(InvalidArgumentError, text, f"each {kind} stands in one part of a run")

    def operations(self, fetches: Iterable[Any], known: Mapping[Tensor, Any]) -> set[Operation]:
        """Return the operations that fetches still need; the tensors that are fed or held end the walk."""
        from staticgraph.compiler.graph.tensor import ancestors  # no other run needs it

        roots = [one for one in fetches if one not in known]
        return ancestors((one if isinstance(one, Operation) else one.op for one in roots), known)

    def check_ready(self, now: set[Operation], fetches: list[Any], known: Mapping[Tensor, Any]) -> None:
        """Raise an error if a part needs what is not fed yet, or would repeat an effect."""
        used = {t for op in now for t in op.all_inputs} | {t for t in fetches if isinstance(t, Tensor)}
        missing = sorted(t.name for t in self.feeds & used if t not in known)
        if missing:
            text = f"the fetches need {missing[0]}, which has not been fed so far"
            raise misuse(InvalidArgumentError, text, "feed it in this part, or fetch them in a later one")
        again = sorted(op.name for op in now & self.done if op.definition.effect not in _REPEATABLE)
        if again:
            text = f"{again[0]} has run in an earlier part, and would run once more"
            hint = "fetch it and the operations that wait for it in one part"
            raise misuse(UnimplementedError, text, hint)


def _between(now: set[Operation], later: set[Operation], open: list[Any]) -> list[Tensor]:
    """Return the results of operations that run now that later operations need, or that are fetched later."""
    needed = [t for op in sorted(later, key=lambda op: op.id) for t in op.all_inputs]
    needed += [one for one in open if isinstance(one, Tensor)]
    return [t for t in dict.fromkeys(needed) if t.op in now and t.op.definition.effect is not Effect.SOURCE]
