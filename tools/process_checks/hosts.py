"""Train on four "hosts", network namespaces with a delay between them, and compare with a run without them.

It needs the rights of root, and the programs ip and tc. All that it makes has a prefix, and is removed.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from pathlib import Path

from process_checks.launching import ROOT, SCRIPTS, launched
from staticgraph.cli.launch import mpiexec

_PREFIX = "sghost"
_BRIDGE = f"{_PREFIX}br"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the options."""
    parser.add_argument("--hosts", type=int, default=4)
    parser.add_argument("--delay", default="5ms", help="of each way between two hosts")
    parser.add_argument("--loss", default="0%", help="of packets")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--net", default="cnn")


def check(options: argparse.Namespace) -> bool:
    """Return True if the hash is that of one process."""
    arguments = [str(SCRIPTS / "same_bits.py"), options.net, str(options.steps), "0"]
    here = set(re.findall("HASH (.*)", launched(1, Path(arguments[0]), *arguments[1:])))
    try:
        _make(options)
        said = _run(options.hosts, [sys.executable, *arguments])
    finally:
        _remove(options.hosts)
    there = re.findall("HASH (.*)", said)
    print(f"one process: {sorted(here)}")
    print(f"{options.hosts} hosts, {options.delay} delay, {options.loss} loss: {sorted(set(there))}")
    return len(there) == options.hosts and set(there) == here


def _make(options: argparse.Namespace) -> None:
    """Namespaces with an address each, joined by a bridge."""
    _call("ip", "link", "add", _BRIDGE, "type", "bridge")
    _call("ip", "addr", "add", "10.77.0.254/24", "dev", _BRIDGE)
    _call("ip", "link", "set", _BRIDGE, "up")
    for number in range(options.hosts):
        name, inner, outer = f"{_PREFIX}{number}", f"{_PREFIX}v{number}", f"{_PREFIX}b{number}"
        _call("ip", "netns", "add", name)
        _call("ip", "link", "add", outer, "type", "veth", "peer", "name", inner)
        _call("ip", "link", "set", inner, "netns", name)
        _call("ip", "link", "set", outer, "master", _BRIDGE, "up")
        inside = ("ip", "netns", "exec", name)
        _call(*inside, "ip", "addr", "add", f"10.77.0.{number + 1}/24", "dev", inner)
        _call(*inside, "ip", "link", "set", inner, "up")
        _call(*inside, "ip", "link", "set", "lo", "up")
        _call(*inside, "ip", "route", "add", "default", "via", "10.77.0.254")
        rules = ("root", "netem", "delay", options.delay, "loss", options.loss)
        told = _call(*inside, "tc", "qdisc", "add", "dev", inner, *rules, may_fail=True)
        if told and not number:
            print(f"there is no delay and no loss, which this kernel cannot make: {told.strip()}")


def _run(hosts: int, program: list[str]) -> str:
    """The output of a program on all hosts. The launcher enters a host where others would call ssh."""
    agent = ROOT / "tools" / "process_checks" / "enter_host.sh"
    names = ",".join(f"10.77.0.{number + 1}" for number in range(hosts))
    line = [mpiexec(), "-launcher", "ssh", "-launcher-exec", str(agent), "-hosts", names, "-ppn", "1"]
    line += ["-localhost", "10.77.0.254", "-n", str(hosts), *program]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "MPIR_CVAR_NOLOCAL": "1"}
    done = subprocess.run(
        line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=900, env=environment
    )
    if done.returncode:
        raise SystemExit(done.stdout)
    return done.stdout


def _remove(hosts: int) -> None:
    for number in range(hosts):
        _call("ip", "netns", "del", f"{_PREFIX}{number}", may_fail=True)
    _call("ip", "link", "del", _BRIDGE, may_fail=True)


def _call(*words: str, may_fail: bool = False) -> str:
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode and not may_fail:
        raise SystemExit(f"{' '.join(words)}: {done.stderr}")
    return done.stderr
