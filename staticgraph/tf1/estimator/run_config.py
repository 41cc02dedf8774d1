"""`RunConfig`: how an estimator runs, in one process or as one of several workers."""

from __future__ import annotations

import copy
import json
import os
from typing import Any, Final, NoReturn

from staticgraph import train
from staticgraph.compiler.graph.errors import UnimplementedError, misuse
from staticgraph.distribute.world import rank

_DEFAULT: Final[Any] = object()
_EVERY_SECS = 600  # between checkpoints, where no interval is given
_COUNTS = ("save_checkpoints_steps", "save_checkpoints_secs", "session_creation_timeout_secs")


class RunConfig:
    """Settings of an estimator. They cannot be changed: `replace` makes others.

    `model_dir`: the folder of checkpoints and event files. `tf_random_seed`: the seed of each graph.
    `save_summary_steps`, `save_checkpoints_steps` or `save_checkpoints_secs` (600 by default; None for
    both: no checkpoints), `log_step_count_steps`: how often. `keep_checkpoint_max` and
    `keep_checkpoint_every_n_hours`: see `train.Saver`. `session_config`: of all sessions.
    `train_distribute` and `eval_distribute`: strategies of `sg.distribute`. Others are kept and change
    nothing.

    ValueError for values that make no sense and for both kinds of interval; UnimplementedError if the
    environment's `TF_CONFIG` describes several tasks and there is no `train_distribute`.

    >>> import staticgraph as sg
    >>> config = sg.estimator.RunConfig("models/net", save_checkpoints_steps=100)
    >>> config.save_checkpoints_secs is None, config.replace(save_checkpoints_secs=60).save_checkpoints_steps
    (True, None)
    """

    model_dir: str | None
    tf_random_seed: int | None
    save_summary_steps: int | None
    save_checkpoints_steps: int | None
    save_checkpoints_secs: float | None
    session_config: Any
    keep_checkpoint_max: int
    keep_checkpoint_every_n_hours: float
    log_step_count_steps: int | None
    train_distribute: Any
    device_fn: Any
    protocol: str | None
    eval_distribute: Any
    experimental_distribute: Any
    experimental_max_worker_delay_secs: float | None
    session_creation_timeout_secs: float

    # This process, in the words of clusters.
    task_type = "worker"
    num_ps_replicas = 0
    master = ""
    evaluation_master = ""
    service = None

    def __init__(
        self,
        model_dir: str | None = None,
        tf_random_seed: int | None = None,
        save_summary_steps: int | None = 100,
        save_checkpoints_steps: Any = _DEFAULT,
        save_checkpoints_secs: Any = _DEFAULT,
        session_config: Any = None,
        keep_checkpoint_max: int = 5,
        keep_checkpoint_every_n_hours: float = 10000,
        log_step_count_steps: int | None = 100,
        train_distribute: Any = None,
        device_fn: Any = None,
        protocol: str | None = None,
        eval_distribute: Any = None,
        experimental_distribute: Any = None,
        experimental_max_worker_delay_secs: float | None = None,
        session_creation_timeout_secs: float = 7200,
    ) -> None:
        if save_checkpoints_steps is _DEFAULT and save_checkpoints_secs is _DEFAULT:
            save_checkpoints_secs = _EVERY_SECS
        settings = {name: value for name, value in locals().items() if name not in ("self", "__class__")}
        for name in ("save_checkpoints_steps", "save_checkpoints_secs"):
            settings[name] = None if settings[name] is _DEFAULT else settings[name]
        known = _environment(train_distribute is not None or experimental_distribute is not None)
        settings["model_dir"] = model_dir or known.get("model_dir") or None
        self._set(settings)

    @property
    def cluster_spec(self) -> Any:
        """The cluster, which is empty unless the environment's `TF_CONFIG` describes one."""
        return train.ClusterSpec(json.loads(os.environ.get("TF_CONFIG") or "{}").get("cluster", {}))

    @property
    def is_chief(self) -> bool:
        """True in the process that saves: the first one."""
        return self.task_id == 0

    @property
    def task_id(self) -> int:
        """The number of this process among the replicas of the training strategy."""
        return rank() if self.num_worker_replicas > 1 else 0

    global_id_in_cluster = task_id

    @property
    def num_worker_replicas(self) -> int:
        """The number of processes of the training strategy."""
        return getattr(self.train_distribute, "num_processes", 1)

    def replace(self, **kwargs: Any) -> Any:
        """The same settings but for these. A new interval between checkpoints ends one of the other kind."""
        for name, other in (("steps", "secs"), ("secs", "steps")):
            if kwargs.get(f"save_checkpoints_{name}") is not None:
                kwargs.setdefault(f"save_checkpoints_{other}", None)
        for name in kwargs:
            if name not in RunConfig.__annotations__:
                known = ", ".join(RunConfig.__annotations__)
                raise misuse(ValueError, f"RunConfig has no setting {name!r}", f"it has {known}")
        made = copy.copy(self)
        made._set(kwargs)
        return made

    def _set(self, settings: dict[str, Any]) -> None:
        vars(self).update(settings)
        if self.save_checkpoints_steps is not None and self.save_checkpoints_secs is not None:
            _refuse("`save_checkpoints_steps` and `save_checkpoints_secs` cannot be both set.")
        for name in _COUNTS:
            value = getattr(self, name)
            if value is not None and value < 0:
                _refuse(f"{name} should be >= 0, and is {value}")
        if self.keep_checkpoint_max is not None and self.keep_checkpoint_max < 0:
            _refuse(f"keep_checkpoint_max should be >= 0, and is {self.keep_checkpoint_max}")
        if not (self.keep_checkpoint_every_n_hours or 0) > 0:
            _refuse(
                f"keep_checkpoint_every_n_hours should be > 0, and is {self.keep_checkpoint_every_n_hours}"
            )
        if self.log_step_count_steps is not None and self.log_step_count_steps <= 0:
            _refuse(f"log_step_count_steps should be > 0, and is {self.log_step_count_steps}")
        if not isinstance(self.tf_random_seed, int | None):
            _refuse(f"tf_random_seed must be integer, and is {self.tf_random_seed!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(
            f"can't set attribute {name!r} of a RunConfig: config.replace({name}=...) makes another"
        )


def _environment(is_distributed: bool) -> dict[str, Any]:
    """Return the value of the variable TF_CONFIG. UnimplementedError if it describes several tasks, and there
    is no strategy for them.
    """
    known: dict[str, Any] = json.loads(os.environ.get("TF_CONFIG") or "{}")
    tasks = [task for job in known.get("cluster", {}).values() for task in job]
    if len(tasks) > 1 and not is_distributed:
        text = (
            f"TF_CONFIG describes {len(tasks)} tasks, and there is no strategy by which they train together"
        )
        hint = "RunConfig(train_distribute=tf.distribute.experimental.MultiWorkerMirroredStrategy())"
        raise misuse(UnimplementedError, text, hint)
    return known


def _refuse(text: str) -> NoReturn:
    raise misuse(ValueError, f"RunConfig: {text}")
