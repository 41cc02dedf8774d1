"""Flags, as TF1's programs declare and read them."""

import sys

import pytest

from staticgraph.tf1.compat.legacy import app, flags


@pytest.fixture
def values() -> flags.FlagValues:
    made = flags.FlagValues()
    flags.DEFINE_string("name", "net", "A name.", made)
    flags.DEFINE_integer("steps", 10, "Steps.", flag_values=made)
    flags.DEFINE_float("rate", 0.5, "A rate.", flag_values=made)
    flags.DEFINE_boolean("train", True, "Whether to train.", made)
    flags.DEFINE_list("sizes", ["1", "2"], "Sizes.", made)
    flags.DEFINE_multi_integer("gpu", [0], "Devices.", made)
    flags.DEFINE_enum("kind", "a", ["a", "b"], "One of two.", made)
    return made


def test_the_forms_of_a_flag(values):
    line = "p --name=x -steps 0x10 --rate 2 --notrain --sizes=3,4 --gpu=1 --gpu=2 --kind=b"
    assert values(line.split()) == ["p"]
    assert values.flag_values_dict() == {
        "name": "x",
        "steps": 16,
        "rate": 2.0,
        "train": False,
        "sizes": ["3", "4"],
        "gpu": [1, 2],
        "kind": "b",
    }


def test_defaults_without_a_command_line(values, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["p"])
    assert not values.is_parsed()
    assert (values.name, values.steps, values.train, values.gpu) == ("net", 10, True, [0])
    assert values.is_parsed()


def test_the_first_read_parses_the_command_line(values, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["p", "--steps=3", "--other=4", "file"])
    assert values.steps == 3


def test_unknown_flags_are_kept_in_order(values):
    rest = values(["p", "--x=1", "a", "--steps=2", "-y", "b"], known_only=True)
    assert rest == ["p", "--x=1", "a", "-y", "b"]


def test_an_unknown_flag_is_refused(values):
    with pytest.raises(flags.UnrecognizedFlagError, match="--x=1"):
        values(["p", "--x=1"])


def test_nothing_is_read_after_two_dashes(values):
    assert values(["p", "--", "--steps=2"]) == ["p", "--steps=2"]
    assert values.steps == 10


@pytest.mark.parametrize(
    "word", ["--steps=1.5", "--steps=x", "--rate=x", "--train=maybe", "--kind=c", "--steps"]
)
def test_a_bad_value_is_refused(values, word):
    with pytest.raises(flags.IllegalFlagValueError, match="--" + word.lstrip("-").split("=")[0]):
        values(["p", word])


def test_a_flag_can_be_assigned(values):
    values.mark_as_parsed()
    values.steps = 99
    assert values.steps == 99 and values["steps"].value == 99


def test_the_dictionary_of_the_first_releases(values):
    values._parse_flags(["--steps=5"])
    found = getattr(values, "__flags")
    assert f"{found['steps']}" == "5" and found["steps"].value == 5
    assert sorted(found) == sorted(values)


def test_a_flag_is_declared_once(values):
    with pytest.raises(flags.DuplicateFlagError, match="steps"):
        flags.DEFINE_integer("steps", 1, "Again.", flag_values=values)


def test_a_flag_declared_after_the_first_read_has_its_value(values, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["p", "--late=8"])
    assert values.steps == 10
    values.steps = 11
    flags.DEFINE_integer("late", 1, "Declared late.", flag_values=values)
    assert (values.late, values.steps) == (8, 11)


def test_a_required_flag(values):
    flags.DEFINE_string("folder", None, "A folder.", values)
    flags.mark_flag_as_required("folder", values)
    with pytest.raises(flags.IllegalFlagValueError, match=r"folder.*required"):
        values(["p"])
    assert values(["p", "--folder=x"]) == ["p"]


def test_bounds(values):
    flags.DEFINE_integer("size", 1, "A size.", flag_values=values, lower_bound=1, upper_bound=3)
    with pytest.raises(flags.IllegalFlagValueError, match="at most 3"):
        values(["p", "--size=4"])


def test_an_unknown_flag_is_an_attribute_error_that_lists_the_flags(values):
    values.mark_as_parsed()
    with pytest.raises(AttributeError, match=r"no flag 'stps'[^$]*steps"):
        values.stps


def test_help_lists_the_flags_and_ends_the_program(values, capsys):
    with pytest.raises(SystemExit) as caught:
        values(["p", "--help"])
    assert caught.value.code == 0
    assert "--steps: Steps. (default: 10)" in capsys.readouterr().out


def test_run_exits_with_what_main_returns():
    with pytest.raises(SystemExit) as caught:
        app.run(lambda argv: argv, ["p", "rest"])
    assert caught.value.code == ["p", "rest"]
