"""Every key of a TOML file has a place, at the line where it stands."""

import json
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from staticgraph.applications.solver.places import key_places

TEXT = '''# a comment with [brackets] and "quotes"
title = "one" # = 1
dotted.key = [1,
  2.5, # three
  [3], "x]" ]
"quoted key" = """several
[[lines]]
key = 3 """""
when = 1979-05-27 07:32:00

[solver]
inside = {rate = 1.5, more = [ {deep = 2} ], "a.b" = ''}
literal = \'\'\'[no] = "table"\'\'\'
escaped = "a \\" # b"

[[layer]]
type = 'dense'

[[layer]]
type = "x"
[layer.sub]
small = -1e3
[[ layer.inner ]]
big = +1.0
[[layer.inner]]
'''
# fmt: off
LINES = {
    ("title",): 2, ("dotted", "key"): 3, ("dotted", "key", 1): 4, ("dotted", "key", 3): 5,
    ("quoted key",): 6, ("when",): 9, ("solver",): 11, ("solver", "inside", "rate"): 12,
    ("solver", "inside", "more", 0, "deep"): 12, ("solver", "inside", "a.b"): 12, ("solver", "literal"): 13,
    ("solver", "escaped"): 14, ("layer", 0): 16, ("layer", 0, "type"): 17, ("layer", 1, "type"): 20,
    ("layer", 1, "sub", "small"): 22, ("layer", 1, "inner", 0, "big"): 24, ("layer", 1, "inner", 1): 25,
}
# fmt: on


def paths(value, path=()):
    """The paths of all keys and elements of a document."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield (*path, key)
        yield from paths(inner, (*path, key))


def test_the_lines_of_a_file_with_everything_in_it():
    places = key_places(TEXT, "net.toml")
    assert {path: places[path][0].line for path in LINES} == LINES
    tables = {("dotted",), ("layer",), ("layer", 1, "inner")}  # which only other keys name
    assert set(paths(tomllib.loads(TEXT))) - tables == set(places)


def test_a_place_shows_its_line_and_what_is_meant():
    key, value = key_places(TEXT, "net.toml")["layer", 1, "sub", "small"]
    assert key.short == "net.toml:22"
    assert str(key) == "    22 | small = -1e3\n         ^^^^^"
    assert str(value) == "    22 | small = -1e3\n                 ^^^^"


@pytest.mark.parametrize(
    "text", ["", "# only this", "\n\n", "a = 1", 'a = ""', "a = ''", 'a = """"""', "[a]"]
)
def test_small_files(text):
    assert set(key_places(text, "net.toml")) == set(paths(tomllib.loads(text)))


names = st.text("abc-_.\"'#=[] é", min_size=1, max_size=5)
scalars = st.integers() | st.floats(allow_nan=False) | st.booleans() | st.text(max_size=12)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=8,
)


def shown(value):
    """A value in TOML's writing."""
    match value:
        case bool():
            return str(value).lower()
        case dict():
            return "{" + ", ".join(f"{json.dumps(k)} = {shown(v)}" for k, v in value.items()) + "}"
        case list():
            return "[ # a list ]\n" + ",\n".join(map(shown, value)) + "\n]"
        case str():
            return json.dumps(value).replace("\x7f", "\\u007f")
        case _:
            return repr(value)


def has_lists_in_tables(value):
    """Such lists are written over several lines, which an inline table may not be."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(isinstance(value, dict) and "\n" in shown(v) for v in inner) or any(
        map(has_lists_in_tables, inner)
    )


@given(st.dictionaries(names, values, max_size=4))
def test_every_key_of_any_document_has_a_place(document):
    text = "\n".join(f"{json.dumps(key)} = {shown(value)} # end" for key, value in document.items())
    text = text.encode("utf-8", "replace").decode()
    try:
        read = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        assert has_lists_in_tables(document) or "\\ud" in text
        return
    places = key_places(text, "net.toml")
    assert set(places) == set(paths(read))
    for path, (key, _) in places.items():
        if isinstance(path[-1], str):
            part = key.text[key.start : key.stop]
            assert tomllib.loads(f"{part} = 1") == {path[-1]: 1}
