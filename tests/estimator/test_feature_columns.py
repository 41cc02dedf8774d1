"""Feature columns beyond what TensorFlow answers: unknown shapes, checkpoints, messages."""

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.graph.errors import InvalidArgumentError

fc = sg.feature_column


def value(tensor):
    with sg.Session() as sess:
        sess.run(sg.global_variables_initializer())
        return sess.run(tensor)


def test_a_feature_of_unknown_rank_has_a_row_for_each_example():
    x = sg.placeholder(sg.float32)
    layer = fc.input_layer({"x": x}, [fc.numeric_column("x")])
    with sg.Session() as sess:
        assert sess.run(layer, {x: [1.0, 2.0]}).tolist() == [[1.0], [2.0]]
        assert sess.run(layer, {x: [[3.0]]}).tolist() == [[3.0]]


def test_batches_of_any_size():
    words = sg.placeholder(sg.string, [None])
    column = fc.embedding_column(
        fc.categorical_column_with_vocabulary_list("w", ["a", "b"], num_oov_buckets=1), 2
    )
    layer = fc.input_layer({"w": words}, [column])
    with sg.Session() as sess:
        sess.run(sg.global_variables_initializer())
        one, three = sess.run(layer, {words: ["b"]}), sess.run(layer, {words: ["a", "x", "b"]})
    assert one.shape == (1, 2)
    np.testing.assert_array_equal(one[0], three[2])


def test_a_batch_in_which_no_example_has_a_word():
    """TensorFlow 1.15.5 gives zeros, and reshapes a sparse tensor of no columns into one of no columns."""
    words, sizes = sg.sparse_placeholder(sg.string, [None, None]), sg.placeholder(sg.int64, [2])
    column = fc.embedding_column(fc.categorical_column_with_hash_bucket("w", 8), 3)
    layer = fc.input_layer({"w": words}, [column])
    shaped = sg.sparse_reshape(words, sizes)
    nothing = sg.SparseTensorValue(np.zeros((0, 2), np.int64), np.array([], object), [5, 0])
    with sg.Session() as sess:
        sess.run(sg.global_variables_initializer())
        np.testing.assert_array_equal(sess.run(layer, {words: nothing}), np.zeros((5, 3)))
        for wanted in ([5, 0], [0, 7]):
            found = sess.run(shaped, {words: nothing, sizes: wanted})
            assert found.indices.shape == (0, 2)
            assert found.dense_shape.tolist() == wanted


def test_nothing_is_above_all_boundaries():
    column = fc.bucketized_column(fc.numeric_column("x"), [0.0, 1.0])
    found = value(fc.input_layer({"x": [[np.nan], [1.0], [-np.inf]]}, [column]))
    assert found.tolist() == [[0, 0, 1], [0, 0, 1], [1, 0, 0]]


def test_an_embedding_begins_as_a_checkpoint(tmp_path):
    table = sg.get_variable("table", [2, 3], initializer=sg.random_normal_initializer(seed=1))
    with sg.Session() as sess:
        sess.run(sg.global_variables_initializer())
        path = sg.train.Saver().save(sess, str(tmp_path / "model"))
        wanted = sess.run(table)
    sg.reset_default_graph()
    category = fc.categorical_column_with_identity("id", 2)
    column = fc.embedding_column(category, 3, ckpt_to_load_from=path, tensor_name_in_ckpt="table")
    np.testing.assert_array_equal(value(fc.input_layer({"id": [[1], [0]]}, [column])), wanted[::-1])


def test_an_embedding_is_learned():
    category = fc.categorical_column_with_hash_bucket("word", 20)
    layer = fc.input_layer({"word": [["a"], ["b"]]}, [fc.embedding_column(category, 1)])
    loss = sg.losses.mean_squared_error([[1.0], [-1.0]], layer)
    step = sg.train.GradientDescentOptimizer(0.5).minimize(loss)
    with sg.Session() as sess:
        sess.run(sg.global_variables_initializer())
        for _ in range(50):
            sess.run(step)
        assert sess.run(loss) < 1e-3


def test_a_category_outside_is_told_with_its_column():
    column = fc.indicator_column(fc.categorical_column_with_identity("day", 7))
    ids = sg.placeholder(sg.int64, [None, 1])
    layer = fc.input_layer({"day": ids}, [column])
    with sg.Session() as sess, pytest.raises(InvalidArgumentError, match="'day' is not from 0 to 6"):
        sess.run(layer, {ids: [[7]]})


def test_a_missing_feature_is_told_with_the_others():
    with pytest.raises(ValueError, match=r"Feature age is not in features(.|\n)*it has name, size"):
        fc.input_layer({"name": ["x"], "size": [1.0]}, [fc.numeric_column("age")])


def test_a_file_without_enough_words(tmp_path):
    path = tmp_path / "words"
    path.write_text("a\nb\n")
    column = fc.categorical_column_with_vocabulary_file("word", str(path), vocabulary_size=3)
    with pytest.raises(ValueError, match="has 2 lines, vocabulary_size is 3"):
        fc.input_layer({"word": ["a"]}, [fc.indicator_column(column)])


def test_columns_are_keys_of_dicts():
    same = [fc.numeric_column("x", [2], default_value=[1.0, 2.0]) for _ in range(2)]
    assert len(dict.fromkeys(same)) == 1
    assert same[0] == same[1]


def test_a_crossed_column_may_hold_crossed_columns():
    inner = fc.crossed_column(["a", "b"], 10)
    assert fc.crossed_column([inner, "c"], 10).name == "a_X_b_X_c"
    flat, nested = fc.crossed_column(["a", "b", "c"], 10), fc.crossed_column([inner, "c"], 10)
    features = {key: [[key]] for key in "abc"}
    found = [fc.input_layer(features, [fc.indicator_column(column)]) for column in (flat, nested)]
    np.testing.assert_array_equal(value(found[0]), value(found[1]))


def test_a_saved_graph_holds_its_vocabulary(tmp_path):
    codes = sg.placeholder(sg.int64, [None], name="codes")
    column = fc.indicator_column(fc.categorical_column_with_vocabulary_list("c", [404, 500]))
    path = str(tmp_path / "net.sg")
    sg.save(path, {"y": fc.input_layer({"c": codes}, [column])}, session=sg.Session())
    assert sg.load(path)(codes=[500, 200])["y"].tolist() == [[0.0, 1.0], [0.0, 0.0]]


def test_a_linear_model_with_parts_of_variables():
    variables: dict = {}
    price = sg.feature_column.numeric_column("price", shape=(4,))
    with sg.variable_scope("", partitioner=sg.fixed_size_partitioner(2)):
        made = sg.feature_column.linear_model({"price": np.ones((3, 4))}, [price], cols_to_vars=variables)
    assert [v.op.name for v in variables[price]] == [f"linear_model/price/weights/part_{i}" for i in (0, 1)]
    assert [v.op.name for v in variables["bias"]] == ["linear_model/bias_weights/part_0"]
    with sg.Session() as session:
        session.run(sg.global_variables_initializer())
        np.testing.assert_array_equal(session.run(made), np.zeros((3, 1)))
