"""`watch`: the address that it prints, its end, the page as a file, and its errors."""

import os
import signal
import socket
import subprocess
import sys
import urllib.request
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from staticgraph.__main__ import main
from staticgraph.applications.cli.outcome import FAILED, USAGE
from tests.watch.event_files import NAME, scalar_event, write

UPGRADE = """\
GET /changes HTTP/1.1
Host: {0}
Origin: http://{0}
Upgrade: websocket
Connection: Upgrade
Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==
Sec-WebSocket-Version: 13

"""
ROOT = Path(__file__).resolve().parent.parent.parent


@contextmanager
def watching(*arguments, folder):
    """The command in a process, and the address that it printed."""
    command = [sys.executable, "-W", "error", "-m", "staticgraph", "watch", "--port", "0", *arguments]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        url = process.stdout.readline().strip()
        assert process.stdout.readline() == "Ctrl-C ends it\n"
        yield process, url
    finally:
        process.kill()
        process.communicate()


def test_the_current_folder_is_served_until_ctrl_c(tmp_path):
    write(tmp_path / "run" / NAME, scalar_event("loss", 1, 0.5))
    with watching(folder=tmp_path) as (process, url):
        assert url.startswith("http://127.0.0.1:")
        with urllib.request.urlopen(f"{url}api/state", timeout=60) as answer:
            assert b'"run"' in answer.read()
        address = urlsplit(url)
        page = socket.create_connection((address.hostname, address.port), timeout=60)
        page.sendall(UPGRADE.format(address.netloc).replace("\n", "\r\n").encode())
        assert page.recv(12) == b"HTTP/1.1 101"  # a page that is open does not hold the end up
        process.send_signal(signal.SIGINT)
        printed, told = process.communicate(timeout=60)
        page.close()
    assert (process.returncode, printed, told) == (0, "", "")


def test_other_machines_get_an_address_with_a_token(tmp_path):
    with watching("--host", "0.0.0.0", folder=tmp_path) as (_, url):
        assert "/?token=" in url and "0.0.0.0" not in url


def test_the_page_is_written_to_a_file(tmp_path, capsys):
    write(tmp_path / "run" / NAME, *(scalar_event("loss", step, 0.5) for step in range(3)))
    page = tmp_path / "page.html"
    assert main(["watch", str(tmp_path), "--html", str(page)]) == 0
    assert capsys.readouterr().out == f"{page}: 1 run\n"
    assert '"loss"' in page.read_text(encoding="utf-8")
    assert main(["watch", str(tmp_path), "--html", str(tmp_path / "no" / "page.html")]) == FAILED
    assert "page.html cannot be written: No such file or directory" in capsys.readouterr().err


def test_what_is_not_there_is_told(tmp_path, capsys):
    assert main(["watch", str(tmp_path / "no" / "such"), "--port", "0"]) == USAGE
    assert main(["watch", str(tmp_path / "none"), "--html", str(tmp_path / "page.html")]) == USAGE
    assert main(["watch", str(tmp_path), "--html", str(tmp_path / "page.html")]) == USAGE
    told = capsys.readouterr().err.splitlines()
    assert "no such file or folder" in told[0] and "no such file or folder" in told[1]
    assert told[2] == f"there are no event files below {tmp_path}"
    assert not (tmp_path / "page.html").exists()


def test_a_port_that_is_taken_or_is_none(tmp_path, capsys):
    with watching(folder=tmp_path) as (_, url):
        port = url.rpartition(":")[2].strip("/")
        assert main(["watch", str(tmp_path), "--port", port]) == USAGE
    told = capsys.readouterr().err
    assert f"127.0.0.1:{port}" in told and "in use" in told and "--port 0 takes a free port" in told
    with pytest.raises(SystemExit):
        main(["watch", "--port", "70000"])
    assert "'70000' is not a port" in capsys.readouterr().err


def test_without_the_extra_the_line_that_installs_it_is_told(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "tornado", None)
    assert main(["watch", str(tmp_path)]) == FAILED
    assert 'pip install "staticgraph[watch]"' in capsys.readouterr().err
