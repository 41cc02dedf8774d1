"""The server of the page: it answers GET requests from memory, and tells open pages when something is new.

It writes nothing. Paths of requests are compared with a table; none becomes the name of a file.
"""

from __future__ import annotations

import asyncio
import gzip
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
from staticgraph.applications.dashboard.page import assets, live_page
from staticgraph.applications.dashboard.runs import Runs
from staticgraph.compiler.graph.errors import FailedPreconditionError, NotFoundError, OpError, misuse

_LOOK = 0.05  # seconds between two looks at the files
_PIECE = 0.25  # seconds of reading, after which open pages are told
_MOST_PAGES = 100  # that are open at the same time
_LONGEST_REQUEST = 64 << 10
_SHORT = 1024  # bytes of an answer that is not worth to be compressed

# Nothing of a file can run: scripts come from this server alone, and a page of another site cannot frame it.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
    "media-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_MEDIA_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}


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
        from tornado.httpserver import HTTPServer

        try:
            server = HTTPServer(_application(self), max_header_size=_LONGEST_REQUEST, max_body_size=0)
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


def _application(server: Server) -> Any:
    """Return Tornado's application. Its classes are made here because Tornado is an extra."""
    from tornado.web import Application, HTTPError, RequestHandler
    from tornado.websocket import WebSocketClosedError, WebSocketHandler

    access, answers = server.access, server.answers
    files = assets()
    answered = {"state": lambda _: answers.state()} | {
        name: getattr(answers, name) for name in ("curves", "places", "histograms", "texts")
    }

    class Guarded(RequestHandler):
        """A request that is answered only if it comes from a page of this server."""

        def set_default_headers(self) -> None:
            for name, value in _HEADERS.items():
                self.set_header(name, value)
            self.clear_header("Server")

        def prepare(self) -> None:
            if not access.knows_host(self.request.headers.get("Host", "")):
                raise HTTPError(403, reason="Unknown host")
            given = self.get_query_argument("token", "") or self.get_cookie(self._cookie, "") or ""
            if not access.knows_token(given):
                raise HTTPError(403, reason="Open the address with the token that was printed")

        @property
        def _cookie(self) -> str:
            return f"staticgraph-watch-{self.request.host.rpartition(':')[2]}"

        def write_error(self, status_code: int, **_: Any) -> None:
            self.set_header("Content-Type", "text/plain; charset=utf-8")
            self.finish(f"{status_code} {self._reason}\n")

        def log_exception(self, *_: Any) -> None:
            """The command prints no log."""

        def question(self) -> dict[str, list[str]]:
            """Arguments of the request as texts."""
            given = self.request.query_arguments.items()
            return {name: [value.decode(errors="replace") for value in values] for name, values in given}

    class Page(Guarded):
        """The page itself. The token goes from the address into a cookie, where no history shows it."""

        def get(self) -> None:
            if access.token and self.get_query_argument("token", ""):
                self.set_cookie(self._cookie, access.token, httponly=True, samesite="Strict", path="/")
                self.redirect("/")
                return
            self.set_header("Content-Type", "text/html; charset=utf-8")
            self.finish(live_page())

    class Asset(Guarded):
        """A script or a style sheet."""

        def get(self, name: str) -> None:
            if name not in files:
                raise HTTPError(404)
            kind, data = files[name]
            self.set_header("Content-Type", kind)
            self.set_header("Cache-Control", "no-cache")
            self.finish(data)

    class Answer(Guarded):
        """An answer of `Answers`, as JSON."""

        async def get(self, name: str) -> None:
            if name not in answered:
                raise HTTPError(404)
            question = self.question()
            try:
                found = await server.in_pool(lambda: self.packed(answered[name](question)))
            except (ValueError, OverflowError):
                raise HTTPError(400) from None
            self.set_header("Content-Type", "application/json; charset=utf-8")
            self.finish(found)

        def packed(self, answer: Any) -> bytes:
            """Return JSON, compressed here if the browser allows: the loop has other requests to answer."""
            text = json.dumps(answer, allow_nan=False).encode()
            if len(text) < _SHORT or "gzip" not in self.request.headers.get("Accept-Encoding", ""):
                return text
            self.set_header("Content-Encoding", "gzip")
            self.set_header("Vary", "Accept-Encoding")
            return gzip.compress(text, 3)

    class Media(Guarded):
        """An image, a sound, or the picture of a graph."""

        async def get(self) -> None:
            question = self.question()
            try:
                draws = question.get("kind") == ["graph"]
                kind, data = await server.in_pool(lambda: answers.media(question), draws)
            except NotFoundError:
                raise HTTPError(404) from None
            except (OpError, OSError, ValueError, OverflowError) as error:
                self.set_status(422)
                kind, data = "text/plain; charset=utf-8", str(error).partition("\n\n")[0].encode()
            self.set_header("Content-Type", kind)
            # Opened by itself, a picture must not run what it may hold.
            self.set_header("Content-Security-Policy", _MEDIA_POLICY)
            self.finish(data)

    class Changes(Guarded, WebSocketHandler):
        """A connection that tells an open page of changes."""

        def check_origin(self, origin: str) -> bool:
            return access.knows_origin(origin, self.request.headers.get("Host", ""))

        def open(self, *_: str) -> None:
            if not server.join(self):
                self.close(1013)

        def on_message(self, message: str | bytes) -> None:
            """A page has nothing to say."""

        def on_close(self) -> None:
            server.leave(self)

        def tell(self, message: str) -> None:
            """Send a message, unless the page has gone."""
            with suppress(WebSocketClosedError):
                sent = self.write_message(message)
                sent.add_done_callback(
                    lambda done: done.cancelled() or done.exception()
                )  # it may go meanwhile

    return Application(
        [
            (r"/", Page),
            (r"/web/([\w.-]+)", Asset),
            (r"/api/(\w+)", Answer),
            (r"/media", Media),
            (r"/changes", Changes),
        ],
        compress_response=True,
        log_function=lambda _: None,
        websocket_max_message_size=1024,
        websocket_ping_interval=20,
    )
