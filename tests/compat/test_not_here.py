"""Names that are left out on purpose say why, and what to do instead."""

import pytest

import staticgraph.compat.tf1 as tf
from staticgraph.tf1.compat.areas import TREE
from staticgraph.tf1.compat.namespace import MISSING, UnsupportedNameError
from staticgraph.tf1.compat.not_here import REASONS


@pytest.mark.parametrize(
    "name, cure",
    [
        ("enable_eager_execution", "no eager execution"),
        ("load_op_library", "custom_gradient"),
        ("lite.TFLiteConverter", "staticgraph compile"),
        ("contrib.tpu.never_a_name", "--use_tpu=False"),
    ],
)
def test_the_message_says_what_to_do(name: str, cure: str):
    with pytest.raises(UnsupportedNameError) as caught:
        found = tf
        for part in name.split("."):
            found = getattr(found, part)
    assert "left out on purpose" in str(caught.value) and cure in str(caught.value)


def test_programs_that_ask_first_are_told_no():
    assert not hasattr(tf, "enable_eager_execution")


def test_no_name_that_is_there_is_in_the_table():
    areas = {"contrib.eager", "contrib.tpu", "contrib.util.loader", "tpu"}  # some names of these are there
    assert [name for name in REASONS if TREE.lookup(name) is not MISSING and name not in areas] == []
