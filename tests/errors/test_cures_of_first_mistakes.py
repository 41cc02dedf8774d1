"""Mistakes of the first hour whose messages told no cure."""

import pytest

import staticgraph as sg


def cure(kind, mistake) -> str:
    """The hint of a message."""
    with pytest.raises(kind) as caught:
        mistake()
    return str(caught.value).partition("hint: ")[2].partition("\n")[0]


def taken(dataset):
    element = dataset.make_one_shot_iterator().get_next()
    with sg.Session() as session:
        return session.run(element)


def test_elements_of_unlike_shapes():
    lengths = sg.data.Dataset.range(1, 5).map(lambda i: sg.fill([i], i))
    told = cure(sg.errors.InvalidArgumentError, lambda: taken(lengths.batch(2)))
    assert told == "padded_batch makes them equal with zeros; images are resized in a map before"


def test_a_generator_that_yields_another_shape_or_type():
    def rows(value, dtype, shape):
        return sg.data.Dataset.from_generator(lambda: iter([value]), dtype, shape)

    told = cure(sg.errors.InvalidArgumentError, lambda: taken(rows([1, 2, 3], sg.int32, [2])))
    assert told == "None in output_shapes stands for a size that varies, as in [None]"
    told = cure(sg.errors.InvalidArgumentError, lambda: taken(rows("a", sg.int32, [])))
    assert told == "convert what it yields, or change output_types"


def test_a_misspelled_optimizer_of_keras():
    model = sg.keras.Sequential([sg.keras.layers.Dense(3, input_shape=(4,))])
    assert cure(ValueError, lambda: model.compile("sdg", "mse")) == "did you mean 'sgd'?"


def test_values_in_a_list_where_a_picture_wants_shapes():
    labels = sg.placeholder(sg.int64, [None], name="labels")
    told = cure(sg.errors.OpError, lambda: sg.visualize(labels + 1, stage="fused", feeds={labels: [1, 2, 3]}))
    assert told == "a list is the shape of an array; values are an array: np.asarray([...])"


def test_a_checkpoint_in_the_folder_of_the_program(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sg.Variable(1.0)
    with sg.Session() as session:
        told = cure(ValueError, lambda: sg.train.Saver().restore(session, "model"))
    assert told == "the folder of the program has no checkpoint"


def test_a_session_of_a_graph_that_was_reset():
    one = sg.constant(1.0)
    sg.reset_default_graph()
    with sg.Session() as session:
        told = cure(RuntimeError, lambda: session.run(one))
    assert told == "a session takes the default graph: build it before, and after reset_default_graph()"
