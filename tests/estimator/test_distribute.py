"""Strategies: one replica, and what a program may ask about it."""

import numpy as np
import pytest

import staticgraph as sg

dist = sg.distribute


@pytest.mark.parametrize("strategy", [dist.MirroredStrategy(), dist.OneDeviceStrategy("/cpu:0")])
def test_a_scope_is_outside_of_replicas(strategy):
    assert not dist.has_strategy()
    assert dist.get_replica_context() is not None
    with strategy.scope():
        assert dist.get_strategy() is strategy
        assert dist.in_cross_replica_context()
        assert dist.get_replica_context() is None

        def replica(x, y=0):
            context = dist.get_replica_context()
            merged = context.merge_call(lambda s, z: (s is strategy, dist.in_cross_replica_context(), z), [x])
            return context.num_replicas_in_sync, context.replica_id_in_sync_group, merged, x + y

        assert strategy.experimental_run_v2(replica, (3,), {"y": 4}) == (1, 0, (True, True, 3), 7)
    assert dist.get_strategy() is not strategy


def test_values_of_all_replicas_are_those_of_one():
    strategy = dist.MirroredStrategy()
    x = sg.constant([[1.0, 2.0], [3.0, 4.0]])
    reduced = [
        strategy.reduce(dist.ReduceOp.SUM, x),
        strategy.reduce(dist.ReduceOp.SUM, x, axis=0),
        strategy.reduce(dist.ReduceOp.MEAN, x, axis=0),
    ]
    with sg.Session() as sess:
        found = sess.run(reduced)
    assert [f.tolist() for f in found] == [[[1.0, 2.0], [3.0, 4.0]], [4.0, 6.0], [2.0, 3.0]]
    assert strategy.experimental_local_results(x) == (x,)
    assert strategy.unwrap(x) == [x]


def test_iterators():
    strategy = dist.MirroredStrategy()
    iterator = strategy.make_dataset_iterator(sg.data.Dataset.range(3))
    total = strategy.experimental_run(lambda x: x * 10, iterator)
    counted = strategy.make_input_fn_iterator(
        lambda context: sg.data.Dataset.from_tensors(context.get_per_replica_batch_size(6))
    )
    with sg.Session() as sess:
        sess.run([iterator.initialize(), counted.initialize()])
        assert [int(sess.run(total)) for _ in range(3)] == [0, 10, 20]
        assert sess.run(counted.get_next()) == 6


def test_an_estimator_builds_its_model_in_a_replica(tmp_path):
    seen = []

    def model_fn(features, labels, mode):
        seen.append((dist.get_strategy(), dist.get_replica_context().replica_id_in_sync_group))
        loss = sg.reduce_mean(features["x"] * sg.get_variable("w", []))
        step = sg.train.GradientDescentOptimizer(0.1).minimize(loss, sg.train.get_global_step())
        return sg.estimator.EstimatorSpec(mode, loss=loss, train_op=step)

    strategy = dist.MirroredStrategy()
    config = sg.estimator.RunConfig(str(tmp_path), train_distribute=strategy)
    data = sg.estimator.inputs.numpy_input_fn({"x": np.float32([1.0])}, shuffle=False)
    sg.estimator.Estimator(model_fn, config=config).train(data)
    assert seen == [(strategy, 0)]
