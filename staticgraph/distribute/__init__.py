"""Training by several processes, on one or many machines; and TF1's strategies (its `tf.distribute`).

`world.py` begins: how many processes there are, and which one this is. `optimizer.py` exchanges gradients,
`collectives.py` has the operations that do, `launch.py` starts processes. docs/distribute.md is the manual.
"""

from staticgraph.compiler.support.lazy_names import lazy_names

# Type checkers read `__init__.pyi`.
lazy_names(
    __name__,
    {
        "staticgraph.distribute.collectives": (
            "all_gather all_reduce all_to_all broadcast broadcast_variables reduce_scatter"
        ),
        "staticgraph.distribute.optimizer": "Optimizer",
        "staticgraph.distribute.shards": "local_shards",
        "staticgraph.distribute.world": "init is_initialized local_rank local_size rank shutdown size",
        "staticgraph.tf1.distribute.mirrored": "MirroredStrategy",
        "staticgraph.tf1.distribute.saver": "Saver",
        "staticgraph.tf1.distribute.strategy": (
            "get_replica_context get_strategy has_strategy in_cross_replica_context InputContext "
            "OneDeviceStrategy ReduceOp ReplicaContext Strategy"
        ),
        "staticgraph.tf1.training.cluster": "Server",
    },
    {"experimental": "staticgraph.tf1.distribute.experimental"},
)
