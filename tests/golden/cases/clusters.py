"""`contrib.factorization`: centers after steps of k-means, with the draws of TensorFlow."""

import numpy as np

from tests.golden.draws import contrib, generator
from tests.golden.runner import answer, error

POINTS = generator("clusters").uniform(-1.0, 1.0, [40, 3]) + 3.0 * generator("groups").randint(0, 2, [40, 1])
POINTS = POINTS.astype("float32")


def centers(steps=4, batch=40, clusters=4, **options):
    """The centers after each step, and the numbers of the nearest ones in the end."""

    def build(tf):
        x = tf.placeholder(tf.float32, [None, 3])
        made = contrib(tf).factorization.KMeans(x, clusters, **options).training_graph()
        _, index, distances, initialized, init, step = made
        variable = next(v for v in tf.global_variables() if v.op.name == "clusters")
        found = []
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            while not sess.run(initialized):
                sess.run(init, {x: POINTS[len(found) : len(found) + batch]})
            found.append(sess.run(variable))
            for at in range(steps):
                begin = at * batch % len(POINTS)
                sess.run(step, {x: POINTS[begin : begin + batch]})
                found.append(sess.run(variable))
            numbers, last = sess.run([index[0], distances[0]], {x: POINTS})
        return [np.round(found, 3).tolist(), numbers.tolist(), round(float(last.sum()), 2)]

    return build


CASES = [
    answer("KMeans", centers()),
    answer("KMeans with another seed", centers(random_seed=7)),
    answer("KMeans of angles", centers(distance_metric="cosine")),
    answer("KMeans of given centers", centers(initial_clusters=POINTS[3:7])),
    answer("KMeans of chosen centers", centers(initial_clusters=lambda inputs, k: inputs[0][:4])),
    answer("KMeans of a center without points", centers(initial_clusters=np.float32(
        [[0, 0, 0], [3, 3, 3], [90, 90, 90]]), clusters=3)),
    error("KMeans from nowhere", lambda tf: contrib(tf).factorization.KMeans(
        tf.constant(POINTS), 2, "nowhere")),
    error("KMeans of another metric", lambda tf: contrib(tf).factorization.KMeans(
        tf.constant(POINTS), 2, distance_metric="manhattan")),
]  # fmt: skip
