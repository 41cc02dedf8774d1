"""Switch between network namespaces that holds each frame for a while, or loses it.

Each namespace has a TAP device, of which this process reads what is sent and writes what arrives. It does in
Python what the kernel's netem does, which not every kernel has.
"""

from __future__ import annotations

import fcntl
import heapq
import os
import random
import select
import struct
import threading
import time
from itertools import count

_TUNSETIFF, _TAP, _WITHOUT_HEADER = 0x400454CA, 0x0002, 0x1000
_FRAME = 1 << 16  # bytes, at most
_MAC = 6  # bytes of an address; a frame begins with that of the receiver and that of the sender


class Switch:
    """Joins TAP devices, which it makes.

    Args:
        names: The names of the devices.
        delay: The seconds that a frame takes from one to another.
        loss: The part of frames that are lost.

    Attributes:
        frames: The number of frames that were passed on.
    """

    def __init__(self, names: list[str], delay: float, loss: float) -> None:
        self._ports = [_tap(name) for name in names]
        self._delay, self._loss, self._random = delay, loss, random.Random(0)
        self._known: dict[bytes, int] = {}  # the port of each sender
        self._waiting: list[tuple[float, int, bytes, list[int]]] = []
        self._numbers = count()
        self._open = True
        self.frames = 0
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def start(self) -> None:
        """Pass frames on from now on."""
        self._thread.start()

    def close(self) -> None:
        """Remove the devices."""
        self._open = False
        if self._thread.is_alive():
            self._thread.join()
        for port in self._ports:
            os.close(port)

    def _serve(self) -> None:
        while self._open:
            now = time.monotonic()
            left = self._waiting[0][0] - now if self._waiting else 0.1
            for port in select.select(self._ports, [], [], min(max(left, 0.0), 0.1))[0]:
                self._take(port)
            while self._waiting and self._waiting[0][0] <= time.monotonic():
                _, _, frame, targets = heapq.heappop(self._waiting)
                for target in targets:
                    os.write(target, frame)
                self.frames += 1

    def _take(self, port: int) -> None:
        """Read all frames that a device has sent."""
        while True:
            try:
                frame = os.read(port, _FRAME)
            except BlockingIOError:
                return
            self._known[frame[_MAC : 2 * _MAC]] = port
            if self._random.random() >= self._loss:
                target = self._known.get(frame[:_MAC])
                others = [each for each in self._ports if each != port]
                due = time.monotonic() + self._delay
                item = (due, next(self._numbers), frame, others if target is None else [target])
                heapq.heappush(self._waiting, item)


def _tap(name: str) -> int:
    port = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(port, _TUNSETIFF, struct.pack("16sH", name.encode(), _TAP | _WITHOUT_HEADER))
    return port
