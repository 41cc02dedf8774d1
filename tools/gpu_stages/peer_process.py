"""The process of a peer: it prepares itself beside others, and takes times when it is told to."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from gpu_stages.peer import TIME
from gpu_stages.runner import TOOLS

PATIENCE = 15.0  # seconds to take times once
_LINES = 3  # of what it said before it failed


class PeerProcess:
    """Its losses and times, when they are there. An error tells what it said before it failed."""

    def __init__(self, name: str, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self.name, self.failed = name, False
        self.first = 0.0  # seconds of its first step, with all that is compiled for it
        self._said = tempfile.TemporaryFile()  # noqa: SIM115  (closed with it)
        self._began = time.monotonic()
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            text=True,
            errors="replace",
            cwd=TOOLS,
            env={**os.environ, **environment},
        )
        self._answers: queue.Queue[dict[str, Any] | None] = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()

    def losses(self, until: float) -> list[float]:
        """Its first ones, when it is prepared, which must be before `time.monotonic()` is as late as that."""
        return self._answer("losses", until)

    def rounds(self) -> list[float]:
        """Seconds per step in some rounds, taken now."""
        assert self._process.stdin is not None
        with suppress(OSError):  # of a process that has ended, which shows below
            self._process.stdin.write(f"{TIME}\n")
            self._process.stdin.flush()
        return self._answer("rounds", time.monotonic() + PATIENCE)

    def end(self) -> None:
        """End it, however it is."""
        self._process.kill()
        self._process.wait()
        if self._process.stdin is not None:
            with suppress(OSError):  # of a line that it has not read
                self._process.stdin.close()
        self._said.close()

    def _answer(self, key: str, until: float) -> list[float]:
        try:
            found = self._answers.get(timeout=max(0.0, until - time.monotonic()))
        except queue.Empty:
            self.failed = True
            waited = time.monotonic() - self._began
            raise TimeoutError(f"{self.name}: no {key}, {waited:.0f} s after its start") from None
        if found is None or key not in found:
            self.failed = True
            raise RuntimeError(f"{self.name}: {self._last_words()}")
        self.first = found.get("first", self.first)
        return found[key]

    def _listen(self) -> None:
        """Lines of JSON are answers; libraries may print others."""
        assert self._process.stdout is not None
        with self._process.stdout as output:
            for line in output:
                if line.startswith("{"):
                    with suppress(ValueError):
                        self._answers.put(json.loads(line))
        self._answers.put(None)

    def _last_words(self) -> str:
        self._said.seek(0)
        lines = self._said.read().decode(errors="replace").splitlines()
        return " / ".join(lines[-_LINES:]) or "it ended without a word"
