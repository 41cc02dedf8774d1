"""Candidate samplers by what they draw in many runs, and training with their losses."""

import numpy as np
import pytest

import staticgraph as sg

pytestmark = pytest.mark.compiled  # so many runs take longer where they are interpreted
RUNS = 4000
CLASSES = 12


def draws(candidates):
    with sg.Session() as sess:
        step = sess.make_callable(list(candidates))
        return [np.array(part) for part in zip(*(step() for _ in range(RUNS)), strict=True)]


def successive(probabilities, number):
    """Count each class among `number` that were drawn one after the other, without repetition."""
    rng = np.random.default_rng(5)
    rows = [rng.choice(len(probabilities), number, replace=False, p=probabilities) for _ in range(RUNS)]
    return np.bincount(np.ravel(rows), minlength=len(probabilities)) / RUNS


def log_uniform():
    return np.log1p(1 / np.arange(1, CLASSES + 1)) / np.log(CLASSES + 1)


SAMPLERS = {
    "log_uniform": (sg.nn.log_uniform_candidate_sampler, {}, log_uniform()),
    "uniform": (sg.nn.uniform_candidate_sampler, {}, np.full(CLASSES, 1 / CLASSES)),
    "fixed_unigram": (
        sg.nn.fixed_unigram_candidate_sampler,
        {"unigrams": [1.0 + i for i in range(CLASSES)], "distortion": 2.0},
        (1.0 + np.arange(CLASSES)) ** 2 / np.sum((1.0 + np.arange(CLASSES)) ** 2),
    ),
}


@pytest.mark.parametrize("name", SAMPLERS)
def test_distinct_classes_come_as_by_drawing_again(name):
    sampler, options, probabilities = SAMPLERS[name]
    every = np.arange(CLASSES)[None]
    drawn, true_expected, expected = draws(sampler(every, CLASSES, 4, True, CLASSES, seed=1, **options))
    assert all(len(set(row)) == 4 for row in drawn.tolist())
    shares = np.bincount(drawn.ravel(), minlength=CLASSES) / RUNS
    np.testing.assert_allclose(shares, successive(probabilities, 4), atol=0.04)
    np.testing.assert_allclose(np.bincount(drawn[:, 0], minlength=CLASSES) / RUNS, probabilities, atol=0.03)
    of_drawn = np.take_along_axis(true_expected[:, 0], drawn, axis=1)
    np.testing.assert_allclose(expected, of_drawn, rtol=3e-7)
    assert true_expected.mean(axis=0).sum() == pytest.approx(4, rel=0.15)


def test_all_classes_of_a_range_are_found():
    (drawn, _, _) = draws(sg.nn.uniform_candidate_sampler([[0]], 1, 5, True, 5, seed=2))
    assert all(sorted(row) == [0, 1, 2, 3, 4] for row in drawn.tolist())


@pytest.mark.parametrize("unique", [True, False])
def test_reserved_classes_and_those_of_other_shards_are_not_drawn(unique):
    sampler = sg.nn.fixed_unigram_candidate_sampler
    options = {"unigrams": [5.0, 1.0, 2.0, 1.0, 2.0, 3.0], "num_reserved_ids": 2, "num_shards": 2, "shard": 1}
    (drawn, _, _) = draws(sampler([[3]], 1, 2, unique, 4, seed=3, **options))
    assert set(drawn.ravel().tolist()) == {1, 2, 3}  # of 0 to 3 in the shard, the first is reserved


def test_weights_from_a_file(tmp_path):
    vocabulary = tmp_path / "words.csv"
    vocabulary.write_text("the,7\nof,2\nand,1\n", encoding="utf-8")
    sampler = sg.nn.fixed_unigram_candidate_sampler
    (drawn, _, _) = draws(sampler([[0]], 1, 3, False, 3, vocab_file=str(vocabulary), seed=4))
    np.testing.assert_allclose(np.bincount(drawn.ravel()) / drawn.size, [0.7, 0.2, 0.1], atol=0.02)


def test_arguments_that_contradict_each_other():
    with pytest.raises(ValueError, match="4 different classes cannot be drawn from 3"):
        sg.nn.uniform_candidate_sampler([[0]], 1, 4, True, 3)
    with pytest.raises(ValueError, match="true_classes has 1 columns, num_true is 2"):
        sg.nn.uniform_candidate_sampler([[0]], 2, 1, True, 3)
    with pytest.raises(ValueError, match="give either vocab_file or unigrams"):
        sg.nn.fixed_unigram_candidate_sampler([[0]], 1, 1, True, 3)
    with pytest.raises(ValueError, match="there are 2 classes, reserved ones included, and range_max is 3"):
        sg.nn.fixed_unigram_candidate_sampler([[0]], 1, 1, True, 3, unigrams=[1.0, 2.0])


@pytest.mark.parametrize("name", ["nce_loss", "sampled_softmax_loss"])
def test_training_by_samples_finds_the_true_classes(name):
    sg.set_random_seed(1)
    examples = np.eye(8, dtype=np.float32)
    labels = np.arange(8)[:, None] * 5 % 30
    weights, biases = sg.Variable(sg.zeros([30, 8])), sg.Variable(sg.zeros([30]))
    loss = sg.reduce_mean(getattr(sg.nn, name)(weights, biases, labels, examples, 10, 30))
    step = sg.train.AdagradOptimizer(1.0).minimize(loss)
    best = sg.argmax(sg.matmul(examples, weights, transpose_b=True) + biases, 1)
    with sg.Session() as sess:
        sess.run(sg.global_variables_initializer())
        for _ in range(150):
            sess.run(step)
        np.testing.assert_array_equal(sess.run(best), labels[:, 0])


def test_inputs_of_unknown_shape():
    inputs, labels = sg.placeholder(sg.float32), sg.placeholder(sg.int32)
    table, drawn = np.arange(12, dtype=np.float32).reshape(6, 2) / 10, ([1, 4], [[0.5], [0.4]], [0.3, 0.2])
    with sg.Session() as sess:
        sampled = (sg.constant(drawn[0], sg.int64), sg.constant(drawn[1]), sg.constant(drawn[2]))
        loss, same = (
            sg.nn.sampled_softmax_loss(table, np.zeros(6, np.float32), y, x, 2, 6, sampled_values=sampled)
            for x, y in ((inputs, labels), (sg.ones([2, 2]), sg.constant([[3], [5]])))
        )
        expected = sess.run(same)
        np.testing.assert_allclose(sess.run(loss, {inputs: np.ones([2, 2]), labels: [[3], [5]]}), expected)


@pytest.mark.parametrize("count", [2**21, 2**40, 2**70])
def test_reserved_ids_that_no_memory_holds(count):
    """Each reserved id had a weight, before anything was looked at."""
    with pytest.raises((ValueError, sg.errors.ResourceExhaustedError), match="ids are reserved"):
        sg.nn.fixed_unigram_candidate_sampler(
            [[1]], 1, 1, True, count + 3, num_reserved_ids=count, unigrams=(1.0, 2.0, 3.0)
        )
