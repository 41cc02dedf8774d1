"""`KMeans`: centers of clusters as variables, and the operations that choose, move and use them."""

from __future__ import annotations

import math
from typing import Any

import staticgraph as sg
from staticgraph.compiler.graph.errors import UnimplementedError, misuse

SQUARED_EUCLIDEAN_DISTANCE = "squared_euclidean"
COSINE_DISTANCE = "cosine"
RANDOM_INIT = "random"
KMEANS_PLUS_PLUS_INIT = "kmeans_plus_plus"
KMC2_INIT = "kmc2"
CLUSTERS_VAR_NAME = "clusters"

_EPSILON = 1e-6  # TensorFlow's: the center of a cluster without points becomes 0


class KMeans:
    """The graph of k-means: of the whole data in each step, or of a batch in each.

    The centers are a variable `clusters` of shape [num_clusters, dimensions], so the number of clusters and
    the last axis of the inputs must be known when the graph is built.

    Args:
        inputs: Points, float32 [n, dimensions], or a list of such tensors.
        num_clusters: The number of clusters; ignored if `initial_clusters` are centers.
        initial_clusters: "random" for points drawn from the inputs, "kmeans_plus_plus" for points that are
            far from each other, a tensor of centers, or a function `(inputs, k)` that returns up to k
            centers. The draws of "random" are TensorFlow's of the same seed, those of "kmeans_plus_plus"
            are not.
        distance_metric: "squared_euclidean", or "cosine" for one minus the cosine of the angle.
        use_mini_batch: If each step moves the centers by its own points only, the more slowly the more points
            they have had.
        mini_batch_steps_per_iteration: Steps between two updates of the centers that points are assigned to.
        random_seed: The seed of the draws.
        kmeans_plus_plus_num_retries: Further candidates for each center of "kmeans_plus_plus", of which the
            best is taken; negative for a number that grows with the logarithm of `num_clusters`.
        kmc2_chain_length: For "kmc2", which is not supported.

    Raises:
        ValueError: If an argument has another value, or if a size is not known.
        UnimplementedError: If `initial_clusters` is "kmc2".

    >>> import numpy as np
    >>> import staticgraph as sg
    >>> from staticgraph.tf1.compat.contrib.learn.clustering import KMeans
    >>> points = sg.constant([[0.0, 0.0], [0.0, 1.0], [9.0, 9.0], [9.0, 8.0]])
    >>> _, index, _, _, init, step = KMeans(points, 2, points[1:3]).training_graph()
    >>> with sg.Session() as sess:
    ...     sess.run(sg.global_variables_initializer())
    ...     sess.run(init)
    ...     _ = sess.run(step)
    ...     sess.run(index[0]).tolist()
    [0, 0, 1, 1]
    """

    def __init__(
        self,
        inputs: Any,
        num_clusters: Any,
        initial_clusters: Any = RANDOM_INIT,
        distance_metric: str = SQUARED_EUCLIDEAN_DISTANCE,
        use_mini_batch: bool = False,
        mini_batch_steps_per_iteration: int = 1,
        random_seed: int = 0,
        kmeans_plus_plus_num_retries: int = 2,
        kmc2_chain_length: int = 200,
    ) -> None:
        if isinstance(initial_clusters, str):
            if initial_clusters == KMC2_INIT:
                hint = f"initial_clusters={KMEANS_PLUS_PLUS_INIT!r} chooses centers that are far apart, too"
                raise misuse(UnimplementedError, "KMeans: chains of kmc2 are not supported", hint)
            if initial_clusters not in (RANDOM_INIT, KMEANS_PLUS_PLUS_INIT):
                known = f"{RANDOM_INIT!r} or {KMEANS_PLUS_PLUS_INIT!r}"
                raise misuse(ValueError, f"initial_clusters={initial_clusters!r} is not {known}")
        if distance_metric not in (SQUARED_EUCLIDEAN_DISTANCE, COSINE_DISTANCE):
            known = f"{SQUARED_EUCLIDEAN_DISTANCE!r} or {COSINE_DISTANCE!r}"
            raise misuse(ValueError, f"distance_metric={distance_metric!r} is not {known}")
        self._inputs = [sg.convert_to_tensor(x) for x in (inputs if isinstance(inputs, list) else [inputs])]
        self._cosine = distance_metric == COSINE_DISTANCE
        self._batches, self._steps = use_mini_batch, int(mini_batch_steps_per_iteration)
        self._seed, self._retries = random_seed, kmeans_plus_plus_num_retries
        if isinstance(initial_clusters, str) or callable(initial_clusters):
            self._initial = initial_clusters
            self._count = sg.get_static_value(sg.convert_to_tensor(num_clusters))
        else:
            self._initial = sg.convert_to_tensor(initial_clusters)
            self._count = self._initial.shape[0].value
        self._size = self._inputs[0].shape.with_rank(2)[1].value
        if self._count is None or self._size is None:
            text = f"KMeans: there are {self._count} clusters of {self._size} dimensions"
            raise misuse(ValueError, text, "both numbers must be known: set_shape tells the size of an axis")
        self._count = int(self._count)

    def training_graph(self) -> tuple[Any, Any, Any, Any, Any, Any]:
        """Make the variables and operations.

        Returns:
            `(all_scores, cluster_idx, scores, cluster_centers_initialized, init_op, training_op)`. The first
            three are tuples with a tensor for each tensor of inputs: the distances of its points to all
            centers, the number (int64) of the center that is nearest, and its distance. Then a variable that
            tells whether all centers are chosen, an operation to run until it is True, and one that makes a
            step, and changes nothing before. In one run, the first of these operations comes first.
        """
        centers = sg.Variable(sg.zeros([self._count, self._size]), name=CLUSTERS_VAR_NAME)
        initialized = sg.Variable(False, name="initialized")
        moving, counts, left = self._batch_variables(centers)
        init_op = self._initialize(centers, moving, initialized)
        inputs = self._inputs
        used: Any = centers
        if self._cosine:
            inputs = [sg.nn.l2_normalize(x, 1) for x in inputs]
            used = sg.nn.l2_normalize(centers, 1)
        scores = tuple(self._distances(x, used) for x in inputs)
        to_all = scores
        if self._cosine:  # as TensorFlow has it: a center at 0 has no angle, and is at half the distance of 1
            to_all = tuple(0.5 * _squared_distances(x, used) for x in inputs)
        nearest = tuple(sg.reduce_min(each, 1) for each in to_all)
        index = tuple(sg.argmin(each, 1) for each in to_all)
        if self._batches:
            with sg.control_dependencies([self._synchronize(left, centers, moving, counts)]):
                step = self._batch_step(inputs, index, moving, counts, initialized)
        else:
            step = self._whole_step(inputs, index, centers, initialized)
        return scores, index, nearest, initialized, init_op, step

    def _batch_variables(self, centers: Any) -> tuple[Any, Any, Any]:
        """Return the centers that steps move, the points that each has had, and the steps to an update."""
        if not self._batches:
            return centers, None, None
        if self._steps <= 1:
            return centers, sg.Variable(sg.ones([self._count], sg.int64)), None
        moving = sg.Variable(sg.zeros([self._count, self._size]), name="clusters_updated")
        left = sg.Variable(sg.constant(self._steps, sg.int64), name="update_in_steps")
        return moving, sg.Variable(sg.zeros([self._count], sg.int64)), left

    def _distances(self, x: Any, centers: Any) -> Any:
        products = sg.matmul(x, centers, transpose_b=True)
        return 1.0 - products if self._cosine else _squared_distances(x, centers, products)

    # The first centers

    def _initialize(self, centers: Any, moving: Any, initialized: Any) -> Any:
        """Return an operation that fills rows that have no center yet with as many points as there are."""
        chosen = sg.Variable(0, trainable=False, name="chosen")
        present = sg.add_n([sg.shape(x)[0] for x in self._inputs])
        free = self._count - chosen
        rows = sg.range(self._count) - chosen  # of the new points, for each center
        new, count = self._new_centers(free, present)
        if self._cosine:
            new = sg.nn.l2_normalize(new, 1)
        picked = sg.gather(new, sg.clip_by_value(rows, 0, sg.shape(new)[0] - 1))
        takes = sg.logical_and(rows >= 0, rows < count)
        made = sg.where(takes, picked, centers)
        with sg.control_dependencies([picked, takes]):
            updates = [each.assign(made) for each in dict.fromkeys((moving, centers))]
            updates += [initialized.assign(chosen + count >= self._count), chosen.assign_add(count)]
        return sg.group(*updates)

    def _new_centers(self, free: Any, present: Any) -> tuple[Any, Any]:
        """Return new centers, and how many of them to take."""
        if callable(self._initial):
            new = sg.convert_to_tensor(self._initial(self._inputs, free))
            return new, sg.minimum(sg.shape(new)[0], free)
        if not isinstance(self._initial, str):
            return self._initial, sg.constant(self._count)
        points = sg.concat(self._inputs, 0)
        if self._initial == KMEANS_PLUS_PLUS_INIT:
            enough = sg.debugging.assert_greater_equal(present, free, message="more clusters than points")
            with sg.control_dependencies([enough]):
                return self._far_apart(sg.identity(points)), free
        last = sg.cast(present, sg.int64)
        drawn = sg.random_uniform([self._count], 0, last, dtype=sg.int64, seed=self._seed)
        in_order = sg.range(self._count, dtype=sg.int64) % last
        return sg.gather(points, sg.where(present <= free, in_order, drawn)), sg.minimum(present, free)

    def _far_apart(self, points: Any) -> Any:
        """Draw points by their squared distances from those drawn before: the best of some candidates."""
        if self._cosine:
            points = sg.nn.l2_normalize(points, 1)
        retries = self._retries if self._retries >= 0 else int(2 + math.log(self._count))
        count = sg.shape(points)[0]
        first = sg.random_uniform([1], 0, count, dtype=sg.int32, seed=self._seed)
        centers = sg.TensorArray(sg.float32, self._count).write(0, sg.gather(points, first)[0])
        nearest = _squared_distances(points, sg.gather(points, first))[:, 0]

        def choose(at: Any, nearest: Any, centers: Any) -> Any:
            total = sg.cumsum(nearest)
            drawn = sg.random_uniform([retries + 1], seed=self._seed) * total[-1]
            candidates = sg.minimum(sg.searchsorted(total, drawn, side="right"), count - 1)
            found = sg.gather(points, candidates)
            after = sg.minimum(sg.expand_dims(nearest, 1), _squared_distances(points, found))
            best = sg.argmin(sg.reduce_sum(after, 0), output_type=sg.int32)
            return at + 1, sg.gather(after, best, axis=1), centers.write(at, sg.gather(found, best))

        loop = (sg.constant(1), sg.maximum(nearest, 0.0), centers)
        _, _, centers = sg.while_loop(lambda at, *_: at < self._count, choose, loop)
        made = centers.stack()
        made.set_shape([self._count, self._size])
        return made

    # Steps

    def _sums(self, x: Any, index: Any) -> tuple[Any, Any]:
        """Return the sum of the points of each cluster, and their number."""
        ones = sg.ones_like(index, sg.float32)
        return sg.unsorted_segment_sum(x, index, self._count), sg.unsorted_segment_sum(
            ones, index, self._count
        )

    def _whole_step(self, inputs: list[Any], indices: tuple[Any, ...], centers: Any, initialized: Any) -> Any:
        sums, counts = zip(*map(self._sums, inputs, indices), strict=True)
        made = sg.add_n(list(sums)) / (sg.expand_dims(sg.add_n(list(counts)), 1) + _EPSILON)
        made = sg.nn.l2_normalize(made, 1) if self._cosine else made
        return centers.assign(sg.where(sg.fill([self._count], initialized), made, centers))

    def _batch_step(
        self, inputs: list[Any], indices: tuple[Any, ...], moving: Any, counts: Any, initialized: Any
    ) -> Any:
        updates = []
        for x, index in zip(inputs, indices, strict=True):
            sums, new = (each * sg.to_float(initialized) for each in self._sums(x, index))
            all_points = sg.cast(counts, sg.float32) + new
            step = sg.div_no_nan(sums - sg.expand_dims(new, 1) * moving, sg.expand_dims(all_points, 1))
            updates += [moving.assign_add(step), counts.assign_add(sg.cast(new, sg.int64))]
        return sg.group(*updates)

    def _synchronize(self, left: Any, centers: Any, moving: Any, counts: Any) -> Any:
        """Return an operation that copies the moving centers to those in use when their steps are over."""
        if left is None:
            return sg.no_op()
        over = left <= 0
        latest = sg.nn.l2_normalize(moving, 1) if self._cosine else moving
        made = sg.cond(over, lambda: sg.identity(latest), lambda: sg.identity(centers))
        return sg.group(
            centers.assign(made),
            counts.assign(counts * sg.cast(sg.logical_not(over), sg.int64)),
            left.assign(sg.where(over, sg.constant(self._steps - 1, sg.int64), left - 1)),
        )


def _squared_distances(x: Any, centers: Any, products: Any = None) -> Any:
    """Return the squared distance of each point to each center, [n, count]."""
    products = sg.matmul(x, centers, transpose_b=True) if products is None else products
    of_x = sg.reduce_sum(sg.square(x), 1, keepdims=True)
    of_centers = sg.transpose(sg.reduce_sum(sg.square(centers), 1, keepdims=True))
    return of_x - 2.0 * products + of_centers
