"""Training by several processes, on one or many machines; and TF1's strategies (its `tf.distribute`).

`world.py` begins: how many processes there are, and which one this is. `optimizer.py` exchanges gradients,
`collectives.py` has the operations that do, `launch.py` starts processes. docs/distribute.md is the manual.
 Made by tools/type_stubs.py."""

from staticgraph.distribute.collectives import (
    all_gather as all_gather,
    all_reduce as all_reduce,
    all_to_all as all_to_all,
    broadcast as broadcast,
    broadcast_variables as broadcast_variables,
    reduce_scatter as reduce_scatter,
)
from staticgraph.distribute.optimizer import (
    Optimizer as Optimizer,
)
from staticgraph.distribute.shards import (
    local_shards as local_shards,
)
from staticgraph.distribute.world import (
    init as init,
    is_initialized as is_initialized,
    local_rank as local_rank,
    local_size as local_size,
    rank as rank,
    shutdown as shutdown,
    size as size,
)
from staticgraph.tf1.distribute import (
    experimental as experimental,
)
from staticgraph.tf1.distribute.mirrored import (
    MirroredStrategy as MirroredStrategy,
)
from staticgraph.tf1.distribute.saver import (
    Saver as Saver,
)
from staticgraph.tf1.distribute.strategy import (
    InputContext as InputContext,
    OneDeviceStrategy as OneDeviceStrategy,
    ReduceOp as ReduceOp,
    ReplicaContext as ReplicaContext,
    Strategy as Strategy,
    get_replica_context as get_replica_context,
    get_strategy as get_strategy,
    has_strategy as has_strategy,
    in_cross_replica_context as in_cross_replica_context,
)
from staticgraph.tf1.training.cluster import (
    Server as Server,
)
