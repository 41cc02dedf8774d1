"""K-means where TensorFlow's answers depend on threads, or on draws of its own."""

import numpy as np
import pytest

import staticgraph.compat.tf1 as tf
from staticgraph.tf1.compat.contrib.learn.clustering import KMeans

POINTS = np.random.RandomState(0).randn(24, 2) + 6 * (np.arange(24)[:, None] % 3)
POINTS = POINTS.astype(np.float32)


@pytest.fixture(autouse=True)
def empty_graph():
    tf.reset_default_graph()


@pytest.mark.parametrize("steps", [1, 2])
def test_steps_of_batches(steps):
    x = tf.placeholder(tf.float32, [None, 2])
    made = KMeans(x, 3, POINTS[:3], use_mini_batch=True, mini_batch_steps_per_iteration=steps)
    graph = made.training_graph()
    centers = next(v for v in tf.global_variables() if v.op.name == "clusters")
    used, moving, counts = POINTS[:3].copy(), POINTS[:3].copy(), np.full(3, float(steps == 1))
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(graph[4], {x: POINTS})
        for step in range(6):
            batch = POINTS[4 * step : 4 * step + 4]
            nearest = ((batch[:, None] - used) ** 2).sum(2).argmin(1)
            if steps == 2 and step in (2, 4):  # the steps so far are collected in the centers in use
                used, counts = moving.copy(), np.zeros(3)
            for k in set(nearest.tolist()):
                mine = batch[nearest == k]
                counts[k] += len(mine)
                moving[k] += (mine - moving[k]).sum(0) / counts[k]
            used = moving.copy() if steps == 1 else used
            sess.run(graph[5], {x: batch})
            np.testing.assert_allclose(sess.run(centers), used, rtol=1e-5)


def test_batches_smaller_than_the_number_of_clusters_fill_it_up():
    x = tf.placeholder(tf.float32, [None, 2])
    *_, initialized, init, _ = KMeans(x, 5).training_graph()
    centers = next(v for v in tf.global_variables() if v.op.name == "clusters")
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(init, {x: POINTS[:2]})
        sess.run(init, {x: POINTS[2:4]})
        assert not sess.run(initialized)
        sess.run(init, {x: POINTS[4:]})
        assert sess.run(initialized)
        found = sess.run(centers)
    np.testing.assert_array_equal(found[:4], POINTS[:4])
    assert found[4].tolist() in POINTS[4:].tolist()


def test_kmeans_plus_plus_finds_a_point_of_each_group():
    *_, init, _ = KMeans(POINTS, 3, "kmeans_plus_plus").training_graph()
    centers = next(v for v in tf.global_variables() if v.op.name == "clusters")
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(init)
        found = sess.run(centers)
    assert all(row in POINTS.tolist() for row in found.tolist())
    assert sorted(np.round(found.mean(1) / 6).tolist()) == [0, 1, 2]


def test_what_is_not_supported_says_what_is():
    with pytest.raises(tf.errors.UnimplementedError, match="kmeans_plus_plus"):
        KMeans(POINTS, 3, "kmc2")
    with pytest.raises(ValueError, match="must be known"):
        KMeans(tf.placeholder(tf.float32, [None, None]), 3)


@pytest.mark.takes_long
def test_the_estimator_finds_predicts_and_stops(tmp_path):
    def input_fn():
        return tf.train.limit_epochs(tf.convert_to_tensor(POINTS), num_epochs=1)

    kmeans = tf.contrib.factorization.KMeansClustering(
        3, str(tmp_path), "kmeans_plus_plus", use_mini_batch=False, relative_tolerance=0.1
    )
    for _ in range(3):
        kmeans.train(input_fn)
    nearest = [*kmeans.predict_cluster_index(input_fn)]
    assert all(len({*map(int, nearest[group::3])}) == 1 for group in range(3))
    groups = sorted(POINTS[group::3].mean(0).tolist() for group in range(3))
    np.testing.assert_allclose(sorted(kmeans.cluster_centers().tolist()), groups, rtol=1e-4)
    distances = np.array([*kmeans.transform(input_fn)])
    np.testing.assert_allclose(kmeans.score(input_fn), distances.min(1).sum(), rtol=1e-4)
