"""Handlers of requests for the page. `application` makes classes of Tornado of them, which is an extra."""

from __future__ import annotations

import functools
import gzip
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

from staticgraph.applications.dashboard.access import Access
from staticgraph.applications.dashboard.answers import Answers
from staticgraph.applications.dashboard.page import assets, live_page
from staticgraph.compiler.graph.errors import NotFoundError, OpError

# What a page asks for by name.
_ANSWERS: dict[str, Callable[[Answers, Mapping[str, list[str]]], Any]] = {
    "state": lambda answers, _: answers.state(),
    "curves": Answers.curves,
    "places": Answers.places,
    "histograms": Answers.histograms,
    "texts": Answers.texts,
}
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

_files = functools.cache(assets)


class Server(Protocol):
    """The server, as far as handlers need it."""

    access: Access
    answers: Answers

    def join(self, page: Any) -> bool:
        """Tell a page of changes from now on. False if too many are open."""

    def leave(self, page: Any) -> None:
        """Tell a page nothing more."""

    async def in_pool(self, work: Callable[[], Any], draws: bool = False) -> Any:
        """Do work that takes time, while other requests are answered; much time, if it draws a graph."""


class _Handler:
    """The methods of Tornado's class, which comes after it."""

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Return any of them."""


class Guarded(_Handler):
    """A request that is answered only if it comes from a page of this server."""

    def initialize(self, server: Server) -> None:
        """Keep the server that answers."""
        self.server = server

    def set_default_headers(self) -> None:
        for name, value in _HEADERS.items():
            self.set_header(name, value)
        self.clear_header("Server")

    def prepare(self) -> None:
        if not self.server.access.knows_host(self.request.headers.get("Host", "")):
            raise self.refusal(403, "Unknown host")
        given = self.get_query_argument("token", "") or self.get_cookie(self._cookie, "") or ""
        if not self.server.access.knows_token(given):
            raise self.refusal(403, "Open the address with the token that was printed")

    def refusal(self, status: int, reason: str | None = None) -> Exception:
        """Return the error that answers a request."""
        from tornado.web import HTTPError

        error: Exception = HTTPError(status, reason=reason)
        return error

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
        if self.server.access.token and self.get_query_argument("token", ""):
            self.set_cookie(
                self._cookie, self.server.access.token, httponly=True, samesite="Strict", path="/"
            )
            self.redirect("/")
            return
        self.set_header("Content-Type", "text/html; charset=utf-8")
        self.finish(live_page())


class Asset(Guarded):
    """A script or a style sheet."""

    def get(self, name: str) -> None:
        if name not in _files():
            raise self.refusal(404)
        kind, data = _files()[name]
        self.set_header("Content-Type", kind)
        self.set_header("Cache-Control", "no-cache")
        self.finish(data)


class Answer(Guarded):
    """An answer of `Answers`, as JSON."""

    async def get(self, name: str) -> None:
        if name not in _ANSWERS:
            raise self.refusal(404)
        question, answer = self.question(), _ANSWERS[name]
        try:
            found = await self.server.in_pool(lambda: self.packed(answer(self.server.answers, question)))
        except (ValueError, OverflowError):
            raise self.refusal(400) from None
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
            kind, data = await self.server.in_pool(lambda: self.server.answers.media(question), draws)
        except NotFoundError:
            raise self.refusal(404) from None
        except (OpError, OSError, ValueError, OverflowError) as error:
            self.set_status(422)
            kind, data = "text/plain; charset=utf-8", str(error).partition("\n\n")[0].encode()
        self.set_header("Content-Type", kind)
        # Opened by itself, a picture must not run what it may hold.
        self.set_header("Content-Security-Policy", _MEDIA_POLICY)
        self.finish(data)


class Changes(Guarded):
    """A connection that tells an open page of changes."""

    def check_origin(self, origin: str) -> bool:
        return self.server.access.knows_origin(origin, self.request.headers.get("Host", ""))

    def open(self, *_: str) -> None:
        if not self.server.join(self):
            self.close(1013)

    def on_message(self, message: str | bytes) -> None:
        """A page has nothing to say."""

    def on_close(self) -> None:
        self.server.leave(self)

    def tell(self, message: str) -> None:
        """Send a message, unless the page has gone."""
        from tornado.websocket import WebSocketClosedError

        with suppress(WebSocketClosedError):
            sent = self.write_message(message)
            sent.add_done_callback(lambda done: done.cancelled() or done.exception())  # it may go meanwhile


def application(server: Server) -> Any:
    """Return Tornado's application that answers the requests to a server."""
    from tornado.web import Application, RequestHandler
    from tornado.websocket import WebSocketHandler

    places = {r"/": Page, r"/web/([\w.-]+)": Asset, r"/api/(\w+)": Answer, r"/media": Media}
    made = [(place, type(own.__name__, (own, RequestHandler), {})) for place, own in places.items()]
    made.append((r"/changes", type("Changes", (Changes, WebSocketHandler), {})))
    return Application(
        [(place, handler, {"server": server}) for place, handler in made],
        compress_response=True,
        log_function=lambda _: None,
        websocket_max_message_size=1024,
        websocket_ping_interval=20,
    )
