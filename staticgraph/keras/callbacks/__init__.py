"""What can be done between the steps of training (TF1's `tf.keras.callbacks`)."""

from staticgraph.keras.callbacks.base import BaseLogger, Callback, CallbackList, History
from staticgraph.keras.callbacks.progress import ProgbarLogger
from staticgraph.keras.callbacks.reports import CSVLogger, LambdaCallback, RemoteMonitor, TensorBoard
from staticgraph.keras.callbacks.watching import (
    EarlyStopping,
    LearningRateScheduler,
    ModelCheckpoint,
    ReduceLROnPlateau,
    TerminateOnNaN,
)

__all__ = [
    "BaseLogger",
    "CSVLogger",
    "Callback",
    "CallbackList",
    "EarlyStopping",
    "History",
    "LambdaCallback",
    "LearningRateScheduler",
    "ModelCheckpoint",
    "ProgbarLogger",
    "ReduceLROnPlateau",
    "RemoteMonitor",
    "TensorBoard",
    "TerminateOnNaN",
]
