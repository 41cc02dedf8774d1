"""The server: who may ask, what is answered, and that hostile files and requests get nowhere."""

import base64
import gzip
import json
import os
import socket
from itertools import product
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.applications.dashboard import drawing
from staticgraph.applications.dashboard.access import Access
from staticgraph.applications.dashboard.answers import Answers
from staticgraph.applications.dashboard.runs import Runs
from staticgraph.applications.dashboard.server import Server, require_extra
from staticgraph.compiler.graph.errors import FailedPreconditionError
from staticgraph.formats.tf.messages.event import Event
from staticgraph.formats.tf.messages.graph import GraphDef
from staticgraph.formats.tf.messages.summary import HistogramProto, Summary
from staticgraph.tf1.summary import FileWriter, encode
from tests.watch.event_files import NAME, scalar_event, write

EVIL = "<img src=x onerror=alert(1)></script><script>alert(2)</script>"
PAGES = ("/", "/web/page.js", "/api/state", "/media", "/changes")


@pytest.fixture
def run(tmp_path):
    """A folder with a run that has a value of each kind."""
    x = sg.placeholder(sg.float32, [None, 3], name="x")
    sg.layers.dense(x, 2)
    with FileWriter(str(tmp_path / "run"), sg.get_default_graph()) as writer:
        for step in range(10):
            writer.add_summary(encode.scalar("loss", 1 / (step + 1)), step)
            writer.add_summary(encode.histogram("weights", np.arange(step + 1.0)), step)
        writer.add_summary(encode.image("picture", np.zeros((1, 2, 2, 3), np.uint8), 1), 3)
        writer.add_summary(encode.audio("sound", np.zeros((1, 8)), 8000, 1), 3)
        writer.add_summary(encode.text("note", EVIL), 3)
    return tmp_path


def test_answers_are_compressed_for_who_takes_that(tmp_path, serve):
    write(tmp_path / "run" / NAME, *(scalar_event("loss", step, 0.5) for step in range(100)))
    client = serve(tmp_path)
    for name, accepted, packed in (("curves", "gzip", True), ("curves", "", False), ("state", "br", False)):
        _, headers, body = client.get(
            f"/api/{name}", headers={"Accept-Encoding": accepted}, run="run", tag="loss"
        )
        assert (headers.get("Content-Encoding") == "gzip") == packed
        assert json.loads(gzip.decompress(body) if packed else body)


def test_a_page_that_is_opened_at_once_has_the_runs_that_were_there(run, monkeypatch):
    monkeypatch.setattr(Server, "_follow", lambda server: None)  # as if that thread were late
    with Server(Runs([str(run)])) as server:
        assert [each["name"] for each in server.answers.state()["runs"]] == ["run"]


def test_everything_that_a_run_has_is_answered(run, serve):
    client = serve(run)
    state = client.ask("state")
    assert state["folders"] == [str(run)]
    [found] = state["runs"]
    assert found["name"] == "run" and found["points"] == 10 and found["notes"] == []
    assert found["tags"] == {
        "scalar": ["loss", "steps per second"],
        "image": ["picture/image"],
        "audio": ["sound/audio"],
        "histogram": ["weights"],
        "text": ["note"],
        "graph": [""],
    }
    curves = client.ask("curves", run=["run", "no such run"], tag="loss", smoothing=0.5)
    assert list(curves) == ["run"] and curves["run"]["x"] == list(range(10))
    assert len(curves["run"]["smooth_y"]) == 10
    assert client.ask("texts", run="run", tag="note")[0]["text"] == EVIL
    assert [each["number"] for each in client.ask("histograms", run="run", tag="weights")] == list(
        range(1, 11)
    )
    assert client.ask("places", kind="image", run="run", tag="picture/image")[0]["step"] == 3
    for kind, tag, type in (("image", "picture/image", "image/png"), ("audio", "sound/audio", "audio/wav")):
        status, headers, body = client.get("/media", kind=kind, run="run", tag=tag)
        assert status == 200 and headers["Content-Type"] == type and len(body) > 30


def test_a_graph_is_drawn_by_another_process(run, serve):
    status, headers, body = serve(run).get("/media", kind="graph", run="run", tag="")
    assert status == 200 and headers["Content-Type"] == "image/svg+xml"
    assert b"<svg" in body and b"dense" in body and "sandbox" in headers["Content-Security-Policy"]


def test_a_graph_that_is_none_is_told_and_one_that_takes_too_long_is_left(tmp_path, monkeypatch, serve):
    write(
        tmp_path / "run" / NAME,
        Event(wall_time=1.0, graph_def=b"\x0a\xff\xff\xff\x7fno graph").SerializeToString(),
    )
    status, headers, body = serve(tmp_path).get("/media", kind="graph", run="run", tag="")
    assert status == 422 and headers["Content-Type"].startswith("text/plain") and b"cannot be drawn" in body
    monkeypatch.setattr(drawing, "_SECONDS", 0.01)
    drawer = drawing.Drawer()
    with pytest.raises(OSError, match="takes more than"):
        drawer.picture(GraphDef().SerializeToString())
    drawer.stop()
    with pytest.raises(OSError, match="has stopped"):
        drawer.picture(GraphDef().SerializeToString())


