"""`tf.train`'s names for a cluster: its tasks are this process, or the processes that were started together.

In one process, each server of a cluster is its session, and variables lie where all else does; a session that
would need tasks of other processes is an error. If mpiexec has started several processes, each worker is one
of them and has all variables. Then `SyncReplicasOptimizer` exchanges gradients, parameter servers have no
work, and an optimizer by itself, whose updates would come at any time, is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import cycle
from typing import Any, ClassVar

from staticgraph.compiler.graph.errors import FailedPreconditionError, UnimplementedError, misuse
from staticgraph.distribute.world import join_group, launched, rank
from staticgraph.formats.tf.log import log
from staticgraph.train.optimizers.optimizer import set_for_all

ASYNCHRONOUS = (
    "parameter servers that take gradients at any time are not supported: the results would depend on which "
    "process is faster"
)


class ClusterSpec:
    """Jobs, and the addresses of their tasks: a list for each job, or a dict by task number.

    >>> import staticgraph as sg
    >>> cluster = sg.train.ClusterSpec({"ps": ["a:2222"], "worker": ["b:2222", "c:2222"]})
    >>> cluster.num_tasks("worker"), cluster.task_address("worker", 1)
    (2, 'c:2222')
    """

    def __init__(self, cluster: Any) -> None:
        if isinstance(cluster, ClusterSpec):
            cluster = cluster.as_dict()
        elif hasattr(cluster, "job"):  # a message, whose class few programs import
            cluster = {job.name: dict(job.tasks) for job in cluster.job}
        if not isinstance(cluster, Mapping):
            text = f"a cluster is a dict of jobs to lists of addresses, not {type(cluster).__name__}"
            raise misuse(TypeError, text)
        self._jobs = {job: _numbered(job, tasks) for job, tasks in cluster.items()}

    def __bool__(self) -> bool:
        return bool(self._jobs)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ClusterSpec) and self._jobs == other._jobs

    def __hash__(self) -> int:
        return hash(tuple(self._jobs))

    def __repr__(self) -> str:
        return f"ClusterSpec({dict(sorted(self.as_dict().items()))})"

    @property
    def jobs(self) -> list[str]:
        """The names of the jobs."""
        return list(self._jobs)

    def as_dict(self) -> dict[str, Any]:
        """The tasks of each job: a list, or a dict where numbers are missing."""
        return {
            job: list(tasks.values()) if list(tasks) == list(range(len(tasks))) else dict(tasks)
            for job, tasks in self._jobs.items()
        }

    def as_cluster_def(self) -> Any:
        """Return the jobs and their tasks as a message."""
        from staticgraph.formats.tf.messages import config  # few programs ask

        jobs = [config.JobDef(name=job, tasks=dict(tasks)) for job, tasks in sorted(self._jobs.items())]
        return config.ClusterDef(job=jobs)

    def num_tasks(self, job_name: str) -> int:
        """Return the number of tasks of a job.

        Args:
            job_name: The name of the job.

        Raises:
            ValueError: If the cluster has no such job.
        """
        return len(self._tasks(job_name))

    def task_indices(self, job_name: str) -> list[int]:
        """The numbers of a job's tasks. ValueError for an unknown job."""
        return list(self._tasks(job_name))

    def task_address(self, job_name: str, task_index: int) -> str:
        """The address of a task. ValueError for an unknown job, or if it has no task of that number."""
        tasks = self._tasks(job_name)
        if task_index not in tasks:
            raise misuse(ValueError, f"job {job_name!r} has no task {task_index}")
        return tasks[task_index]

    def job_tasks(self, job_name: str) -> list[str | None]:
        """The addresses of a job's tasks by number, None if one is missing. ValueError for an unknown job."""
        tasks = self._tasks(job_name)
        return [tasks.get(number) for number in range(max(tasks, default=-1) + 1)]

    def _tasks(self, job_name: str) -> dict[int, str]:
        if job_name not in self._jobs:
            known = ", ".join(self._jobs) or "none"
            raise misuse(ValueError, f"the cluster has no job {job_name!r}; its jobs: {known}")
        return self._jobs[job_name]


