"""Peers prepare themselves side by side and take times in turns; one that fails holds nobody up."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gpu_stages import peer, peer_process, peers
from gpu_stages.findings import Finding, Findings, missed, read
from gpu_stages.peer_process import PeerProcess
from gpu_stages.runner import TOOLS
from gpu_stages.setting import Setting
from gpu_stages.sizes import STEPS

# A peer that says what its row is called after, and writes down what it does.
PEER = """
import json, sys, time
from pathlib import Path
row, step, log = sys.argv[1:]
def told(what):
    with Path(log).open("a") as file:
        file.write(f"{row} {what} {time.monotonic()}\\n")
if row == "broken":
    sys.exit("no such\\nlibrary")
if row == "hanging":
    time.sleep(1000)
told("ready")
print("{a line of a library")
first = {"staticgraph": 0.5, "torch.compile": 2.0}.get(row, 1.0)
print(json.dumps({"losses": [1.0, 2.1 if row == "wrong" else 2.0], "first": first}), flush=True)
for line in sys.stdin:
    if row == "dying":
        sys.exit("out of memory")
    told("begins")
    time.sleep(0.02)
    told("ends")
    seconds = {"staticgraph": 50e-6, "slow": 80e-6}.get(row, 40e-6)
    print(json.dumps({"rounds": [seconds, seconds, 1.0]}), flush=True)
"""


@pytest.fixture
def setting(tmp_path: Path) -> Setting:
    return Setting("standin", 600, tmp_path, Findings("test", tmp_path / "test.jsonl"), time.monotonic())


def played(setting: Setting, monkeypatch: pytest.MonkeyPatch, *rows: str) -> dict[str, Finding]:
    """Return the findings about our step and these rows at the small net, by name."""
    script = setting.folder / "peer.py"
    script.write_text(PEER)
    monkeypatch.setattr(peers, "ROWS", [peers.Row(row, "numpy") for row in rows])
    monkeypatch.setattr(peers, "STEPS", {"small_mlp": STEPS["small_mlp"]})
    log = str(setting.folder / "log")
    monkeypatch.setattr(
        peers, "command", lambda row, step, device: [sys.executable, str(script), row, step, log]
    )
    peers.run(setting)
    title = STEPS["small_mlp"].title
    return {f.name.removeprefix(f"{title}: "): f for f in read(setting.folder / "test.jsonl")}


def test_large_steps_must_be_ahead_and_begin_sooner(setting, monkeypatch):
    monkeypatch.setattr(peers, "SMALL", "another")
    monkeypatch.setattr(peers, "COLD", "small_mlp")
    found = played(setting, monkeypatch, peers.OURS, "torch.compile", "slow")
    first = {name.partition(":")[0]: f for name, f in found.items() if "first step" in name}
    assert {name: (f.value, f.target) for name, f in first.items()} == {
        peers.OURS: (0.5, None),
        "torch.compile": (2.0, 2.5),
        "slow": (1.0, None),
    }
    assert missed(first["torch.compile"])
    assert found["slow"].target == pytest.approx(50 / 0.9) and not missed(found["slow"])


def test_peers_are_compared_with_ours(setting, monkeypatch):
    found = played(setting, monkeypatch, peers.OURS, "slow", "wrong")
    assert list(found) == [
        "peers",
        "slow",
        "slow has our losses",
        "wrong",
        "wrong has our losses",
        peers.OURS,
    ]
    assert found["peers"].text == "slow, wrong"
    assert (found["slow"].value, found["slow"].target) == pytest.approx((80, 50))
    assert not missed(found["slow"]) and missed(found["wrong"])
    assert found["slow"].text.startswith("1.60 times as long as ours")
    assert found[peers.OURS].value == pytest.approx(50)
    assert found["slow has our losses"].ok and found["wrong has our losses"].ok is False


def test_they_take_times_alone_and_in_turns(setting, monkeypatch):
    played(setting, monkeypatch, peers.OURS, "slow", "quick")
    lines = [line.split() for line in (setting.folder / "log").read_text().splitlines()]
    assert [what for _, what, _ in lines[:3]] == ["ready"] * 3  # all of them before the first takes times
    assert [(row, what) for row, what, _ in lines[3:]] == [
        (row, what)
        for other in ("slow", "quick")
        for row in (peers.OURS, other) * 2
        for what in ("begins", "ends")
    ]


@pytest.mark.takes_long
def test_one_that_fails_holds_nobody_up(setting, monkeypatch):
    monkeypatch.setattr(peers, "PATIENCE", 3.0)
    monkeypatch.setattr(peers, "LEAST", 1.0)
    found = played(setting, monkeypatch, peers.OURS, "broken", "hanging", "dying", "slow")
    assert (found["broken"].ok, found["broken"].text) == (False, "RuntimeError: broken: no such / library")
    assert found["hanging"].ok is False and "no losses" in found["hanging"].text
    assert (found["dying"].ok, found["dying"].text) == (False, "RuntimeError: dying: out of memory")
    assert found["slow"].value == pytest.approx(80)


def test_without_ours_peers_have_times_all_the_same(setting, monkeypatch):
    found = played(setting, monkeypatch, "broken", "slow")
    assert found["slow"].value == pytest.approx(80) and found["slow"].target is None


def test_where_no_time_is_left_steps_are_left_out(tmp_path, monkeypatch):
    setting = Setting("standin", 5, tmp_path, Findings("test", tmp_path / "test.jsonl"), time.monotonic())
    found = played(setting, monkeypatch, peers.OURS, "slow")
    assert found[STEPS["small_mlp"].title].text.startswith("left out: ")


@pytest.mark.parametrize(
    ("cores", "left", "names"),
    [
        (2, 200, ["a"]),
        (14, 200, ["a", "b"]),
        (16, 200, ["a", "b", "c"]),
        (16, 130, ["a", "b"]),
        (16, 20, ["a"]),
    ],
)
def test_as_many_prepare_themselves_as_cores_and_time_are_enough_for(cores, left, names):
    work = {"a": ["row"] * 8, "b": ["row"] * 4, "c": ["row"] * 4}
    assert peers.together(work, cores, left) == names


@pytest.mark.takes_long
def test_our_own_step_is_timed_whenever_it_is_asked_to(setting, host):
    ours = PeerProcess("ours", peers.command(peers.OURS, "small_mlp", "standin"), {})
    try:
        assert len(ours.losses(time.monotonic() + 120)) == peer.LOSSES
        for _ in range(2):
            taken = ours.rounds()
            assert len(taken) == peer.ROUNDS and min(taken) > 0
    finally:
        ours.end()


def test_a_peer_can_be_asked_by_hand(setting, host):
    command = peers.command(peers.OURS, "small_mlp", "standin")[:-1]
    done = subprocess.run(command, cwd=TOOLS, capture_output=True, text=True, check=True)
    answer = json.loads(done.stdout.splitlines()[-1])
    assert answer["seconds"] > 0 and len(answer["losses"]) == peer.LOSSES


def test_times_that_take_too_long_are_given_up(setting, monkeypatch):
    monkeypatch.setattr(peer_process, "PATIENCE", 0.5)
    script = "print('{\"losses\": [1.0]}', flush=True); input(); input()"
    slow = PeerProcess("slow", [sys.executable, "-c", script], {})
    try:
        assert slow.losses(time.monotonic() + 60) == [1.0]
        with pytest.raises(TimeoutError, match="slow: no rounds"):
            slow.rounds()
        assert slow.failed
    finally:
        slow.end()
