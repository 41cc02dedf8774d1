"""Steps of this project in several processes. Usage: ours.py STEPS together|packed|apart

The gradients are those of all processes, or of this one; `packed` puts these into buckets that nobody sends.
"""

import sys
from typing import Any

import net

import staticgraph as sg
from staticgraph.compiler import ops
from staticgraph.distribute.buckets import BUCKET, in_buckets


def packed(loss: Any, inner: Any) -> Any:
    """Return a step with all that an exchange needs in each process by itself."""
    gradients, variables = zip(*inner.compute_gradients(loss), strict=True)
    own = in_buckets(gradients, BUCKET, lambda bucket: ops.barrier(bucket) * (1.0 / sg.distribute.size()))
    return inner.apply_gradients(zip(own, variables, strict=True))


def main(steps: int, mode: str) -> None:
    """Train, and tell how long steps took, and their exchanges."""
    dist = sg.distribute
    x, y = sg.placeholder("float32", [net.BATCH, net.SIZES[0]]), sg.placeholder("int32", [net.BATCH])
    h, layers = x, net.weights()
    for number, (weight, bias) in enumerate(layers):
        h = sg.matmul(h, sg.Variable(weight)) + sg.Variable(bias)
        h = sg.nn.relu(h) if number + 1 < len(layers) else h
    loss = sg.reduce_mean(sg.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=h))
    inner = sg.train.AdamOptimizer(net.RATE)
    if mode == "packed":
        train = packed(loss, inner)
    else:
        train = (dist.Optimizer(inner) if mode == "together" else inner).minimize(loss)
    meeting = dist.all_reduce(sg.constant(1.0))
    with sg.Session() as sess:
        sess.run(sg.global_variables_initializer())
        rows, kinds = net.batch(dist.rank())
        feed = {x: rows, y: kinds}

        def step() -> float:
            return sess.run([loss, train], feed)[0]

        def parts() -> dict[str, float]:
            with sess.profile() as profile:
                for _ in range(steps):
                    step()
            spent = [k.nanoseconds for k in profile.longest.kernels if k.is_exchange]
            return {"exchange": 1e-9 * sum(spent) / steps}

        net.told(step, steps, lambda: sess.run(meeting), parts)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
