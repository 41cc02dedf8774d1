"""Callbacks: actions between the steps of training (TF1's `tf.keras.callbacks`). Made by tools/type_stubs.py."""

from staticgraph.tf1.keras.callbacks.base import (
    BaseLogger as BaseLogger,
    Callback as Callback,
    CallbackList as CallbackList,
    History as History,
)
from staticgraph.tf1.keras.callbacks.points import (
    Watch as Watch,
)
from staticgraph.tf1.keras.callbacks.progress import (
    ProgbarLogger as ProgbarLogger,
)
from staticgraph.tf1.keras.callbacks.reports import (
    CSVLogger as CSVLogger,
    LambdaCallback as LambdaCallback,
    RemoteMonitor as RemoteMonitor,
    TensorBoard as TensorBoard,
)
from staticgraph.tf1.keras.callbacks.watching import (
    EarlyStopping as EarlyStopping,
    LearningRateScheduler as LearningRateScheduler,
    ModelCheckpoint as ModelCheckpoint,
    ReduceLROnPlateau as ReduceLROnPlateau,
    TerminateOnNaN as TerminateOnNaN,
)
