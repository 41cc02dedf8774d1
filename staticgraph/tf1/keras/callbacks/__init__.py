"""Callbacks: actions between the steps of training (TF1's `tf.keras.callbacks`)."""

from staticgraph.tf1.keras.callbacks.base import BaseLogger, Callback, CallbackList, History
from staticgraph.tf1.keras.callbacks.progress import ProgbarLogger
from staticgraph.tf1.keras.callbacks.reports import CSVLogger, LambdaCallback, RemoteMonitor, TensorBoard
from staticgraph.tf1.keras.callbacks.watching import (
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
