"""`variable_creator_scope`: functions of the program that make its variables."""

import pytest

import staticgraph.compat.tf1 as tf


def renaming(end, calls):
    def creator(next_creator, **arguments):
        calls.append(end)
        return next_creator(**{**arguments, "name": arguments["name"] + end})

    return creator


def test_the_inner_scope_is_asked_first_and_the_outer_one_makes_the_variable():
    calls = []
    with tf.Graph().as_default():
        with (
            tf.variable_creator_scope(renaming("_a", calls)),
            tf.variable_creator_scope(renaming("_b", calls)),
        ):
            made = [tf.Variable(1.0, name="v"), tf.get_variable("w", [2])]
        made.append(tf.Variable(1.0, name="u"))
        assert [v.name for v in made] == ["v_b_a:0", "w_b_a:0", "u:0"]
        assert tf.global_variables() == made
    assert calls == ["_b", "_a"] * 2


def test_a_creator_gets_all_arguments_by_name():
    def creator(next_creator, **arguments):
        seen.update(arguments)
        return next_creator(**arguments)

    seen = {}
    with tf.Graph().as_default(), tf.variable_creator_scope(creator):
        tf.Variable(1.0, False, name="v")
    assert (seen["initial_value"], seen["trainable"], seen["name"]) == (1.0, False, "v")
    assert {"collections", "constraint", "dtype", "use_resource", "validate_shape"} <= set(seen)


def test_what_a_creator_returns_is_the_variable():
    with tf.Graph().as_default():
        shared = tf.Variable(1.0, name="shared")
        with tf.variable_creator_scope(lambda next_creator, **arguments: shared):
            assert tf.Variable(2.0) is shared
        with pytest.raises(ZeroDivisionError), tf.variable_creator_scope(lambda *_, **__: 1 / 0):
            tf.Variable(3.0)
        assert tf.Variable(4.0, name="v").name == "v:0"
