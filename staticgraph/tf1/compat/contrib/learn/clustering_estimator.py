"""`KMeansClustering`: an estimator of clusters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import staticgraph as sg
from staticgraph.compiler.graph.errors import misuse
from staticgraph.tf1.compat.contrib.learn import clustering

_DEFAULT_SIGNATURE = "serving_default"


class _StopWhenSettled(sg.train.SessionRunHook):
    """Stops when the loss changes by less than a part of itself."""

    def __init__(self, loss: Any, tolerance: float) -> None:
        self._loss, self._tolerance, self._before = loss, tolerance, None

    def before_run(self, run_context: Any) -> Any:
        """Ask for the loss."""
        return sg.train.SessionRunArgs(self._loss)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Compare it with the one before."""
        loss = run_values.results
        if self._before and abs(loss - self._before) / (1 + abs(self._before)) < self._tolerance:
            run_context.request_stop()
        self._before = loss


class KMeansClustering(sg.estimator.Estimator):
    """An estimator that finds clusters of points by k-means.

    An `input_fn` returns points, float32 [n, dimensions], or a dict of features whose columns are joined in
    the order of their names.

    Args:
        num_clusters: The number of clusters.
        model_dir: The folder of checkpoints.
        initial_clusters, distance_metric, random_seed, use_mini_batch, mini_batch_steps_per_iteration,
            kmeans_plus_plus_num_retries: As for `KMeans`.
        relative_tolerance: Training stops when the loss changes by a smaller part; None for never.
        config: A `RunConfig`.
        feature_columns: Feature columns, which make points of a dict of features.

    Raises:
        ValueError: If `initial_clusters` or `distance_metric` has another value.

    >>> import numpy as np
    >>> import staticgraph.compat.tf1 as tf
    >>> points = np.float32([[0, 0], [0, 1], [9, 9], [9, 8]])
    >>> def input_fn():
    ...     return tf.train.limit_epochs(tf.convert_to_tensor(points), num_epochs=1)
    >>> kmeans = tf.contrib.factorization.KMeansClustering(2, use_mini_batch=False)
    >>> for _ in range(3):
    ...     _ = kmeans.train(input_fn)
    >>> sorted(kmeans.cluster_centers().round(2).tolist())
    [[0.0, 0.5], [9.0, 8.5]]
    """

    SQUARED_EUCLIDEAN_DISTANCE = clustering.SQUARED_EUCLIDEAN_DISTANCE
    COSINE_DISTANCE = clustering.COSINE_DISTANCE
    RANDOM_INIT = clustering.RANDOM_INIT
    KMEANS_PLUS_PLUS_INIT = clustering.KMEANS_PLUS_PLUS_INIT
    SCORE = "score"
    CLUSTER_INDEX = "cluster_index"
    ALL_DISTANCES = "all_distances"
    CLUSTER_CENTERS_VAR_NAME = clustering.CLUSTERS_VAR_NAME

    def __init__(
        self,
        num_clusters: int,
        model_dir: str | None = None,
        initial_clusters: Any = RANDOM_INIT,
        distance_metric: str = SQUARED_EUCLIDEAN_DISTANCE,
        random_seed: int = 0,
        use_mini_batch: bool = True,
        mini_batch_steps_per_iteration: int = 1,
        kmeans_plus_plus_num_retries: int = 2,
        relative_tolerance: float | None = None,
        config: Any = None,
        feature_columns: Any = None,
    ) -> None:
        names = (self.RANDOM_INIT, self.KMEANS_PLUS_PLUS_INIT)
        if isinstance(initial_clusters, str) and initial_clusters not in names:
            raise misuse(ValueError, f"initial_clusters={initial_clusters!r} is not one of {names}")
        metrics = (self.SQUARED_EUCLIDEAN_DISTANCE, self.COSINE_DISTANCE)
        if distance_metric not in metrics:
            raise misuse(ValueError, f"distance_metric={distance_metric!r} is not one of {metrics}")

        def model_fn(features: Any, mode: str, config: Any) -> Any:
            to_all, index, distances, _, init_op, step = clustering.KMeans(
                _points(features, feature_columns),
                num_clusters,
                initial_clusters,
                distance_metric,
                use_mini_batch,
                mini_batch_steps_per_iteration,
                random_seed,
                kmeans_plus_plus_num_retries,
            ).training_graph()
            loss = sg.reduce_sum(distances)
            sg.summary.scalar("loss/raw", loss)
            # Each run chooses centers first, as long as some are missing: no batch is lost on that alone.
            with sg.control_dependencies([init_op, step, sg.assign_add(sg.train.get_global_step(), 1)]):
                train_op = sg.identity(loss)
            hooks = [] if relative_tolerance is None else [_StopWhenSettled(loss, relative_tolerance)]
            output = sg.estimator.export.PredictOutput
            return sg.estimator.EstimatorSpec(
                mode=mode,
                predictions={self.ALL_DISTANCES: to_all[0], self.CLUSTER_INDEX: index[0]},
                loss=loss,
                train_op=train_op,
                eval_metric_ops={self.SCORE: sg.metrics.mean(loss)},
                training_hooks=hooks,
                export_outputs={
                    self.ALL_DISTANCES: output(to_all[0]),
                    self.CLUSTER_INDEX: output(index[0]),
                    _DEFAULT_SIGNATURE: output(index[0]),
                },
            )

        super().__init__(model_fn, model_dir, config)

    def predict_cluster_index(self, input_fn: Any) -> Iterator[Any]:
        """Yield the number of the nearest center for each point."""
        return self._predictions(input_fn, self.CLUSTER_INDEX)

    def transform(self, input_fn: Any) -> Iterator[Any]:
        """Yield the distances to all centers for each point."""
        return self._predictions(input_fn, self.ALL_DISTANCES)

    def _predictions(self, input_fn: Any, key: str) -> Iterator[Any]:
        return (each[key] for each in self.predict(input_fn, predict_keys=[key]))

    def score(self, input_fn: Any) -> Any:
        """Return the sum of the distances of the points of one batch to their nearest centers."""
        return self.evaluate(input_fn, steps=1)[self.SCORE]

    def cluster_centers(self) -> np.ndarray:
        """Return the centers, [num_clusters, dimensions]."""
        found: np.ndarray = self.get_variable_value(self.CLUSTER_CENTERS_VAR_NAME)
        return found


def _points(features: Any, feature_columns: Any) -> Any:
    if not isinstance(features, dict):
        return features
    if feature_columns:
        return sg.feature_column.input_layer(features, feature_columns)
    return sg.concat([features[name] for name in sorted(features)], axis=1)
