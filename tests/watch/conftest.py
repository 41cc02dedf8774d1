"""A server of runs for the tests, and what it answers."""

import http.client
import json
from contextlib import ExitStack
from urllib.parse import urlencode, urlsplit

import pytest

from staticgraph.applications.dashboard.runs import Runs
from staticgraph.applications.dashboard.server import Server


class Client:
    """Requests to a server, without a browser."""

    def __init__(self, server):
        self.server = server
        self.port = urlsplit(server.url).port

    def get(self, path, method="GET", headers=None, **question):
        """Status, headers and body of an answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        asked = f"{path}?{urlencode(question, doseq=True)}" if question else path
        connection.request(method, asked, headers={"Host": f"127.0.0.1:{self.port}", **(headers or {})})
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return answer.status, dict(answer.getheaders()), body

    def ask(self, name, **question):
        status, _, body = self.get(f"/api/{name}", **question)
        assert status == 200, body
        return json.loads(body)


@pytest.fixture
def serve():
    """A function that serves a folder, and gives a client."""
    with ExitStack() as stack:
        yield lambda folder, host="127.0.0.1": Client(stack.enter_context(served(folder, host)))


def served(folder, host="127.0.0.1"):
    runs = Runs([str(folder)])
    while not runs.follow():
        pass
    return Server(runs, host)
