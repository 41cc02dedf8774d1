"""`SyncReplicasOptimizer`: the gradients of all workers, exchanged by collectives.

TensorFlow gathers them on parameter servers. Here each process has all variables, so there is nothing to
serve: all take the same step with the mean of all gradients, which is what that optimizer promises.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from staticgraph.building.inputs import no_op
from staticgraph.compiler.graph.errors import UnimplementedError, misuse
from staticgraph.compiler.graph.tensor import Operation
from staticgraph.distribute.collectives import broadcast_variables
from staticgraph.distribute.optimizer import Optimizer
from staticgraph.distribute.world import size
from staticgraph.formats.tf.log import log
from staticgraph.state.variables import Variable
from staticgraph.tf1.training.hooks.run_hook import SessionRunHook


class SyncReplicasOptimizer(Optimizer):
    """An optimizer that applies the mean of the gradients of all workers, which take each step together.

    Args:
        opt: An optimizer of `staticgraph.train`.
        replicas_to_aggregate: The number of gradients of a step, that of the workers: each gives one.
        total_num_replicas: The number of workers; without effect.
        variable_averages: Not supported: None.
        variables_to_average: Not supported: None.
        use_locking: Without effect.
        name: Without effect: operations have the names of `opt`.

    Raises:
        UnimplementedError: More gradients than there are workers, or moving averages.
        ValueError: A step is made without a global step.

    >>> import staticgraph as sg
    >>> opt = sg.train.SyncReplicasOptimizer(sg.train.GradientDescentOptimizer(0.1), replicas_to_aggregate=1)
    >>> w = sg.Variable(3.0)
    >>> step = opt.minimize(w * w, global_step=sg.train.create_global_step())
    >>> with sg.train.MonitoredTrainingSession(hooks=[opt.make_session_run_hook(True)]) as sess:
    ...     sess.run(step)
    ...     print(f"{sess.run(w):.1f}")
    2.4
    """

    def __init__(
        self,
        opt: Any,
        replicas_to_aggregate: int,
        total_num_replicas: int | None = None,
        variable_averages: Any = None,
        variables_to_average: Any = None,
        use_locking: bool = False,
        name: str = "sync_replicas",
    ) -> None:
        super().__init__(opt)
        if variable_averages is not None:
            raise misuse(
                UnimplementedError, "variable_averages is not supported", "apply them after minimize()"
            )
        if replicas_to_aggregate > size():
            text = f"a step of {replicas_to_aggregate} gradients with {size()} processes is not supported"
            raise misuse(
                UnimplementedError, text, f"start as many processes: launch -n {replicas_to_aggregate}"
            )
        self._count = replicas_to_aggregate
        self._workers = total_num_replicas if total_num_replicas is not None else replicas_to_aggregate
        self._applied = False
        log.info(
            "SyncReplicasOptimizer: each step takes the gradients of all %d processes, by collectives; there "
            "are no parameter servers, and no backup workers.",
            size(),
        )

    def apply_gradients(
        self, grads_and_vars: Iterable[tuple[Any, Variable]], global_step: Any = None, name: str | None = None
    ) -> Operation:
        """An operation that changes each variable by its gradient, as the inner optimizer does.

        Args:
            grads_and_vars: Pairs of a gradient and its variable, as `compute_gradients` gives them.
            global_step: The variable that counts steps.
            name: The name of the operation.

        Returns:
            The operation of a step.

        Raises:
            ValueError: There are no variables, or there is no global step.
        """
        pairs = list(grads_and_vars)
        if not pairs:
            raise misuse(ValueError, "Must supply at least one variable")
        if global_step is None:
            hint = "pass global_step=tf.train.get_or_create_global_step()"
            raise misuse(ValueError, "Global step is required to check staleness", hint)
        step = super().apply_gradients(pairs, global_step, name)
        self._applied = True
        return step

    def _require_applied(self, name: str) -> None:
        """Raise ValueError if no step was made yet."""
        if not self._applied:
            raise misuse(ValueError, f"{name}() should be called after apply_gradients()")

    def make_session_run_hook(self, is_chief: bool, num_tokens: int = -1) -> SessionRunHook:
        """A hook that gives all workers the variables of the chief, for a monitored session."""
        return BroadcastHook()

    def get_chief_queue_runner(self) -> Any:
        """Return a queue runner that does nothing: no tokens are handed out.

        Raises:
            ValueError: `apply_gradients` was not called before.
        """
        self._require_applied("get_chief_queue_runner")
        from staticgraph.tf1.queue import FIFOQueue
        from staticgraph.tf1.training.queue_runner import QueueRunner

        queue = FIFOQueue(1, "int64")
        return QueueRunner(queue, [queue.close()])

    def get_init_tokens_op(self, num_tokens: int = -1) -> Operation:
        """Return an operation that does nothing.

        Args:
            num_tokens: How many workers may begin their first step. Default -1: all of them.

        Raises:
            ValueError: `apply_gradients` was not called before, or a first step has too few tokens.
        """
        self._require_applied("get_init_tokens_op")
        needed = self._count - self._workers
        if num_tokens != -1 and num_tokens < needed:
            text = f"Too few tokens to finish the first step: {num_tokens} (given) vs {needed} (needed)"
            raise misuse(ValueError, text)
        return no_op(name="init_tokens")

    @property
    def chief_init_op(self) -> Operation:
        """An operation that does nothing: there are no variables for the exchange."""
        return no_op(name="chief_init")

    @property
    def local_step_init_op(self) -> Operation:
        """An operation that does nothing: workers do not count their own steps."""
        return no_op(name="local_step_init")

    @property
    def ready_for_local_init_op(self) -> Any:
        """None: there is nothing to wait for."""
        return None


class BroadcastHook(SessionRunHook):
    """Hook that gives all variables the values of one process when there is a new session.

    Args:
        root_rank: The rank of that process, 0 by default.
        device: Without effect.
    """

    def __init__(self, root_rank: int = 0, device: str = "") -> None:
        self.root_rank, self.device = root_rank, device
        self.bcast_op: Operation | None = None

    def begin(self) -> None:
        """Make the operation."""
        self.bcast_op = broadcast_variables(None, self.root_rank)

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Run the operation."""
        session.run(self.bcast_op)
