"""SIGKILL at random moments of saves, of writes to the cache and of trainings: nothing is half done."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

import staticgraph as sg
from staticgraph.runtime.disk import object_cache

ROOT = Path(__file__).resolve().parents[2]
WAYS = ("graph", "checkpoint", "tensorflow", "safetensors", "npz")
CHECKS = "tests.saving.saves"  # a program that saves, is killed, and looks at what is left
LONGEST = 120.0  # seconds
SETTINGS = ("--set", "train.epochs=40", "--set", "snapshot.every=15")


def run(count: int, seed: int, folder: Path) -> str:
    """Kill so many processes: a third of each kind."""
    third = max(1, count // 3)
    saves = sum(_saves(way, max(1, third // len(WAYS)), folder / way) for way in WAYS)
    writes = _writes(third, random.Random(seed), folder / "cache")
    trainings = _trainings(count - 2 * third or 1, random.Random(seed), folder / "training")
    return f"killed in {saves} saves, {writes} writes to the cache, {trainings} trainings: nothing lost"


def _environment(**more: str) -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(ROOT)} | more


def _saves(way: str, count: int, folder: Path) -> int:
    folder.mkdir()
    command = [sys.executable, "-m", CHECKS, way, str(folder), str(count)]
    done = subprocess.run(command, cwd=ROOT, env=_environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


def _writes(count: int, chance: random.Random, where: Path) -> int:
    """Kill processes that write entries; those that are there must be whole, and nothing else be left."""
    with sg.options(cache_dir=str(where)):
        for number in range(count):
            child = os.fork()
            if child == 0:
                object_cache._keys.clear()
                while True:
                    key = f"{chance.randrange(40):032x}"
                    object_cache.write(key, key.encode() * 2000)
            time.sleep(chance.uniform(0, 0.02))
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            object_cache._keys.clear()
            object_cache._swept.clear()
            object_cache.write(f"{100:032x}", b"after")
            names = os.listdir(where)
            assert not [name for name in names if name.endswith(".part")], (number, names)
            for name in names:
                if name.endswith(".entry"):
                    key = name.removesuffix(".entry")
                    assert object_cache.read(key) in (key.encode() * 2000, b"after"), (number, name)
    return count


def _trainings(count: int, chance: random.Random, folder: Path) -> int:
    """Kill the training command again and again, and resume; it comes to the end of an undisturbed one."""
    folder.mkdir()
    files = ("iris.toml", "iris.csv")
    for name in files:
        shutil.copy(ROOT / "examples" / name, folder / name)
    command = [sys.executable, "-m", "staticgraph", "train", str(folder / "iris.toml"), *SETTINGS]
    _finished(command, folder)
    wanted, killed = _weights(folder / "iris.sg"), 0
    while killed < count:
        for path in folder.iterdir():
            if path.name not in files:
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        for _ in range(min(4, count - killed)):
            killed += _killed([*command, "--resume"], folder, chance)
        _finished([*command, "--resume"], folder)
        found = _weights(folder / "iris.sg")
        assert all(np.array_equal(found[name], wanted[name]) for name in wanted), "another end"
        assert not [*folder.rglob("*.part")], [*folder.rglob("*.part")]
    return killed


def _killed(command: list[str], folder: Path, chance: random.Random) -> int:
    process = subprocess.Popen(command, cwd=folder, env=_environment(), stdout=-3, stderr=-3)
    try:
        process.wait(chance.uniform(0.3, 2.5))
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return 1
    return 0


def _finished(command: list[str], folder: Path) -> None:
    done = subprocess.run(
        command, cwd=folder, env=_environment(), capture_output=True, text=True, timeout=LONGEST
    )
    assert done.returncode == 0, done.stdout + done.stderr


def _weights(path: Path) -> dict[str, np.ndarray]:
    loaded = sg.load(path)
    return {name: np.array(loaded.variables[name]) for name in loaded.variables}
