"""From a TOML file to a checked `Description`; what is wrong is told with the line."""

from __future__ import annotations

import os
import re
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from staticgraph.applications.solver.description import SOURCES, TABLES, Chosen, Description, keys_of
from staticgraph.applications.solver.errors import DescriptionError, meant, told
from staticgraph.applications.solver.kinds import LAYERS, MERGING, OPTIMIZERS, SCHEDULES, Maker, parameters
from staticgraph.applications.solver.objective import LOSSES, metrics_of
from staticgraph.applications.solver.places import Path as Keys
from staticgraph.applications.solver.places import Place, key_places, nearest_place
from staticgraph.applications.solver.values import FILE, FLAG, NAMES, SHARE_OR_FILE, TEXT, Kind
from staticgraph.compiler.graph.errors import NotFoundError, shown
from staticgraph.runtime.files.plain_file import opener

Table = TypeVar("Table")
Places = dict[Keys, tuple[Place, Place]]

INPUT = "data"  # what the first layer sees, where layers name their inputs
_CHOSEN = ("loss", "optimizer", "schedule")
_LAYER = {"name": TEXT, "inputs": NAMES, "trainable": FLAG}
_ALTERNATIVES = (("train", "epochs", "steps"), ("data", *SOURCES))  # a change to one takes the others' place
_LARGEST = 1 << 24  # bytes of a description


def read(path: str | os.PathLike[str], changes: Sequence[str] = ()) -> Description:
    """The description in a file, with `changes` such as "train.epochs=5" or "layer.conv1.filters=8".

    Paths in the file count from its folder; those in changes from the current one. `DescriptionError` for
    what is wrong, `NotFoundError` if there is no file.
    """
    path = Path(path)
    text = _text(path)
    try:
        tables, places = tomllib.loads(text), key_places(text, path.name)
    except tomllib.TOMLDecodeError as error:
        raise DescriptionError(_syntax(str(error), path, text)) from None
    except RecursionError:
        raise DescriptionError(f"{path} is nested too deeply for a description") from None
    reader = _Reader(tables, places)
    reader.name_layers()
    for change in changes:
        reader.change(change)
    return reader.description(path)


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > _LARGEST:
            raise DescriptionError(f"{path} is too large for a description: {path.stat().st_size:,} bytes")
        with open(path, "rb", opener=opener) as file:
            return file.read().decode("utf-8-sig").replace("\r\n", "\n")
    except FileNotFoundError:
        raise NotFoundError(f"{path}: no such file") from None
    except UnicodeDecodeError as error:
        raise DescriptionError(f"{path} is not text in UTF-8: byte {error.start} is {error.reason}") from None
    except (OSError, ValueError) as error:  # a name with a zero byte is a ValueError
        raise DescriptionError(f"{path} cannot be read: {getattr(error, 'strerror', error)}") from None


def _syntax(message: str, path: Path, text: str) -> str:
    """Return the message of Python's reader with the line that it refers to."""
    found = re.search(r" \(at (?:line (\d+), column (\d+)|end of document)\)$", message)
    if found is None:
        return told(f"{message}", Place(path.name))
    lines = text.split("\n")
    line, column = (int(n) for n in found.groups()) if found[1] else (len(lines), len(lines[-1]) + 1)
    where = Place(path.name, lines[line - 1], line, column - 1, column)
    what = message[: found.start()]
    return told(f"this is not TOML: {what[:1].lower()}{what[1:]}", where)


