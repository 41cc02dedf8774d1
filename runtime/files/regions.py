"""Regions in a file: loops and branches, and the operations that are a part of them.

    "regions": [null, null, 1]                        what region each region lies in
    {"name": "while/add", "region": 1, ...}           an operation inside
    "body": {"region": [1, ["while/Identity:0"], ["while/add:0"]]}     number, params, results

Regions come after those around them, so a file cannot hold a cycle.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from staticgraph.compiler.capture.regions import held_regions
from staticgraph.compiler.graph.errors import InvalidFileError
from staticgraph.compiler.graph.tensor import Operation, Region, Tensor, may_use
from staticgraph.runtime.files.strict_json import check, items

_DEEPEST = 100  # regions around an operation


class RegionWriter:
    """The regions of operations that are saved."""

    def __init__(self, operations: Iterable[Operation]) -> None:
        self._numbers: dict[Region, int] = {}
        for op in operations:
            for region in (*([op.region] if op.region is not None else ()), *held_regions(op)):
                for each in reversed(region.around):
                    self._numbers.setdefault(each, len(self._numbers))

    @property
    def parents(self) -> list[int | None]:
        """The number of the region that each one lies in."""
        return [self.number(region.parent) for region in self._numbers]

    def number(self, region: Region | None) -> int | None:
        """The number of a region."""
        return None if region is None else self._numbers[region]

    def attribute(self, region: Region) -> list[Any]:
        """Return the attribute of an operation for one of its regions: its number, params and results."""
        params, results = ([t.name for t in tensors] for tensors in (region.params, region.results))
        return [self._numbers[region], params, results]


class RegionReader:
    """The regions of operations that are restored, in order of construction."""

    def __init__(self, parents: Any) -> None:
        self._regions: list[Region] = []
        self._told: set[Region] = set()  # those whose params and results are known
        self._params: dict[Region, list[Tensor]] = {}
        for number, parent in enumerate(items(parents, "its regions", int, type(None))):
            region = Region(None if parent is None else self._numbered(parent, f"region {number}"))
            if len(region.around) > _DEEPEST:
                raise InvalidFileError("its loops and branches are nested too deeply")
            self._regions.append(region)

    def _numbered(self, number: int, what: str) -> Region:
        if not 0 <= number < len(self._regions):
            raise InvalidFileError(f"{what} is in region {number}, which is not before it")
        return self._regions[number]

    def around(self, number: int | None, name: str) -> Region | None:
        """The region that the operation `name` is in."""
        if number is None:
            return None
        region = self._numbered(number, f"{name!r}")
        if region.owner is not None:
            raise InvalidFileError(f"{name!r} comes after {region.owner.name!r}, which it is a part of")
        return region

    def attribute(self, value: Any, what: str, tensor: Callable[[Any], Tensor]) -> Region:
        """The region that an attribute tells of."""
        if len(check(value, what, list)) != 3:
            raise InvalidFileError(f"{what} is not a number, params and results")
        region = self._numbered(check(value[0], what, int), what)
        if region in self._told:
            raise InvalidFileError(f"{what} is a region that is a part of another operation too")
        self._told.add(region)
        region.params = tuple(tensor(t) for t in items(value[1], what, str))
        region.results = tuple(tensor(t) for t in items(value[2], what, str))
        if list(region.params) != self._params.get(region, []):
            raise InvalidFileError(f"the params of {what} are not the region_parameter operations in it")
        for result in region.results:
            if not may_use(region, result.op.region):
                raise InvalidFileError(f"{what} cannot give {result.name}, which is a part of another region")
        return region

    def made(self, op: Operation) -> None:
        """Check an operation that was restored, and what it says of regions."""
        if op.definition.name == "region_parameter":
            if op.region is None:
                raise InvalidFileError(f"{op.name!r} is a param and in no region")
            self._params.setdefault(op.region, []).append(op.outputs[0])
        for region in held_regions(op):
            if region.parent is not op.region:
                raise InvalidFileError(f"{op.name!r} and its region are not in the same region")
            tensors, controls = region.captures()
            if not set(tensors) <= set(op.tensors) or not set(controls) <= set(op.controls):
                raise InvalidFileError(f"{op.name!r} does not have what its region captures")
            region.owner = op

    def finish(self) -> None:
        """Check that each region is a part of an operation."""
        for number, region in enumerate(self._regions):
            if region.owner is None:
                raise InvalidFileError(f"region {number} is not a part of an operation")
