"""Steps of JAX with its collectives for CPUs. Usage: jax_gloo.py STEPS together|apart RANK SIZE PORT"""

import sys
from typing import Any

import jax
import jax.numpy as jnp
import net
import numpy as np
from jax.experimental.multihost_utils import sync_global_devices
from jax.sharding import Mesh, NamedSharding, PartitionSpec

FIRST, SECOND, EPSILON = 0.9, 0.999, 1e-8


def loss_of(layers: Any, rows: Any, kinds: Any) -> Any:
    """Mean cross entropy."""
    h = rows
    for number, (weight, bias) in enumerate(layers):
        h = h @ weight + bias
        h = jax.nn.relu(h) if number + 1 < len(layers) else h
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(h), kinds[:, None], axis=1))


def adam(state: Any, rows: Any, kinds: Any) -> Any:
    """A step of Adam."""
    layers, first, second, count = state
    loss, slopes = jax.value_and_grad(loss_of)(layers, rows, kinds)
    count = count + 1
    first = jax.tree.map(lambda m, g: FIRST * m + (1 - FIRST) * g, first, slopes)
    second = jax.tree.map(lambda v, g: SECOND * v + (1 - SECOND) * g * g, second, slopes)
    rate = net.RATE * jnp.sqrt(1 - SECOND**count) / (1 - FIRST**count)
    layers = jax.tree.map(lambda w, m, v: w - rate * m / (jnp.sqrt(v) + EPSILON), layers, first, second)
    return (layers, first, second, count), loss


def main(steps: int, together: bool, rank: int, size: int, port: int) -> None:
    """Train, with the gradients of all processes or those of this one."""
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(f"127.0.0.1:{port}", size, rank)
    devices = np.array(jax.devices() if together else jax.local_devices())
    mesh = Mesh(devices, ("process",))
    whole, cut = NamedSharding(mesh, PartitionSpec()), NamedSharding(mesh, PartitionSpec("process"))
    layers = net.weights()
    zeros = jax.tree.map(np.zeros_like, layers)
    start = (layers, zeros, zeros, np.float32(0))
    state = jax.tree.map(lambda a: jax.make_array_from_process_local_data(whole, np.asarray(a)), start)
    rows, kinds = (jax.make_array_from_process_local_data(cut, each) for each in net.batch(rank))
    train = jax.jit(adam, donate_argnums=0)

    def step() -> float:
        nonlocal state
        state, loss = train(state, rows, kinds)
        return float(loss)

    net.told(step, steps, lambda: sync_global_devices("start"))
    jax.distributed.shutdown()


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2] == "together", *map(int, sys.argv[3:6]))