class _Reader:
    """The tables of a file, and where each key stands."""

    def __init__(self, tables: dict[str, Any], places: Places) -> None:
        self.tables, self.places = tables, places

    def error(self, text: str, keys: Keys, hint: str | None = None, at_key: bool = False) -> DescriptionError:
        return DescriptionError(told(text, nearest_place(self.places, keys, at_key), hint))

    def name_layers(self) -> None:
        """Give each layer a name: its own, else its type, with a number where that is taken."""
        listed = self.tables.get("layer", [])
        if not isinstance(listed, list) or not all(isinstance(layer, dict) for layer in listed):
            raise self.error("layers are tables", ("layer",), "write [[layer]] above each")
        taken = Counter(str(layer["name"]) for layer in listed if "name" in layer)
        for layer in listed:
            if "name" not in layer:
                type = str(layer.get("type", "layer"))
                taken[type] += 1
                layer["name"] = type if taken[type] == 1 else f"{type}_{taken[type]}"

    # Changes

    def change(self, change: str) -> None:
        """Set one key as the command line says."""
        keys: Keys
        name, sign, text = change.partition("=")
        *tables, last = name.strip().split(".")
        here = Place(f"--set {change}")
        if not sign or not tables or not last:
            raise DescriptionError(told("a change is TABLE.KEY=VALUE", here, "such as train.epochs=5"))
        keys, table, inner = (), self.tables, tables
        if tables[0] == "layer":
            number = self.layer_number(tables[1] if len(tables) > 1 else last, here)
            keys, table, inner = ("layer", number), self.tables["layer"][number], tables[2:]
        for part in inner:
            keys, table = (*keys, part), table.setdefault(part, {})
            if not isinstance(table, dict):
                raise DescriptionError(told(f"{part} is a value, and has no keys", here))
        for others in _ALTERNATIVES:
            if keys == (others[0],) and last in others[1:]:
                for other in others[1:]:
                    table.pop(other, None)
        table[last] = self.changed(keys, last, text.strip())
        for end in range(1, len(keys) + 1):  # tables that the file has not
            self.places.setdefault(keys[:end], (here, here))
        self.places[*keys, last] = here, here

    def layer_number(self, name: str, here: Place) -> int:
        names = [layer["name"] for layer in self.tables.get("layer", [])]
        if name not in names:
            raise DescriptionError(told(f"there is no layer {name!r}", here, meant(name, names)))
        return names.index(name)

    def changed(self, keys: Keys, last: str, text: str) -> Any:
        """A value of TOML; what is none is a text. A path counts from here, not from the file's folder."""
        try:
            value = tomllib.loads(f"value = {text}")["value"]
        except tomllib.TOMLDecodeError:
            value = text
        kind = _kinds_of(TABLES[str(keys[0])]).get(last) if keys[0] in TABLES else None
        is_path = kind in (FILE, SHARE_OR_FILE) and isinstance(value, str)
        return os.path.abspath(value) if is_path else value

    # Reading

    def description(self, path: Path) -> Description:
        """All tables, checked."""
        known = [*TABLES, "layer", *_CHOSEN]
        for name in self.tables:
            if name not in known:
                raise self.error(f"unknown table {name!r}", (name,), meant(name, known), at_key=True)
        made: dict[str, Any] = {name: self.table(name, table) for name, table in TABLES.items()}
        self.check_data()
        chosen = {n: self.chosen(n) for n in _CHOSEN if n in self.tables}
        for name, example in (("loss", "softmax_cross_entropy"), ("optimizer", "adam")):
            if name not in chosen:
                text = f"{path.name}: there is no table [{name}]"
                raise DescriptionError(told(text, hint=f'such as [{name}] and below it type = "{example}"'))
        self.check_training(chosen)
        return Description(
            path,
            layers=self.layers(path),
            loss=chosen["loss"],
            optimizer=chosen["optimizer"],
            schedule=chosen.get("schedule"),
            places=self.places,
            **made,
        )

    def table(self, name: str, made: type[Table]) -> Table:
        """One of the tables whose keys are fields."""
        return made(**self.values((name,), _kinds_of(made)))

    def values(self, keys: Keys, kinds: Mapping[str, Kind]) -> dict[str, Any]:
        """The values of a table, each checked. Only what the file has."""
        table = self.at(keys)
        what = f"[{keys[0]}]" if len(keys) == 1 else f"layer {table['name']}"
        found = {}
        for key, value in table.items():
            if key not in kinds:
                raise self.error(f"{what} has no key {key!r}", (*keys, key), meant(key, kinds), at_key=True)
            found[key] = self.value((*keys, key), value, kinds[key])
        return found

    def at(self, keys: Keys) -> dict[str, Any]:
        table: Any = self.tables.get(str(keys[0]), {})
        for key in keys[1:]:
            table = table[key]
        if not isinstance(table, dict):
            raise self.error(f"{keys[0]} is a table", keys, f"write [{keys[0]}], and keys below it")
        return table

    def value(self, keys: Keys, value: Any, kind: Kind) -> Any:
        """A value as the program takes it."""
        if not _fits(kind, value):
            close = meant(value, kind.names) if isinstance(value, str) and kind.names else ""
            hint = close if close.startswith("did") else None
            raise self.error(f"{keys[-1]} must be {kind.words}; it is {_shown(value)}", keys, hint)
        if kind.makers and isinstance(value, dict):
            type, maker = self.typed(keys, str(keys[-1]), kind.makers)
            return {"type": type, **self.options(keys, f"{keys[-1]} of type {type}", type, maker)}
        return kind.made(value)

    def chosen(self, name: str) -> Chosen:
        """A table with a type."""
        losses = {type: loss.values for type, loss in LOSSES.items()}
        makers = {"loss": losses, "optimizer": OPTIMIZERS, "schedule": SCHEDULES}[name]
        type, maker = self.typed((name,), f"[{name}]", makers)
        options = self.options((name,), f"[{name}] of type {type}", type, maker)
        return Chosen(type, options, (name, "type"))

    def typed(self, keys: Keys, what: str, table: Mapping[str, Maker]) -> tuple[str, Maker]:
        """The type that a table says, and what it stands for."""
        given = self.at(keys)
        if "type" not in given:
            raise self.error(f"{what} needs a type", keys, f"one of {', '.join(table)}")
        type = given["type"]
        if not isinstance(type, str) or type not in table:
            raise self.error(
                f"there is no {keys[0]} of type {_shown(type)}",
                (*keys, "type"),
                meant(str(type), table).replace("it takes", "there are"),
            )
        return type, table[type]

    def options(
        self, keys: Keys, what: str, type: str, maker: Maker, besides: Mapping[str, Kind] | None = None
    ) -> dict[str, Any]:
        """Return the checked values that a table gives to the `maker` of its type."""
        known = {n: p for n, p in parameters(maker).items() if keys != ("schedule",) or n != "learning_rate"}
        kinds = {"type": TEXT, **(besides or {}), **{n: p.kind for n, p in known.items()}}
        table = self.at(keys)
        for key in table:
            if key not in kinds:
                raise self.error(f"{what} has no key {key!r}", (*keys, key), meant(key, kinds), at_key=True)
        if self.has_rates() and keys == ("optimizer",):
            known.pop("learning_rate", None)
        for name, parameter in known.items():
            if parameter.required and name not in table:
                raise self.error(f"{what} needs {name}: {parameter.kind.words}", (*keys, "type"))
        return {k: self.value((*keys, k), v, kinds[k]) for k, v in table.items() if k != "type"}

    def has_rates(self) -> bool:
        """Return True if the schedule itself names the learning rates."""
        schedule = self.tables.get("schedule")
        return isinstance(schedule, dict) and schedule.get("type") == "piecewise_constant"

    def layers(self, path: Path) -> tuple[Chosen, ...]:
        """The layers, each of which may use those before it."""
        if not self.tables.get("layer"):
            text = f"{path.name}: there is no layer"
            raise DescriptionError(told(text, hint='write [[layer]] and below it type = "dense", units = 10'))
        made: list[Chosen] = []
        for n, table in enumerate(self.tables["layer"]):
            keys: Keys = ("layer", n)
            what = f"layer {table['name']}"
            type, maker = self.typed(keys, what if "type" in table else "a layer", LAYERS)
            options = self.options(keys, f"{what} of type {type}", type, maker, _LAYER)
            name, inputs = options.pop("name"), options.pop("inputs", [])
            listed = tuple([inputs] if isinstance(inputs, str) else inputs)
            self.check_layer(keys, type, name, listed, [INPUT, *(layer.name for layer in made)])
            made.append(Chosen(type, options, (*keys, "type"), name, listed))
        return tuple(made)

    def check_layer(self, keys: Keys, type: str, name: str, inputs: Sequence[str], before: list[str]) -> None:
        """Its name is its own and its inputs come before it, as many as it takes."""
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*", name):
            raise self.error(f"{name!r} is no name of a layer", (*keys, "name"), "letters, digits and _")
        if name in before:
            raise self.error(f"there are two layers {name!r}", (*keys, "name"), "give one another name")
        for other in inputs:
            if other not in before:
                text = f"layer {name}: there is no layer {other!r} before it"
                hint = meant(other, before).replace("it takes", "before it are")
                raise self.error(text, (*keys, "inputs"), hint)
        if (type in MERGING) != (len(inputs) > 1):
            takes = "several inputs" if type in MERGING else "one input"
            example = 'such as inputs = ["conv1", "conv2"]' if type in MERGING else None
            raise self.error(f"layer {name} of type {type} takes {takes}", (*keys, "inputs"), example)

    def check_data(self) -> None:
        """Exactly one source, and only keys that belong to it."""
        table = self.at(("data",))
        given = [name for name in SOURCES if name in table]
        if len(given) != 1:
            what = f"both {given[0]} and {given[1]}" if given else "no data"
            keys = ("data", given[1]) if given else ("data",)
            hint = f"it takes one of {', '.join(SOURCES)}"
            raise self.error(f"[data] names {what}", keys, hint, at_key=True)
        source = given[0]
        if source == "dataset" and isinstance(table.get("validation"), str):
            text = "of a known data set a share is kept to validate, or its own test part"
            raise self.error(text, ("data", "validation"), "give a number, or leave it out")
        belongs = {
            "inputs": ("npz", "csv"),
            "labels": ("npz", "csv"),
            "separator": ("csv",),
            "size": ("images",),
            "channels": ("images",),
        }
        for key, sources in belongs.items():
            if key in table and source not in sources:
                text = f"{key} belongs to {' and '.join(sources)}, and the data are {source}"
                raise self.error(text, ("data", key), at_key=True)

    def check_training(self, chosen: Mapping[str, Chosen]) -> None:
        """Check the values that must suit each other: length, learning rates and metrics of the training."""
        table = self.at(("train",))
        if "epochs" in table and "steps" in table:
            text = "[train] says both epochs and steps"
            raise self.error(text, ("train", "steps"), "keep one", at_key=True)
        if self.has_rates() and "learning_rate" in chosen["optimizer"].options:
            text = "the values of the schedule are the learning rates"
            raise self.error(text, ("optimizer", "learning_rate"), "leave it out", at_key=True)
        if self.has_rates():
            options = chosen["schedule"].options
            if len(options["values"]) != len(options["boundaries"]) + 1:
                text = f"{len(options['boundaries'])} boundaries need {len(options['boundaries']) + 1} values"
                raise self.error(f"{text}, there are {len(options['values'])}", ("schedule", "values"))
        suiting = metrics_of(LOSSES[chosen["loss"].type].answer)
        for n, metric in enumerate(table.get("metrics", [])):
            if metric not in suiting:
                hint = f"there are {', '.join(suiting)}"
                text = f"there is no metric {metric!r} for the loss {chosen['loss'].type}"
                raise self.error(text, ("train", "metrics", n), hint)


def _kinds_of(table: type) -> dict[str, Kind]:
    return {name: kind for name, (kind, _) in keys_of(table).items()}


def _fits(kind: Kind, value: Any) -> bool:
    """Return True if a value fits. A value of another type does not, and may not even be comparable."""
    try:
        return bool(kind.fits(value))
    except TypeError:
        return False


def _shown(value: Any) -> str:
    """A value as it stands in a file, shortened."""
    return str(value).lower() if isinstance(value, bool) else shown(value)
