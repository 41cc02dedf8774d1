"""Reading checkpoints without a session, and variables that begin as what is in them."""

import numpy as np
import pytest

import staticgraph as sg


@pytest.fixture
def path(tmp_path):
    """A checkpoint of old/w, old/b and step; the graph is empty afterwards."""
    sg.reset_default_graph()
    with sg.variable_scope("old"):
        w = sg.get_variable("w", initializer=[[1.0, 2.0], [3.0, 4.0]])
        b = sg.get_variable("b", initializer=[5.0, 6.0])
    step = sg.get_variable("step", initializer=np.int64(7))
    with sg.Session() as sess:
        sess.run(sg.global_variables_initializer())
        saved = sg.train.Saver([w, b, step]).save(sess, str(tmp_path / "model"))
    sg.reset_default_graph()
    return saved


def initial(*variables):
    with sg.Session() as sess:
        sess.run(sg.global_variables_initializer())
        return [value.tolist() for value in sess.run(variables)]


def test_a_checkpoint_says_what_it_holds(path, tmp_path):
    shapes = [("old/b", [2]), ("old/w", [2, 2]), ("step", [])]
    assert sg.train.list_variables(path) == sg.train.list_variables(str(tmp_path)) == shapes
    assert sg.train.load_variable(path, "old/b:0").tolist() == [5.0, 6.0]
    reader = sg.train.NewCheckpointReader(path)
    assert reader.get_variable_to_dtype_map()["step"] is sg.int64
    assert reader.has_tensor("old/w")
    assert not reader.has_tensor("new/w")
    assert b"old/w (float32) [2, 2]" in reader.debug_string()
    with pytest.raises(sg.errors.NotFoundError, match="it has 'old/w'"):
        reader.get_tensor("old/W")


def test_there_must_be_a_checkpoint(tmp_path):
    with pytest.raises(sg.errors.NotFoundError):
        sg.train.load_checkpoint(str(tmp_path / "none"))
    with pytest.raises(ValueError, match="has no checkpoint"):
        sg.train.list_variables(str(tmp_path))


def test_variables_begin_as_the_tensors_that_are_named(path):
    w = sg.get_variable("w", [2, 2])
    b = sg.get_variable("mine", [2], initializer=sg.zeros_initializer())
    other = sg.get_variable("other", initializer=[8.0])
    sg.train.init_from_checkpoint(path, {"old/w": w, "old/b": "mine"})
    assert initial(w, b, other) == [[[1.0, 2.0], [3.0, 4.0]], [5.0, 6.0], [8.0]]
    assert w.initialized_value().shape.as_list() == [2, 2]


@pytest.mark.parametrize(("key", "scope"), [("old/", "new/"), ("/", "/")])
def test_a_scope_begins_as_another(path, key, scope):
    with sg.variable_scope("new" if scope == "new/" else "old"):
        w, b = sg.get_variable("w", [2, 2]), sg.get_variable("b", [2])
    sg.train.init_from_checkpoint(path, {key: scope})
    assert initial(w, b) == [[[1.0, 2.0], [3.0, 4.0]], [5.0, 6.0]]


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        ({"old/x": "w"}, "has no tensor 'old/x'"),
        ({"old/b": "w"}, "has shape"),
        ({"old/b": "none"}, "no variable 'none'"),
        ({"wrong/": "/"}, "has no tensor 'wrong/w'"),
    ],
)
def test_a_mapping_that_does_not_fit(path, mapping, message):
    sg.get_variable("w", [2, 2])
    with pytest.raises(ValueError, match=message):
        sg.train.init_from_checkpoint(path, mapping)


def test_a_warm_start_chooses_by_patterns(path):
    with sg.variable_scope("old"):
        w, b = sg.get_variable("w", [2, 2]), sg.get_variable("b", initializer=[0.0, 0.0])
    mine = sg.get_variable("mine", [2])
    sg.train.warm_start(path, "old/w")
    sg.train.warm_start(path, [mine], var_name_to_prev_var_name={"mine": "old/b"})
    assert initial(w, b, mine) == [[[1.0, 2.0], [3.0, 4.0]], [0.0, 0.0], [5.0, 6.0]]
    with pytest.raises(ValueError, match="var_name_to_prev_var_name has"):
        sg.train.warm_start(path, [mine], var_name_to_prev_var_name={"min": "old/b"})


def test_words_keep_their_rows_when_a_vocabulary_changes(tmp_path):
    """The numbers are TensorFlow's, but for the column of a word after `old_vocab_size`, which it takes."""
    (tmp_path / "old").write_text("a\nb\nc\nd\n")
    (tmp_path / "new").write_text("c\nx\na\n")
    with sg.Graph().as_default(), sg.Session() as sess:
        sg.Variable(np.float32([[1, 2], [3, 4], [5, 6], [7, 8]]), name="w")
        sg.Variable(np.float32([[1, 2, 3, 4], [5, 6, 7, 8]]), name="k")
        sess.run(sg.global_variables_initializer())
        path = sg.train.Saver().save(sess, str(tmp_path / "model"))
    files = str(tmp_path / "new"), str(tmp_path / "old")
    info = sg.train.VocabInfo(files[0], 3, 1, files[1], backup_initializer=sg.ones_initializer())
    columns = sg.train.VocabInfo(files[0], 3, 0, files[1], old_vocab_size=2, axis=1)
    w, k = sg.get_variable("w", [4, 2]), sg.get_variable("k", [2, 3])
    other = sg.get_variable("other", initializer=[7.0])
    sg.train.warm_start(path, None, {"w": info, "k": columns})
    rows = [[5.0, 6.0], [1.0, 1.0], [1.0, 2.0], [1.0, 1.0]]
    assert initial(w, k, other) == [rows, [[0.0, 0.0, 1.0], [0.0, 0.0, 5.0]], [7.0]]
    for wrong, message in (
        (info._replace(axis=2), "axis is 2"),
        (info._replace(new_vocab_size=9), "has 3 words, and 9 were asked for"),
        (columns._replace(old_vocab_size=4, axis=0), "has 4 words, and the tensor 2 rows"),
    ):
        with pytest.raises(ValueError, match=message):
            sg.train.warm_start(path, "k", {"k": wrong})
    with pytest.raises(ValueError, match="var_name_to_vocab_info has"):
        sg.train.warm_start(path, "w", {"k": columns})


@pytest.mark.parametrize("patterns", ["old/w[^/]", ["old/w[^/]"]])
def test_a_pattern_of_a_warm_start_sees_whole_names(path, patterns):
    """TensorFlow's own tests choose a variable without its slots by such a pattern."""
    w = sg.get_variable("old/w", initializer=[[0.0, 0.0], [0.0, 0.0]])
    slot = sg.get_variable("old/w/Momentum", initializer=[9.0])
    sg.train.warm_start(path, patterns)
    assert initial(w, slot) == [[[1.0, 2.0], [3.0, 4.0]], [9.0]]
