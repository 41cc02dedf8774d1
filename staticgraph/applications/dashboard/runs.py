"""Runs: folders of event files, followed as they grow.

Curves are kept in memory, everything else as a place in its file, from where it is read when it is looked at.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from stat import S_ISREG

from staticgraph.applications.dashboard.events import Column, Kind, Single, decode
from staticgraph.applications.dashboard.records import Batch, RecordFile
from staticgraph.applications.dashboard.series import LATEST, Series
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.formats.tf.messages.event import EVENTS

_MOST_FILES, _MOST_RUNS, _MOST_FOLDERS, _DEEPEST = 1000, 500, 20_000, 12
_MOST_TAGS = 5000  # of a run
_MOST_PLACES = 200  # of a tag: images and the like; every second one is dropped when there are more
_MOST_POINTS = 50_000_000  # of all runs: 1 GB
_LOOK_FOR_FILES = 0.2  # seconds; the first point of a file is to be seen as soon as the others


@dataclass(frozen=True, slots=True)
class Place:
    """A value that is not a number, by its place in a file."""

    path: str
    start: int
    length: int
    step: int
    wall: float


class Run:
    """One run: the event files of a folder.

    Attributes:
        name: The folder, relative to what is watched.
        series: Numbers by their tags.
        places: Images, histograms, texts and graphs, by their kinds and tags.
        notes: What a reader should know of its files.
        points: Numbers in memory.
        version: Changes with every change.
        structure: Changes when there is another tag or note.
    """

    def __init__(self, name: str, folder: str) -> None:
        self.name = name
        self.folder = folder
        self.files: dict[str, RecordFile] = {}
        self._clear()
        self.version = self.structure = 0

    def _clear(self) -> None:
        self.series: dict[str, Series] = {}
        self.places: dict[tuple[str, str], list[Place]] = {}
        self.notes: list[str] = []
        self.points = 0

    def follow(self, lock: threading.Lock, end: float = float("inf"), room: int = _MOST_POINTS) -> bool:
        """Read what was appended to the files, until a moment of `time.monotonic`.

        Args:
            lock: Held while something changes.
            end: No further piece of a file is begun after it.
            room: Numbers that may be kept.

        Returns:
            If the files were read to their ends.
        """
        for path, file in sorted(self.files.items()):
            try:
                if os.stat(path).st_size != file.at and not file.broken:
                    for batch in file.read():
                        self._take(batch, path, lock, room)
                        if time.monotonic() >= end:
                            return False
            except FileNotFoundError:
                del self.files[path]
                file.replaced = True
            except OSError as error:
                file.broken = os.strerror(error.errno or 0)
            except Exception as error:  # whatever a file holds, the others are followed
                file.broken = f"{type(error).__name__}: {error}"
            if file.replaced:
                with lock:
                    self._restart()
                return False
            if file.broken:
                self._note(f"{os.path.basename(path)} is read no further: {file.broken}")
            if file.skipped:
                self._note(f"{os.path.basename(path)}: damaged or too large records are left out")
        return True

    def _take(self, batch: Batch, path: str, lock: threading.Lock, room: int) -> None:
        """Add what some records hold."""
        parts = sorted(decode(batch), key=lambda part: part[0])
        with lock:
            for _, part in parts:
                if self.points < room:
                    self._add(part, path, batch.base)
                else:
                    self._note("there is no room for more points: watch fewer runs")
            self.version += 1

    def _note(self, text: str) -> None:
        if text not in self.notes and len(self.notes) < _MOST_FILES:
            self.notes.append(text)
            self.structure += 1

    def _restart(self) -> None:
        """Read all files again."""
        self.files = {path: RecordFile(path) for path in self.files}
        self._clear()
        self.version += 1
        self.structure += 1

    def _add(self, part: Column | Single, path: str, base: int) -> None:
        if isinstance(part, Column):
            series = self.series.get(part.tag)
            if series is None:
                if self._is_full():
                    return
                series = self.series[part.tag] = Series()
                self.structure += 1
            before = len(series)
            series.extend(part.steps, part.walls, part.numbers)
            self.points += len(series) - before
        elif part.value.kind is Kind.START:
            self._purge(part.step, part.wall)
        elif part.value.kind is not Kind.TENSOR:
            value = part.value
            wall = part.wall if abs(part.wall) < LATEST else 0.0
            place = Place(path, base + value.start, value.end - value.start, part.step, wall)
            self._place((value.kind.value, value.tag), place)

    def _is_full(self) -> bool:
        """Return True, and say so, if there are too many tags for another one."""
        full = len(self.series) + len(self.places) >= _MOST_TAGS
        if full:
            self._note(f"only the first {_MOST_TAGS} tags are shown")
        return full

    def _purge(self, step: int, wall: float) -> None:
        """Forget what an earlier training wrote from a step on."""
        for series in self.series.values():
            series.purge(step, wall)
        self.points = sum(map(len, self.series.values()))
        for key, places in self.places.items():
            self.places[key] = [place for place in places if place.step < step or place.wall >= wall]

    def _place(self, key: tuple[str, str], place: Place) -> None:
        """Keep a place; of very many of a tag, ones at equal distances and the last one."""
        places = self.places.get(key)
        if places is None:
            if self._is_full():
                return
            places = self.places[key] = []
            self.structure += 1
        places.append(place)
        if key[0] == "graph":
            del places[:-1]
        elif len(places) > _MOST_PLACES:
            del places[1:-1:2]


class Runs:
    """All runs below some folders.

    Args:
        roots: Folders, or event files.
    """

    def __init__(self, roots: list[str]) -> None:
        self.roots = [os.path.abspath(root) for root in roots]
        self.runs: dict[str, Run] = {}
        self.lock = threading.Lock()
        self._next_look = 0.0
        self._gone = 0

    def follow(self, seconds: float = float("inf")) -> bool:
        """Look for new runs, and read what was appended; stop after some seconds.

        Returns:
            If everything was read that is there.
        """
        now = time.monotonic()
        if now >= self._next_look:
            self._look()
            done = time.monotonic()
            self._next_look = done + _LOOK_FOR_FILES * max(1.0, 50 * (done - now))  # many folders take long
        room = _MOST_POINTS - sum(run.points for run in self.runs.values())
        whole = True
        for run in list(self.runs.values()):
            whole = run.follow(self.lock, now + seconds, room + run.points) and whole
            if not run.files:  # they were deleted
                with self.lock:
                    del self.runs[run.name]
                    self._gone += run.structure + 1
        return whole

    @property
    def structure(self) -> int:
        """Changes when there is another run, or another tag or note of a run."""
        return self._gone + sum(run.structure + 1 for run in list(self.runs.values()))

    def versions(self) -> dict[str, int]:
        """Version of each run, by its name."""
        return {name: run.version for name, run in list(self.runs.items())}

    def _look(self) -> None:
        """Find folders with event files."""
        for root in self.roots:
            for folder, names in _folders(root):
                shown = os.path.relpath(folder, root)
                name = os.path.basename(root) if shown == "." else shown.replace(os.sep, "/")
                if len(self.roots) > 1 and shown != ".":
                    name = f"{os.path.basename(root)}/{name}"
                run = self._run(name, folder)
                if run is None:
                    return
                for file in names[:_MOST_FILES]:
                    run.files.setdefault(os.path.join(folder, file), RecordFile(os.path.join(folder, file)))

    def _run(self, name: str, folder: str) -> Run | None:
        """The run of a folder; two folders of one name are told apart."""
        for run in self.runs.values():
            if run.folder == folder:
                return run
        if len(self.runs) >= _MOST_RUNS:
            return None
        number, other = 1, name
        while other in self.runs:
            number, other = number + 1, f"{name} ({number + 1})"
        made = Run(other, folder)
        with self.lock:
            self.runs[other] = made
        return made


def _folders(root: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the folders that have event files, and the names of these, without links that leave the root."""
    if os.path.isfile(root):
        yield os.path.dirname(root), [os.path.basename(root)]
        return
    inside = os.path.realpath(root)
    left, seen = [(root, 0)], 0
    while left and seen < _MOST_FOLDERS:
        folder, depth = left.pop()
        seen += 1
        try:
            with os.scandir(folder) as entries:
                listed = sorted(entries, key=lambda entry: entry.name)
        except OSError:
            continue
        names = []
        for entry in listed:
            try:
                if entry.is_dir(follow_symlinks=False):
                    if depth < _DEEPEST and not entry.name.startswith((".", "__")):
                        left.append((entry.path, depth + 1))
                elif EVENTS in entry.name and _is_inside(entry, inside):
                    names.append(entry.name)
            except OSError:
                continue
        if names:
            yield folder, names


def _is_inside(entry: os.DirEntry[str], inside: str) -> bool:
    """Return True for a plain file, and for a link to one below the folder that is watched."""
    if not S_ISREG(entry.stat().st_mode):
        return False
    return not entry.is_symlink() or os.path.realpath(entry.path).startswith(os.path.join(inside, ""))
