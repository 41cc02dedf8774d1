"""`tf.contrib.training.HParams`: named hyperparameters, which keep the types that they begin with."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from numbers import Integral, Number
from typing import Any, Self

from staticgraph.compiler.graph.errors import misuse
from staticgraph.runtime.files.attributes import read_json

_ASSIGNMENT = re.compile(
    r"(?P<name>[a-zA-Z][\w.]*)(\[\s*(?P<index>\d+)\s*\])?\s*=\s*((?P<value>[^,\[]*)|\[(?P<list>[^\]]*)\])($|,\s*)"
)
_BOOLS = {"true": True, "True": True, "false": False, "False": False}


def _parser(kind: type) -> Callable[[str], Any]:
    return (lambda text: _BOOLS[text] if text in _BOOLS else bool(int(text))) if kind is bool else kind


def parse_values(values: str, type_map: Mapping[str, type], ignore_unknown: bool = False) -> dict[str, Any]:
    """The values in a text such as `"rate=0.1,sizes=[3,4],sizes[1]=5"`, by name; an element as {index:
    value}.

    ValueError for a text of another form, a name without a type (unless these are ignored), a value that is
    not of the type, and a name that is assigned twice.

    >>> from staticgraph.tf1.compat.contrib.hyperparameters import parse_values
    >>> parse_values("rate=0.1,layers=[3,4]", {"rate": float, "layers": int})
    {'rate': 0.1, 'layers': [3, 4]}
    """
    found: dict[str, Any] = {}
    at = 0
    while at < len(values):
        match = _ASSIGNMENT.match(values, at)
        if match is None:
            raise ValueError(f"malformed hyperparameters: {values[at:]!r} is not name=value")
        at = match.end()
        name, index, value, listed = match.group("name", "index", "value", "list")
        if name not in type_map:
            if ignore_unknown:
                continue
            raise ValueError(f"unknown hyperparameter {name!r} in {values!r}")
        parse = _parser(type_map[name])
        try:
            if listed is not None:
                parsed: Any = [parse(each) for each in re.split("[ ,]+", listed) if each]
            else:
                parsed = parse(value)
        except ValueError:
            kind = type_map[name].__name__
            text = f"hyperparameter {name!r} is of type {kind}, which {value or listed!r} is not"
            raise ValueError(text) from None
        if index is not None and listed is not None:
            raise ValueError(f"{name}[{index}] is one element, and a list is assigned to it")
        _put(found, name, index, parsed)
    return found


def _put(found: dict[str, Any], name: str, index: str | None, value: Any) -> None:
    if index is None:
        twice = name in found
        found[name] = value
    else:
        elements = found.setdefault(name, {})
        twice = not isinstance(elements, dict) or int(index) in elements
        if not twice:
            elements[int(index)] = value
    if twice:
        raise ValueError(f"hyperparameter {name!r} is assigned twice")


def _cast(name: str, kind: type, value: Any) -> Any:
    """A value as the type of a hyperparameter. ValueError if that would lose something."""
    if type(value) is kind or kind is type(None):
        return value
    fits = (
        not (issubclass(kind, str | bytes) and not isinstance(value, str | bytes))
        and issubclass(kind, bool) == isinstance(value, bool)
        and not (issubclass(kind, Integral) and not isinstance(value, Integral))
        and not (issubclass(kind, Number) and not isinstance(value, Number))
    )
    if not fits:
        raise ValueError(f"hyperparameter {name!r} is of type {kind.__name__}, which {value!r} is not")
    return kind(value)


class HParams:
    """Hyperparameters as attributes. Each keeps the type of its first value; a list, that of its elements.

    >>> from staticgraph.tf1.compat.contrib.hyperparameters import HParams
    >>> hparams = HParams(rate=0.1, layers=[3, 4], name="a").parse("rate=0.5,layers=[1,2,3]")
    >>> hparams.rate, hparams.layers, "name" in hparams
    (0.5, [1, 2, 3], True)
    """

    def __init__(self, hparam_def: None = None, model_structure: Any = None, **kwargs: Any) -> None:
        if hparam_def is not None:
            raise NotImplementedError("HParams: hparam_def is not supported; give the values by name")
        self._hparam_types: dict[str, tuple[type, bool]] = {}
        self._model_structure = model_structure
        for name, value in kwargs.items():
            self.add_hparam(name, value)

    def add_hparam(self, name: str, value: Any) -> None:
        """A new hyperparameter. ValueError for a name that is taken, and for an empty list."""
        if getattr(self, name, None) is not None:
            raise ValueError(f"the name {name!r} is taken")
        is_list = isinstance(value, list | tuple)
        if is_list and not value:
            raise ValueError(f"hyperparameter {name!r} is an empty list, whose elements have no type")
        self._hparam_types[name] = type(value[0] if is_list else value), is_list
        setattr(self, name, value)

    def set_hparam(self, name: str, value: Any) -> None:
        """Another value of a hyperparameter. ValueError for one of another type, KeyError for an unknown
        name.
        """
        kind, is_list = self._hparam_types[name]
        if isinstance(value, list) != is_list:
            wanted, given = ("a list", "one value") if is_list else ("one value", "a list")
            raise ValueError(f"hyperparameter {name!r} takes {wanted}, not {given}")
        setattr(
            self, name, [_cast(name, kind, each) for each in value] if is_list else _cast(name, kind, value)
        )

    def del_hparam(self, name: str) -> None:
        """Forget a hyperparameter."""
        if name in self._hparam_types:
            delattr(self, name)
            del self._hparam_types[name]

    def parse(self, values: str) -> Self:
        """Take values from a text, see `parse_values`."""
        kinds = {name: kind for name, (kind, _) in self._hparam_types.items()}
        return self.override_from_dict(parse_values(values, kinds))

    def override_from_dict(self, values_dict: Mapping[str, Any]) -> Self:
        """Take values by name."""
        for name, value in values_dict.items():
            self.set_hparam(name, value)
        return self

    def set_model_structure(self, model_structure: Any) -> None:
        self._model_structure = model_structure

    def get_model_structure(self) -> Any:
        return self._model_structure

    def to_json(self, indent: Any = None, separators: Any = None, sort_keys: bool = False) -> str:
        """The values as JSON."""
        return json.dumps(self.values(), indent=indent, separators=separators, sort_keys=sort_keys)

    def parse_json(self, values_json: str) -> Self:
        """Take values from JSON, an object of them by name. ValueError if the text is none."""
        try:
            values = read_json(values_json)
        except (ValueError, RecursionError) as error:
            raise misuse(ValueError, f"the values of hyperparameters are no JSON: {error}") from None
        if not isinstance(values, dict):
            raise misuse(ValueError, f"parse_json() takes an object of values by name, not {values!r}")
        return self.override_from_dict(values)

    def values(self) -> dict[str, Any]:
        """The values by name."""
        return {name: getattr(self, name) for name in self._hparam_types}

    def get(self, key: str, default: Any = None) -> Any:
        """The value of a name, or `default`. ValueError if the default is of another type."""
        if key not in self._hparam_types:
            return default
        if default is not None:
            kind, is_list = self._hparam_types[key]
            if isinstance(default, list) != is_list:
                raise ValueError(f"hyperparameter {key!r} and the default {default!r} are not both a list")
            for each in default if is_list else [default]:
                _cast(key, kind, each)
        return getattr(self, key)

    def __contains__(self, key: str) -> bool:
        return key in self._hparam_types

    def __str__(self) -> str:
        return ",".join(f"{name}={value}" for name, value in self.values().items())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({sorted(self.values().items())})"
