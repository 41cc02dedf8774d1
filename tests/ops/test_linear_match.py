"""Regular expressions take time in proportion to the text. The witness for what they find is `re`."""

from __future__ import annotations

import random
import re

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.ops.text.linear_match import LinearPattern
from staticgraph.compiler.ops.text.regular_expressions import Expression, compiled

LEAVES = ["a", "b", "ab", ".", "[ab]", "[^a]", r"\w", r"\d", r"\b", "^", "$", r"\Z", r"\s", "(?i:A)", "()"]


def pattern(chance: random.Random, depth: int) -> str:
    """A random pattern, of which no repetition can be empty: there `re` and RE2 differ in groups."""
    if depth == 0:
        return chance.choice(LEAVES)
    inside = pattern(chance, depth - 1)
    match chance.randrange(6):
        case 0:
            return f"{inside}|{pattern(chance, depth - 1)}"
        case 1:
            return f"({inside})"
        case 2 | 3:
            times = chance.choice(["*", "+", "?", "{2}", "{1,3}", "{2,}"]) + chance.choice(["", "?"])
            return f"(?:a(?:{inside})){times}" if chance.randrange(2) else f"(?:{inside}b){times}"
        case _:
            return f"(?:{inside}){pattern(chance, depth - 1)}"


def test_random_patterns_find_what_re_finds():
    chance = random.Random(5)
    for _ in range(1500):
        text = pattern(chance, chance.randrange(4))
        usual, linear = re.compile(text, re.ASCII), LinearPattern(text)
        for _ in range(3):
            line = "".join(chance.choices("abA c1\n", k=chance.randrange(9)))
            found = [[m.span(), *m.groups()] for m in usual.finditer(line)]
            groups = range(1, usual.groups + 1)
            mine = [[(m.start(), m.end()), *(m[g] for g in groups)] for m in linear.finditer(line)]
            assert mine == found, (text, line)
            whole, mine_whole = usual.fullmatch(line), linear.fullmatch(line)
            assert (whole is None) == (mine_whole is None), (text, line)


EXPLODING = ["(a*)*b", "(a|a)*b", "(a|ab|b)*c", "(.*)*y", "(a+)+$", "((a?){9}){9}b", "(x+x+)+y", "a*a*a*a*b"]


@pytest.mark.parametrize("text", EXPLODING)
def test_no_pattern_explodes(text: str):
    """Each of these would keep Python's `re` busy for longer than anybody waits."""
    line = "a" * 2000 + "x" * 50
    given = sg.constant([line, "ab"])
    with sg.Session() as sess:
        replaced, whole = sess.run(
            [sg.strings.regex_replace(given, text, "!"), sg.strings.regex_full_match(given, text)]
        )
    assert replaced[1].decode() == re.sub(text, "!", "ab")
    assert whole.tolist() == [False, re.fullmatch(text, "ab") is not None]


@pytest.mark.parametrize("text", ["[a-z]+", r"\s+", "(foo|bar)+", "a.*", "[^x]*", "(ab){3}c", "x?y"])
def test_what_takes_few_steps_is_done_by_re(text: str):
    assert LinearPattern(text).steps(10_000, whole=False) < 1e6


@pytest.mark.parametrize("text", EXPLODING)
def test_what_may_take_many_is_not(text: str):
    assert LinearPattern(text).steps(2000, whole=False) > 1e6


def test_both_ways_replace_the_same(monkeypatch: pytest.MonkeyPatch):
    chance = random.Random(7)
    lines = np.array(["".join(chance.choices("ab 1", k=chance.randrange(12))) for _ in range(30)], object)
    rules = [("(a*)(b*)", r"<\1|\2>"), ("a|b", "-"), ("", "."), ("(a)|1+", r"[\0\1]"), ("[ab]+?", "x")]

    def results() -> list[bytes]:
        compiled.cache_clear()
        with sg.Graph().as_default(), sg.Session() as sess:
            given, replace = sg.constant(lines), sg.strings.regex_replace
            made = [replace(given, *rule) for rule in rules]
            made += [replace(given, *rule, replace_global=False) for rule in rules]
            return [line for array in sess.run(made) for line in array]

    usual = results()
    monkeypatch.setattr("staticgraph.compiler.ops.text.regular_expressions._FEW_STEPS", -1.0)
    assert results() == usual


def test_a_pattern_may_be_too_large():
    with pytest.raises(re.error, match="too large"):
        Expression("((a{1000}){1000})")
