"""Elements computed ahead: prefetch in a thread, and map with several calls at once. The order stays."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Generic, TypeVar

from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.compiler.support.forks import brief
from staticgraph.runtime.state.resources import left_behind, wait
from staticgraph.tf1.data.function import Function
from staticgraph.tf1.data.pipeline import Failed, Node, Run, attempt, attempts
from staticgraph.tf1.data.structure import Element
from staticgraph.tf1.data.workers import Worker, Workers, workers_for

Helpers = TypeVar("Helpers", "_Threads", Workers)
AUTOTUNE = -1


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Prefetched(Node):
    """Up to `size` elements are computed ahead, in a thread that begins with the first one asked for."""

    source: Node
    size: Any

    def iterate(self, run: Run) -> Iterator[Element]:
        size = run.number(self.size)
        if size < AUTOTUNE:
            raise self.error(f"buffer_size is {size}, it must not be negative")
        room = 2 if size == AUTOTUNE else size
        elements = self.source.iterate(run)
        return _Prefetched(elements, room) if room else elements


class _Buffer:
    """Elements that one thread computes ahead of the thread that takes them."""

    def __init__(self, room: int) -> None:
        self._room = room
        self._items: deque[tuple[Element | None, BaseException | None]] = deque()
        self._changed = brief(threading.Condition())
        self._stopped = False
        self._thread: threading.Thread | None = None

    def start(self, elements: Iterator[Element]) -> None:
        """Begin to fill it."""
        self._thread = threading.Thread(target=self.fill, args=[elements], name="prefetch", daemon=True)
        self._thread.start()

    def fill(self, elements: Iterator[Element]) -> None:
        """Compute elements in the thread, until they end or the buffer is stopped."""
        ended = False
        while not ended:
            element, error = None, None
            try:
                element = next(elements, None)
                ended = element is None
            except BaseException as raised:
                error = raised
            with self._changed:
                while len(self._items) >= self._room and not self._stopped:
                    self._changed.wait()
                ended |= self._stopped
                self._items.append((element, error))
                self._changed.notify_all()

    def take(self) -> Element | None:
        """The next element, None at the end."""
        with self._changed:
            while not self._items:
                if self._thread is not None and not self._thread.is_alive():  # its last act is to add the end
                    raise left_behind("the thread that prefetches elements")
                wait(self._changed)
            element, error = self._items[0]
            if element is not None or error is not None:  # the end stays
                self._items.popleft()
            self._changed.notify_all()
        if error is not None:
            raise error
        return element

    def stop(self) -> None:
        with self._changed:
            self._stopped = True
            self._changed.notify_all()


class _Prefetched:
    """The elements, computed ahead for as long as this object lives."""

    def __init__(self, elements: Iterator[Element], room: int) -> None:
        self._elements: Iterator[Element] | None = elements
        self._buffer = _Buffer(room)

    def __iter__(self) -> Iterator[Element]:
        return self

    def __next__(self) -> Element:
        if self._elements is not None:
            self._buffer.start(self._elements)
            self._elements = None
        element = self._buffer.take()
        if element is None:
            raise StopIteration
        return element

    def __del__(self) -> None:
        self._buffer.stop()


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ParallelMapped(Node):
    """The function's result for each element, several being computed at once."""

    source: Node
    function: Function
    count: Any

    def iterate(self, run: Run) -> Iterator[Element]:
        count = run.number(self.count)
        if count < 1 and count != AUTOTUNE:
            raise self.error(f"num_parallel_calls is {count}, it must be above zero")
        count = (os.cpu_count() or 1) if count == AUTOTUNE else count
        elements = self.source.iterate(run)
        if count == 1 or self.function.is_ordered:
            return attempts(self.function.bind(run), elements)
        processes = 0 if run.is_inner else workers_for(self.function, count)
        if not processes:
            return _Calls(lambda: _Threads(self.function.bind(run), count), _Threads.leave, elements)
        idle: list[Workers] = run.state(self, list)  # of repetitions that are over

        def workers() -> Workers:
            while idle:
                if (found := idle.pop()).process == os.getpid():  # and not of the parent
                    return found
            return Workers(self.function, run, processes, self.where)

        return _Calls(workers, idle.append, elements)


class _Threads:
    """`count` threads that compute a function of elements."""

    def __init__(self, call: Callable[[Element], Element], count: int) -> None:
        self.count = count
        self._call = call
        self.process = os.getpid()
        self._pool = ThreadPoolExecutor(count, "map")

    def start(self, element: Element) -> Future[Element]:
        """Have the next thread compute the function of an element."""
        return self._pool.submit(self._call, element)

    def leave(self) -> None:
        """Compute no more."""
        self._pool.shutdown(wait=False, cancel_futures=True)


class _Calls(Generic[Helpers]):
    """The results of a function for each element, in order, by helpers who come first and leave last."""

    def __init__(
        self, come: Callable[[], Helpers], leave: Callable[[Helpers], None], elements: Iterator[Element]
    ) -> None:
        self._come: Callable[[], Helpers] = come
        self._leave: Callable[[Helpers], None] = leave
        self._elements = elements
        self._helpers: Helpers | None = None
        self._pending: deque[Future[Element] | Worker] = deque()

    def __iter__(self) -> Iterator[Element]:
        return self

    def __next__(self) -> Element:
        if self._helpers is None:
            self._helpers = self._come()
        elif self._helpers.process != os.getpid():
            raise left_behind("the threads and processes that compute elements")
        while len(self._pending) < self._helpers.count:
            try:
                element = next(self._elements, None)
            except Exception as error:  # its turn has not come yet
                failed: Future[Element] = Future()
                failed.set_exception(error)
                self._pending.append(failed)
                continue
            if element is None:
                break
            if isinstance(element, Failed):
                known: Future[Element] = Future()
                known.set_result(element)
                self._pending.append(known)
            else:
                self._pending.append(self._helpers.start(element))
        if not self._pending:
            self._end()
            raise StopIteration
        made: Element = attempt(self._pending.popleft().result)
        return made

    def __del__(self) -> None:
        self._end()

    def _end(self) -> None:
        if self._helpers is not None:
            if self._helpers.process == os.getpid():
                self._leave(self._helpers)
            self._helpers = None
