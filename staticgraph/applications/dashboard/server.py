"""The server of the page: it answers GET requests from memory, and tells open pages when something is new.

It writes nothing. Paths of requests are compared with a table; none becomes the name of a file.
"""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any
from urllib.parse import quote

from staticgraph.applications.dashboard.access import Access
from staticgraph.applications.dashboard.answers import Answers
from staticgraph.applications.dashboard.runs import Runs
from staticgraph.compiler.graph.errors import FailedPreconditionError, misuse

_LOOK = 0.05  # seconds between two looks at the files
_PIECE = 0.25  # seconds of reading, after which open pages are told
_MOST_PAGES = 100  # that are open at the same time
_LONGEST_REQUEST = 64 << 10


class Server:
    """Serves the page about some runs, in threads of its own, from `start` until `stop`.

    Args:
        runs: The runs. They are followed as long as the server runs.
        host: The address to listen at. Any but the loopback needs the token that `url` has.
        port: The port; 0 takes a free one.

    Attributes:
        url: The address of the page.
    """

    def __init__(self, runs: Runs, host: str = "127.0.0.1", port: int = 0) -> None:
        self._runs = runs
        self._host, self._port = host, port
        self.access = Access.to(host)
        self.answers = Answers(runs)
        self.url = ""
        self._ended = threading.Event()
        self._pages: set[Any] = set()
        self._threads: list[threading.Thread] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._pool = ThreadPoolExecutor(2, "watch")
        self._drawing_pool = ThreadPoolExecutor(1, "watch")  # a graph may take a minute

    def start(self) -> None:
        """Begin to serve.

        Raises:
            OSError: The port is taken, or the address is not one of this machine.
            FailedPreconditionError: Tornado or Bokeh is not installed.
        """
        require_extra()
        begun: list[BaseException | None] = []
        ready = threading.Event()

        def serve() -> None:
            asyncio.run(self._serve(begun, ready))

        self._spawn(serve)
        ready.wait()
        if begun[0] is not None:
            self._threads[0].join()
            raise begun[0]
        self._runs.follow(_PIECE)  # who is told the address finds the runs that are there already
        self._spawn(self._follow)

    def stop(self) -> None:
        """Close all connections, and end the threads."""
        self._ended.set()
        self.answers.stop()
        if self._loop is not None:
            with suppress(RuntimeError):  # it has ended by itself
                self._loop.call_soon_threadsafe(self._closing.set)
        for thread in self._threads:
            thread.join()
        for pool in (self._pool, self._drawing_pool):
            pool.shutdown(wait=False, cancel_futures=True)

    def __enter__(self) -> Server:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _spawn(self, work: Callable[[], None]) -> None:
        thread = threading.Thread(target=work, name="watch", daemon=True)
        self._threads.append(thread)
        thread.start()

    async def _serve(self, begun: list[BaseException | None], ready: threading.Event) -> None:
        from tornado.httpserver import HTTPServer  # an extra, as what the handlers are of

        from staticgraph.applications.dashboard.handlers import application

        try:
            server = HTTPServer(application(self), max_header_size=_LONGEST_REQUEST, max_body_size=0)
            family = socket.AF_INET6 if ":" in self._host else socket.AF_INET
            listening = socket.create_server((self._host, self._port), family=family)
            listening.setblocking(False)
            server.add_socket(listening)
        except BaseException as error:
            begun.append(error)
            ready.set()
            return
        self._loop, self._closing = asyncio.get_running_loop(), asyncio.Event()
        port = listening.getsockname()[1]
        name = socket.gethostname() if self._host in ("0.0.0.0", "::") else self._host
        shown = f"[{name}]" if ":" in name else name
        self.url = f"http://{shown}:{port}/"
        if self.access.token:
            self.url += f"?token={quote(self.access.token)}"
        begun.append(None)
        ready.set()
        await self._closing.wait()
        server.stop()
        for page in list(self._pages):
            page.close()
        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(server.close_all_connections(), 1.0)

    def _follow(self) -> None:
        """Read what the runs append, and tell open pages."""
        told: dict[str, Any] = {}
        while not self._ended.is_set():
            whole = self._runs.follow(_PIECE)
            now = self.answers.versions()
            if now != told and self._loop is not None:
                told = now
                with suppress(RuntimeError):  # the loop has ended
                    self._loop.call_soon_threadsafe(self._tell, json.dumps(now))
            if whole:
                self._ended.wait(_LOOK)

    def _tell(self, message: str) -> None:
        for page in list(self._pages):
            page.tell(message)

    def join(self, page: Any) -> bool:
        """Tell a page of changes from now on. False if too many are open."""
        if len(self._pages) >= _MOST_PAGES:
            return False
        self._pages.add(page)
        page.tell(json.dumps(self.answers.versions()))
        return True

    def leave(self, page: Any) -> None:
        """Tell a page nothing more."""
        self._pages.discard(page)

    async def in_pool(self, work: Callable[[], Any], draws: bool = False) -> Any:
        """Do work that takes time, while other requests are answered; much time, if it draws a graph."""
        pool = self._drawing_pool if draws else self._pool
        return await asyncio.get_running_loop().run_in_executor(pool, work)


def require_extra() -> None:
    """FailedPreconditionError unless the libraries of the page and its server are installed."""
    try:
        import bokeh
        import tornado
    except ImportError as error:
        text = f"the page of curves needs Bokeh and Tornado, and {error.name} is not installed"
        raise misuse(FailedPreconditionError, text, 'pip install "staticgraph[watch]"') from None
    del bokeh, tornado