def _numbered(job: str, tasks: Any) -> dict[int, str]:
    """The addresses of a job's tasks by number, in order."""
    if not isinstance(job, str):
        raise misuse(TypeError, f"the name of a job is a string, not {job!r}")
    match tasks:
        case list() | tuple():
            numbered = dict(enumerate(tasks))
        case Mapping():
            numbered = dict(sorted(tasks.items()))
        case _:
            text = f"the tasks of job {job!r} are a list, or a dict by number, not {tasks!r}"
            raise misuse(TypeError, text)
    for number, address in numbered.items():
        if not isinstance(number, int) or not isinstance(address, str):
            text = f"task {number!r} of job {job!r}: the number is an int and the address a string"
            raise misuse(TypeError, text)
    return numbered


class Server:
    """A task of a cluster: this process. `Session(server.target)` is an ordinary session.

    `job_name` and `task_index` may be left out if there is one. UnimplementedError if `target` or `join` is
    used in a cluster that has tasks without a server in this process, unless its processes were started
    together, by mpiexec or `staticgraph launch`.
    """

    _here: ClassVar[set[str]] = set()  # the addresses of all that were made

    def __init__(
        self,
        server_or_cluster_def: Any,
        job_name: str | None = None,
        task_index: int | None = None,
        protocol: str | None = None,
        config: Any = None,
        start: bool = True,
    ) -> None:
        cluster = ClusterSpec(server_or_cluster_def)
        self._cluster = cluster
        self._job_name = _only("job_name", cluster.jobs) if job_name is None else job_name
        indices = cluster.task_indices(self._job_name)
        self._task_index = _only("task_index", indices) if task_index is None else task_index
        Server._here.add(cluster.task_address(self._job_name, self._task_index))
        self._is_joined = _join(cluster, self._job_name, self._task_index)

    @staticmethod
    def create_local_server(config: Any = None, start: bool = True) -> Server:
        """The only task of a cluster."""
        return Server({"local": ["localhost:0"]}, config=config, start=start)

    @property
    def server_def(self) -> dict[str, Any]:
        """The cluster, the name of the job and the task index that the server was made of."""
        return {
            "cluster": self._cluster.as_dict(),
            "job_name": self._job_name,
            "task_index": self._task_index,
        }

    @property
    def target(self) -> str:
        """The target of a Session of this task: "", which is this process."""
        self._need_no_others("a session")
        return ""

    def start(self) -> None:
        """Nothing: a session computes in this process."""

    def join(self) -> None:
        """End the program of a parameter server, which would serve for ever in TensorFlow. Else do nothing.

        Raises:
            SystemExit: This is a parameter server among processes that were started together.
        """
        self._need_no_others("join()")
        if self._is_joined and self._job_name == "ps":
            raise SystemExit(0)

    def _need_no_others(self, what: str) -> None:
        if self._is_joined:
            return
        tasks = {address for job in self._cluster.jobs for address in self._cluster.job_tasks(job)} - {None}
        if others := tasks - Server._here:
            text = f"{what} would need the {len(others)} other tasks of the cluster: nothing connects to them"
            hint = "run one task: tf.train.Server.create_local_server(), or make a server for each task here"
            raise misuse(UnimplementedError, text, hint)


def _join(cluster: ClusterSpec, job: str, task: int) -> bool:
    """Take part in a cluster whose processes were started together. Return False if they were not."""
    started = launched()
    if started == 1:
        return False
    servers = cluster.num_tasks("ps") if "ps" in cluster.jobs else 0
    workers = sum(map(cluster.num_tasks, cluster.jobs)) - servers
    if started not in (workers, workers + servers):
        text = f"the cluster has {workers} workers and {servers} parameter servers, and {started} processes"
        raise misuse(
            FailedPreconditionError, f"{text} were started", f"launch -n {workers}: only the workers"
        )
    if started == workers + servers and servers:
        join_group(int(job == "ps"), task)
        if job == "ps":
            log.info("A parameter server has nothing to do: each worker has all variables.")
            return True
    if rank() != task and cluster.jobs[0] == job:
        text = f"task_index is {task}, and this is process {rank()} of those started"
        raise misuse(FailedPreconditionError, text, "launch --task_index={rank}: that puts in the number")
    set_for_all(_refuse)
    return True


