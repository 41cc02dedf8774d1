"""Ops of strings where TensorFlow's recorded answers do not reach: odd bytes, large inputs, error texts."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import staticgraph as sg
from staticgraph.compiler.ops.text.regular_expressions import compiled, replace
from staticgraph.compiler.ops.text.string_hashes import fingerprint, murmur, siphash


def value(tensor):
    with sg.Session() as sess:
        return sess.run(tensor)


def failure(tensor) -> str:
    with sg.Session() as sess, pytest.raises(sg.errors.InvalidArgumentError) as caught:
        sess.run(tensor)
    return str(caught.value)


def test_hashes_have_64_bits():
    for size in (0, 1, 4, 8, 16, 17, 32, 33, 64, 65, 129, 1000):
        data = bytes(range(256)) * 4
        for hashed in (fingerprint(data[:size]), murmur(data[:size]), siphash(data[:size], 1, 2)):
            assert 0 <= hashed < 2**64


def test_siphash_of_its_authors():
    """The first vectors of the reference implementation."""
    key = (0x0706050403020100, 0x0F0E0D0C0B0A0908)
    wanted = ["310e0edd47db6f72", "fd67dc93c539f874", "5a4fa9d909806c0d", "2d7efbd796666785"]
    assert [siphash(bytes(range(n)), *key).to_bytes(8, "little").hex() for n in range(4)] == wanted


@settings(max_examples=200, deadline=None)
@given(st.text(st.sampled_from("ab.*+?|()[]^$\\{}1,-:pLdsQEz\n")), st.text(st.sampled_from("ab1-.\n")))
def test_a_pattern_is_refused_or_matches(pattern, text):
    try:
        compiled(pattern)
    except ValueError as error:
        assert str(error).startswith("the pattern ")
    else:
        assert isinstance(replace(pattern, "", text, True), str)


@settings(max_examples=100, deadline=None)
@given(st.text(), st.text())
def test_a_quoted_pattern_matches_itself(literal, around):
    quoted = "".join(f"\\{c}" if c in ".*+?|()[]^$\\{}" else c for c in literal)
    assert replace(quoted, "", literal, True) == ""
    assert re.search(re.escape(literal), around + literal) and compiled(quoted).search(around + literal)


def test_bytes_that_are_no_text_are_kept():
    assert value(sg.strings.regex_replace(b"a\xff\xfeb", "a", "c")) == b"c\xff\xfeb"
    assert value(sg.strings.lower(b"\xffA", encoding="utf-8")) == b"\xffa"


def test_many_bad_bytes_take_no_more_than_good_ones():
    text = value(sg.strings.unicode_transcode(b"\xff" * 200_000, "UTF-8", "UTF-8", errors="ignore"))
    assert text == b""


def test_the_reason_names_the_string():
    assert "the string 'two' is not a number of type int32" in failure(sg.strings.to_number("two", sg.int32))
    assert "position 4 is out of range for the string 'abc' of 3" in failure(sg.strings.substr("abc", 4, 1))
    assert "the pattern 'a(' is not a regular expression" in failure(sg.strings.regex_replace("a", "a(", ""))
    assert r"the rewrite '\\2' has \2, and the pattern 1 groups" in failure(
        sg.strings.regex_replace("a", "(a)", r"\2")
    )


def test_a_long_string_is_cut_in_the_reason():
    assert len(failure(sg.strings.to_number("x" * 10_000))) < 1000


def test_a_number_of_too_many_digits_is_refused():
    assert "is not a number" in failure(sg.strings.to_number("9" * 5000))


def test_strings_select_numbers_in_a_step():
    words = sg.placeholder(sg.string, [None])
    table = sg.Variable(sg.range(10), trainable=False)
    rows = sg.gather(table, sg.strings.to_hash_bucket_fast(words, 10))
    with sg.Session() as sess:
        sess.run(table.initializer)
        assert sess.run(rows * 2, {words: ["a", "b", "a"]}).tolist() == [18, 4, 18]


def test_strings_of_unknown_rank_are_joined_along_all_axes():
    x = sg.placeholder(sg.string)
    assert sg.Session().run(sg.strings.reduce_join(x), {x: [["a", "b"], ["c", "d"]]}) == b"abcd"