def test_a_name_that_is_not_of_this_server_is_refused(run, serve):
    client = serve(run)
    hosts = ("evil.com", f"evil.com:{client.port}", "127.0.0.1.evil.com", "", "10.0.0.1", "[", "::1")
    for host, path in product(hosts, PAGES):
        assert client.get(path, headers={"Host": host})[0] in (400, 403), (host, path)
    for host in (f"localhost:{client.port}", "127.0.0.1", f"[::1]:{client.port}"):
        assert client.get("/", headers={"Host": host})[0] == 200


def test_nothing_can_be_written(run, serve):
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    client = serve(run)
    for method, path in product(("POST", "PUT", "DELETE", "PATCH", "OPTIONS"), PAGES):
        assert client.get(path, method)[0] == 405, (method, path)
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before


def test_answers_forbid_what_a_file_might_want(run, serve):
    client = serve(run)
    for path in PAGES[:3]:
        _, headers, _ = client.get(path)
        assert "script-src 'self';" in headers["Content-Security-Policy"]
        assert headers["X-Content-Type-Options"] == "nosniff" and "Server" not in headers
        assert "Access-Control-Allow-Origin" not in headers
    assert client.get("/api/state")[1]["Content-Type"].startswith("application/json")


def test_no_other_file_is_reached(run, serve):
    client = serve(run)
    for path in (
        "/web/../server.py",
        "/web/%2e%2e/server.py",
        "/web/..%2fserver.py",
        "/web/page.py",
        "/web//etc/passwd",
        "/api/media",
        "/api/__init__",
        "/api/_places",
        "/etc/passwd",
        "/media?kind=image&run=../..&tag=x",
        "/media?kind=image&run=run&tag=/etc/passwd",
        "/media?kind=image&run=run&tag=picture/image&index=9",
        "/media?kind=text&run=run&tag=note",
    ):
        assert client.get(path)[0] in (400, 404), path


def test_odd_questions_about_curves(run, serve):
    client = serve(run)
    for question in (
        {"axis": "up"},
        {"columns": "many"},
        {"columns": "1e400"},
        {"smoothing": "nan"},
        {"from": "inf", "to": "1"},
        {"from": "1"},
        {"columns": "-5"},
        {"columns": "999999999"},
        {"smoothing": "7"},
        {"from": "9", "to": "-9"},
    ):
        status, _, body = client.get("/api/curves", run="run", tag="loss", **question)
        assert status in (200, 400), question
        assert status == 400 or len(json.loads(body)["run"]["x"]) <= 10


def test_other_machines_need_the_token(run, serve):
    client = serve(run, "0.0.0.0")
    [token] = parse_qs(urlsplit(client.server.url).query)["token"]
    assert len(token) >= 32
    for path in PAGES:
        assert client.get(path)[0] == 403
        assert client.get(path, token=token[:-1] + "?")[0] == 403
    status, headers, _ = client.get("/", token=token)
    assert status == 302 and headers["Location"] == "/"
    assert "HttpOnly" in headers["Set-Cookie"] and "SameSite=Strict" in headers["Set-Cookie"]
    cookie = {"Cookie": headers["Set-Cookie"].partition(";")[0]}
    for path in PAGES[:3]:
        assert client.get(path, headers=cookie)[0] == 200
    assert client.get("/", headers={**cookie, "Host": "evil.com"})[0] == 403
    assert Access.to("0.0.0.0").token != Access.to("0.0.0.0").token
    assert Access("0.0.0.0", "secret").knows_host("192.168.1.7:6007")
    assert not Access.to("127.0.0.1").knows_host("192.168.1.7:6007")


def test_a_page_of_another_site_cannot_listen(run, serve):
    client = serve(run)
    key = base64.b64encode(bytes(16)).decode()
    upgrade = {
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec-WebSocket-Key": key,
        "Sec-WebSocket-Version": "13",
    }
    assert client.get("/changes", headers={**upgrade, "Origin": "http://evil.com"})[0] == 403
    assert (
        client.get("/changes", headers={**upgrade, "Origin": f"http://127.0.0.1:{client.port + 1}"})[0] == 403
    )
    with socket.create_connection(("127.0.0.1", client.port), timeout=60) as raw:
        lines = {**upgrade, "Host": f"localhost:{client.port}", "Origin": f"http://localhost:{client.port}"}
        head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        raw.sendall(f"GET /changes HTTP/1.1\r\n{head}\r\n".encode())
        assert raw.recv(12) == b"HTTP/1.1 101"


