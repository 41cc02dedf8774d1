"""Answers to what the page asks: runs and tags, curves, and what else lies in the files."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping
from typing import Any

from staticgraph.applications.dashboard import contents
from staticgraph.applications.dashboard.curves import AXES, RATE, Curves, rates
from staticgraph.applications.dashboard.drawing import Drawer
from staticgraph.applications.dashboard.runs import Place, Run, Runs
from staticgraph.compiler.graph.errors import NotFoundError

_KINDS = ("image", "audio", "histogram", "text", "graph")
_MOST_PICTURES = 20
_MOST_ASKED = 40  # histograms or texts of a tag that are read at once


class Answers:
    """Answers to the questions of the page about some runs.

    Args:
        runs: The runs.
    """

    def __init__(self, runs: Runs) -> None:
        self._runs = runs
        self._curves = Curves()
        self._drawer = Drawer()
        self._pictures: dict[bytes, bytes] = {}  # of graphs, by the digest of the graph

    def stop(self) -> None:
        """End what is being drawn."""
        self._drawer.stop()

    def state(self) -> dict[str, Any]:
        """Return all runs in the order of their names, with their tags by kind, and notes of their files."""
        with self._runs.lock:
            runs = [_described(self._runs.runs[name]) for name in sorted(self._runs.runs, key=_natural)]
        return {"runs": runs, "folders": self._runs.roots}

    def versions(self) -> dict[str, Any]:
        """Return what changes with the runs: for each the `version` of its points, `structure` for tags.

        It waits for no lock, because the server's loop asks.
        """
        return {"versions": self._runs.versions(), "structure": self._runs.structure}

    def curves(self, question: Mapping[str, list[str]]) -> dict[str, Any]:
        """Return the curves of a tag, by run.

        Args:
            question: Texts by name: `tag`; `run`, any number of them; and what `Curves.curve` takes: `axis`,
                `smoothing`, `columns`, `from` and `to`.

        Raises:
            ValueError: A number or an axis is none.
        """
        axis = _one(question, "axis", "step")
        if axis not in AXES:
            raise ValueError(f"the axis is one of {', '.join(AXES)}")
        between = None
        if "from" in question:
            between = _number(question, "from", 0.0), _number(question, "to", 0.0)
        smoothing = min(max(_number(question, "smoothing", 0.0), 0.0), 0.9999)
        columns = int(_number(question, "columns", 800.0))
        found, tag = {}, _one(question, "tag", "")
        for name in question.get("run", []):
            with self._runs.lock:
                run = self._runs.runs.get(name)
                if run is not None:
                    made = self._curves.curve(run, tag, axis, smoothing, columns, between)
                    if made is not None:
                        found[name] = made
        return found

    def places(self, question: Mapping[str, list[str]]) -> list[dict[str, Any]]:
        """Return step and time of each value of a tag that is not a number: `kind`, `run`, `tag`."""
        return [{"step": place.step, "wall": place.wall} for place in self._places(question)]

    def histograms(self, question: Mapping[str, list[str]]) -> list[dict[str, Any]]:
        """Return the histograms of a tag, at most 40 at about equal distances. A damaged one is left out."""
        places = self._places({**question, "kind": ["histogram"]})
        chosen = places[:: max(1, math.ceil(len(places) / _MOST_ASKED))]
        if places and chosen[-1] is not places[-1]:
            chosen.append(places[-1])
        made = []
        for place in chosen:
            try:
                made.append({"step": place.step, "wall": place.wall, **contents.histogram(place)})
            except (OSError, ValueError):
                continue
        return made

    def texts(self, question: Mapping[str, list[str]]) -> list[dict[str, Any]]:
        """Return the last 40 texts of a tag, the newest first. A damaged one is left out."""
        made = []
        for place in reversed(self._places({**question, "kind": ["text"]})[-_MOST_ASKED:]):
            try:
                made.append({"step": place.step, "wall": place.wall, "text": contents.text(place)})
            except (OSError, ValueError):
                continue
        return made

    def media(self, question: Mapping[str, list[str]]) -> tuple[str, bytes]:
        """Return an image, a sound or the picture of a graph: its type and its bytes.

        Raises:
            NotFoundError: There is none at this `index`.
            OSError: The file cannot be read, or its bytes are something else.
        """
        kind = _one(question, "kind", "")
        places = self._places(question)
        index = int(_number(question, "index", -1.0))
        if not -len(places) <= index < len(places):
            raise NotFoundError("there is no such value")
        place = places[index]
        match kind:
            case "image":
                return contents.picture(place)
            case "audio":
                return contents.sound(place)
            case "graph":
                return "image/svg+xml", self._picture(place)
        raise NotFoundError("there is no such kind")

    def _picture(self, place: Place) -> bytes:
        graph = contents.read(place)
        key = hashlib.sha256(graph).digest()
        if key not in self._pictures:  # runs to be compared often have the same one
            if len(self._pictures) >= _MOST_PICTURES:
                self._pictures.clear()
            self._pictures[key] = self._drawer.picture(graph)
        return self._pictures[key]

    def _places(self, question: Mapping[str, list[str]]) -> list[Place]:
        with self._runs.lock:
            run = self._runs.runs.get(_one(question, "run", ""))
            key = _one(question, "kind", ""), _one(question, "tag", "")
            return [] if run is None else list(run.places.get(key, ()))


def _described(run: Run) -> dict[str, Any]:
    tags: dict[str, list[str]] = {"scalar": list(run.series)}
    for kind in _KINDS:
        tags[kind] = [tag for place_kind, tag in run.places if place_kind == kind]
    if not any(_is_rate(tag) for tag in run.series) and rates(run) is not None:
        tags["scalar"].append(RATE)
    return {"name": run.name, "tags": tags, "notes": run.notes, "points": run.points}


def _natural(name: str) -> list[tuple[float, str]]:
    """Order of names in which numbers count as such.

    >>> sorted(["run_10", "run_9", "lr_0.1", "lr_0.02"], key=_natural)
    ['lr_0.02', 'lr_0.1', 'run_9', 'run_10']
    """
    parts = re.findall(r"(\d{1,15}(?:\.\d{1,15})?)|(\D+|\d+)", name)
    return [(float(number), "") if number else (-1.0, text) for number, text in parts]


def _is_rate(tag: str) -> bool:
    """Return True if a curve tells how fast a training is."""
    return tag.startswith("throughput/") or tag.endswith("/sec")


def _one(question: Mapping[str, list[str]], name: str, default: str) -> str:
    given = question.get(name)
    return given[0] if given else default


def _number(question: Mapping[str, list[str]], name: str, default: float) -> float:
    number = float(_one(question, name, str(default)))
    if not math.isfinite(number):
        raise ValueError(f"{name} is not a number")
    return number
