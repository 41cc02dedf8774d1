"""Train on four "hosts", network namespaces with a delay between them, and compare with a run without them.

It needs the rights of root, and the program ip. All that it makes has a prefix, and is removed.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from pathlib import Path

from process_checks.launching import ROOT, SCRIPTS, launched
from process_checks.switch import Switch
from staticgraph.applications.cli.launch import mpiexec

_PREFIX = "sghost"
# The namespaces share a memory and a kernel: MPI must not find out.
_BY_NETWORK = {"MPIR_CVAR_NOLOCAL": "1", "UCX_TLS": "tcp,self", "FI_PROVIDER": "tcp"}
_ECHO = """
import socket
own = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
own.bind(("", 7777))
while True:
    own.sendto(*own.recvfrom(100))
"""
_ASK = """
import socket, time
own, times = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), []
own.settimeout(0.5)
while len(times) < 8:
    start = time.perf_counter()
    own.sendto(b"there and back", ("10.77.0.2", 7777))
    try:
        own.recv(100)
        times.append(time.perf_counter() - start)
    except TimeoutError:
        pass
print(1000 * min(times))
"""
_HERE = f"{_PREFIX}up"  # the device of the namespace in which the launcher runs


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the options."""
    parser.add_argument("--hosts", type=int, default=4)
    parser.add_argument("--delay", type=float, default=5.0, help="milliseconds of each way between two hosts")
    parser.add_argument("--loss", type=float, default=0.0, help="percent of frames")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--net", default="cnn")


def check(options: argparse.Namespace) -> bool:
    """Return True if the hash is that of one process."""
    arguments = [str(SCRIPTS / "same_bits.py"), options.net, str(options.steps), "0"]
    here = set(re.findall("HASH (.*)", launched(1, Path(arguments[0]), *arguments[1:])))
    names = [f"{_PREFIX}v{number}" for number in range(options.hosts)]
    switch = Switch([_HERE, *names], options.delay / 1e3, options.loss / 100)
    try:
        _make(names)
        switch.start()
        took = _way()
        started = time.perf_counter()
        said = _run(options.hosts, [sys.executable, *arguments])
        seconds = time.perf_counter() - started
    finally:
        switch.close()
        _remove(options.hosts)
    there = re.findall("HASH (.*)", said)
    print(f"one process: {sorted(here)}")
    told = f"{took:.1f} ms there and back, {options.loss:g} % lost, {switch.frames} frames, {seconds:.0f} s"
    print(f"{options.hosts} hosts, {told}: {sorted(set(there))}")
    is_by_network = switch.frames > options.steps * options.hosts  # at least a frame of each host in a step
    return is_by_network and took >= 2 * options.delay and len(there) == options.hosts and set(there) == here


def _make(devices: list[str]) -> None:
    """Namespaces with a device and an address each."""
    _call("ip", "addr", "add", "10.77.0.254/24", "dev", _HERE)
    _call("ip", "link", "set", _HERE, "up")
    for number, device in enumerate(devices):
        name = f"{_PREFIX}{number}"
        _call("ip", "netns", "add", name)
        _call("ip", "link", "set", device, "netns", name)
        inside = ("ip", "netns", "exec", name)
        _call(*inside, "ip", "addr", "add", f"10.77.0.{number + 1}/24", "dev", device)
        _call(*inside, "ip", "link", "set", device, "up")
        _call(*inside, "ip", "link", "set", "lo", "up")
        _call(*inside, "ip", "route", "add", "default", "via", "10.77.0.254")


def _way() -> float:
    """The milliseconds of a message from the first host to the second one and back, the least of some."""
    inside = ["ip", "netns", "exec", f"{_PREFIX}0", sys.executable, "-c"]
    other = ["ip", "netns", "exec", f"{_PREFIX}1", sys.executable, "-c"]
    echo = subprocess.Popen([*other, _ECHO])
    try:
        return float(subprocess.check_output([*inside, _ASK], timeout=60))
    finally:
        echo.terminate()
        echo.wait()


def _run(hosts: int, program: list[str]) -> str:
    """The output of a program on all hosts. The launcher enters a host where others would call ssh."""
    agent = ROOT / "tools" / "process_checks" / "enter_host.sh"
    names = ",".join(f"10.77.0.{number + 1}" for number in range(hosts))
    line = [mpiexec(), "-launcher", "ssh", "-launcher-exec", str(agent), "-hosts", names, "-ppn", "1"]
    line += ["-localhost", "10.77.0.254", "-n", str(hosts), *program]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "SG_THREADS": "1", **_BY_NETWORK}
    done = subprocess.run(
        line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=900, env=environment
    )
    if done.returncode:
        raise SystemExit(done.stdout)
    return done.stdout


def _remove(hosts: int) -> None:
    for number in range(hosts):
        _call("ip", "netns", "del", f"{_PREFIX}{number}", may_fail=True)


def _call(*words: str, may_fail: bool = False) -> str:
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode and not may_fail:
        raise SystemExit(f"{' '.join(words)}: {done.stderr}")
    return done.stderr