def test_images_that_are_something_else_are_not_sent(tmp_path, serve):
    for index, data in enumerate((b"<svg onload='alert(1)'>", b"<html>", b"", b"GIF8")):
        image = Summary.Image(height=1, width=1, encoded_image_string=data)
        summary = Summary(value=[Summary.Value(tag=f"image{index}", image=image)])
        event = Event(wall_time=1.0, step=1, summary=summary).SerializeToString()
        write(tmp_path / "run" / NAME, event, mode="ab")
    client = serve(tmp_path)
    for index in range(4):
        status, headers, _ = client.get("/media", kind="image", run="run", tag=f"image{index}")
        assert status == 422 and headers["Content-Type"].startswith("text/plain")


@pytest.mark.parametrize(
    "proto",
    [
        HistogramProto(),
        HistogramProto(min=0, max=1, num=1, bucket_limit=[1.0], bucket=[1.0, 2.0]),
        HistogramProto(
            min=float("nan"), max=float("inf"), bucket_limit=[float("nan")] * 3, bucket=[1.0, -5, 2]
        ),
        HistogramProto(min=5, max=5, num=3, bucket_limit=[4.0, 6.0, 1e308], bucket=[0.0, 3.0, 0.0]),
        HistogramProto(min=1, max=-1, num=3, bucket_limit=[3.0, 2.0, 1.0], bucket=[1.0, 1.0, 1.0]),
    ],
)
def test_odd_histograms(tmp_path, serve, proto):
    summary = Summary(value=[Summary.Value(tag="odd", histo=proto)])
    write(tmp_path / "run" / NAME, Event(wall_time=1.0, step=1, summary=summary).SerializeToString())
    for each in serve(tmp_path).ask("histograms", run="run", tag="odd"):
        assert np.isfinite(each["edges"]).all() and (np.diff(each["edges"]) > 0).all()
        assert np.isfinite(each["counts"]).all() and min(each["counts"]) >= 0


def test_times_that_are_none(tmp_path, serve):
    """JSON has neither NaN nor infinity: a page could not read an answer with one."""
    for step, wall in enumerate((np.nan, np.inf, -1e308, 5.0)):
        summary = Summary.FromString(encode.merge([encode.text("note", "x"), encode.histogram("h", [1.0])]))
        event = Event(wall_time=wall, step=2**61 * step, summary=summary).SerializeToString()
        write(tmp_path / "run" / NAME, event, scalar_event("loss", step, step, wall=wall), mode="ab")
    client = serve(tmp_path)
    assert [each["wall"] for each in client.ask("texts", run="run", tag="note")] == [5.0, 0.0, 0.0, 0.0]
    assert [each["wall"] for each in client.ask("histograms", run="run", tag="h")] == [0.0, 0.0, 0.0, 5.0]
    for axis in ("step", "relative", "wall"):
        assert client.ask("curves", run="run", tag="loss", axis=axis)["run"]["points"] == 4
    assert client.ask("state")["runs"][0]["points"] == 4


def test_bars_have_the_numbers_of_the_buckets(tmp_path, serve):
    values = np.random.default_rng(0).normal(size=10_000)
    with FileWriter(str(tmp_path / "run")) as writer:
        writer.add_summary(encode.histogram("weights", values), 1)
        writer.add_summary(encode.histogram("equal", np.full(7, 3.0)), 1)
    client = serve(tmp_path)
    [bars] = client.ask("histograms", run="run", tag="weights")
    assert sum(bars["counts"]) == pytest.approx(10_000)
    exact, _ = np.histogram(values, bars["edges"])
    assert abs(np.cumsum(exact) - np.cumsum(bars["counts"])).max() < 400
    [equal] = client.ask("histograms", run="run", tag="equal")
    assert sum(equal["counts"]) == pytest.approx(7)


def test_a_file_that_shrinks_while_it_is_looked_at(run):
    runs = Runs([str(run)])
    runs.follow()
    answers = Answers(runs)
    [file] = (run / "run").iterdir()
    os.truncate(file, 100)
    question = {"run": ["run"], "tag": ["picture/image"], "kind": ["image"]}
    with pytest.raises(OSError, match="shorter than it was"):
        answers.media(question)
    assert answers.texts(question | {"tag": ["note"]}) == []
    assert answers.histograms(question | {"tag": ["weights"]}) == []


def test_a_port_that_is_taken_is_an_error(run, serve):
    client = serve(run)
    with pytest.raises(OSError, match="in use"):
        Server(client.server._runs, port=client.port).start()


def test_without_the_libraries_the_error_has_the_line_that_installs_them(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "bokeh", None)
    with pytest.raises(FailedPreconditionError, match=r'pip install "staticgraph\[watch\]"'):
        require_extra()


def test_names_of_runs_are_only_names(tmp_path, serve):
    name = "<b>&amp;\"'"
    write(tmp_path / name / NAME, scalar_event(EVIL, 1, 0.5))
    client = serve(tmp_path)
    [found] = client.ask("state")["runs"]
    assert found["name"] == name and found["tags"]["scalar"] == [EVIL]
    assert client.ask("curves", run=name, tag=EVIL)[name]["y"] == [0.5]