def _refuse(pairs: Any) -> Any:
    hint = "wrap it: tf.train.SyncReplicasOptimizer(opt, replicas_to_aggregate=workers)"
    raise misuse(UnimplementedError, ASYNCHRONOUS, hint)


def _only(name: str, choices: Sequence[Any]) -> Any:
    if len(choices) != 1:
        raise misuse(ValueError, f"give {name}: the cluster has {len(choices)} to choose from")
    return choices[0]


def replica_device_setter(
    ps_tasks: int = 0,
    ps_device: str = "/job:ps",
    worker_device: str = "/job:worker",
    merge_devices: bool = True,
    cluster: Any = None,
    ps_ops: Any = None,
    ps_strategy: Any = None,
) -> Callable[[Any], str] | None:
    """Return a function for `device()` that puts variables on parameter servers, None without servers.

    Every operation runs in this process: the names of devices only say where it would run in TensorFlow.

    Args:
        ps_tasks: The number of parameter servers. None is returned if it is 0.
        ps_device: The device of the servers. The job in it is looked up in `cluster`.
        worker_device: The device of all other operations.
        merge_devices: Ignored: parts that a name lacks are always taken from the other one.
        cluster: The cluster, as for `ClusterSpec`. If given, it tells the number of servers.
        ps_ops: Types of the operations that servers have. Default: those of variables and tables.
        ps_strategy: Function of an operation that returns the number of its server. Default: one server after
            the other.

    Returns:
        A function of an operation that returns a device, or None.

    Raises:
        TypeError: If `ps_strategy` is not a function.
    """
    if cluster is not None:
        spec, job = ClusterSpec(cluster), ps_device.partition("/job:")[2].partition("/")[0]
        ps_tasks = spec.num_tasks(job) if job in spec.jobs else 0
    if ps_strategy is not None and not callable(ps_strategy):
        raise misuse(TypeError, f"ps_strategy must be a function, not {ps_strategy!r}")
    if not ps_tasks:
        return None
    kinds, turns = set(_ON_SERVERS if ps_ops is None else ps_ops), cycle(range(ps_tasks))
    strategy = ps_strategy or (lambda op: next(turns))

    def chosen(op: Any) -> str:
        if op.type not in kinds:
            return _merged(worker_device, op.device)
        job, own = (dict(_parts(text)).get("job") for text in (ps_device, op.device))
        is_elsewhere = not job or (own is not None and own != job)
        return _merged(ps_device if is_elsewhere else f"{ps_device}/task:{strategy(op)}", op.device)

    return chosen


# Types of operations that parameter servers have.
_ON_SERVERS = {
    "AutoReloadVariable",
    "MutableDenseHashTable",
    "MutableDenseHashTableV2",
    "MutableHashTable",
    "MutableHashTableOfTensors",
    "MutableHashTableOfTensorsV2",
    "MutableHashTableV2",
    "VarHandleOp",
    "Variable",
    "VariableV2",
}


def _parts(device: str | None) -> list[tuple[str, str]]:
    """Return the parts of a device's name, such as ("job", "ps")."""
    pairs = (part.partition(":") for part in (device or "").split("/") if part)
    return [(name, value) for name, _, value in pairs]


def _merged(device: str | None, own: str | None) -> str:
    """Return a device's name, in which the parts of `own` come first."""
    parts = {**dict(_parts(device)), **dict(_parts(own))}
    order = ["job", "replica", "task", *parts]
    return "".join(f"/{name}:{parts.pop(name)}" for name in order if name in parts)
