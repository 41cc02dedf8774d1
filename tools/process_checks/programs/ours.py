"""Steps of this project in several processes. Usage: ours.py STEPS together|apart"""

import sys

import net

import staticgraph as sg


def main(steps: int, together: bool) -> None:
    """Train, with the gradients of all processes or those of this one."""
    dist = sg.distribute
    x, y = sg.placeholder("float32", [net.BATCH, net.SIZES[0]]), sg.placeholder("int32", [net.BATCH])
    h, layers = x, net.weights()
    for number, (weight, bias) in enumerate(layers):
        h = sg.matmul(h, sg.Variable(weight)) + sg.Variable(bias)
        h = sg.nn.relu(h) if number + 1 < len(layers) else h
    loss = sg.reduce_mean(sg.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=h))
    inner = sg.train.AdamOptimizer(net.RATE)
    train = (dist.Optimizer(inner) if together else inner).minimize(loss)
    meeting = dist.all_reduce(sg.constant(1.0))
    with sg.Session() as sess:
        sess.run(sg.global_variables_initializer())
        rows, kinds = net.batch(dist.rank())
        feed = {x: rows, y: kinds}
        net.told(lambda: sess.run([loss, train], feed)[0], steps, lambda: sess.run(meeting))


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2] == "together")
