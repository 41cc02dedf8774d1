"""Several processes with a GPU each, which the simulator stands for."""

from __future__ import annotations

from tests.processes.launching import launched


def test_first_values_sums_and_errors_are_those_of_processors():
    program = """
        from staticgraph.runtime.gpu.simulator.driver import Simulator
        from tests.gpu.sessions import on
        dist = sg.distribute
        dist.init(timeout=20)
        rank = dist.rank()
        x = sg.placeholder("float32", [2])
        w = sg.get_variable("w", [2], initializer=sg.constant_initializer(float(rank + 1)))
        step = dist.Optimizer(sg.train.GradientDescentOptimizer(0.5)).minimize(sg.reduce_sum(w * x))
        with on(Simulator()), sg.Session() as sess:
            sess.run(sg.global_variables_initializer())
            for _ in range(4):
                sess.run(step, {x: np.float32([1, rank])})
            say("VALUES", sess.run(w).tolist())
            try:
                sess.run(step, {x: np.zeros(2 + rank, np.float32)})
            except Exception as error:
                say("CAUGHT", rank, type(error).__name__)
            sess.run(step, {x: np.float32([1, rank])})
            say("VALUES", sess.run(w).tolist())
            other = dist.all_reduce(sg.zeros([3 + rank]))
            try:
                sess.run(other)
            except Exception as error:
                say("CAUGHT", rank, type(error).__name__, "another step" in str(error))
    """
    said = launched(2, program)
    assert said.count("VALUES [-1.0, 0.0]") == said.count("VALUES [-1.5, -0.25]") == 2, said
    for line in (
        "0 PeerError",
        "1 FeedError",
        "0 FailedPreconditionError True",
        "1 FailedPreconditionError True",
    ):
        assert said.count(f"CAUGHT {line}") == 1, said
