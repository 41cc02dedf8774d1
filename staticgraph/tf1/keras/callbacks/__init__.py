"""Callbacks: actions between the steps of training (TF1's `tf.keras.callbacks`)."""

from staticgraph.compiler.support.lazy_names import lazy_names

# Type checkers read `__init__.pyi`.
lazy_names(
    __name__,
    {
        "staticgraph.tf1.keras.callbacks.base": "BaseLogger Callback CallbackList History",
        "staticgraph.tf1.keras.callbacks.points": "Watch",
        "staticgraph.tf1.keras.callbacks.progress": "ProgbarLogger",
        "staticgraph.tf1.keras.callbacks.reports": "CSVLogger LambdaCallback RemoteMonitor TensorBoard",
        "staticgraph.tf1.keras.callbacks.watching": (
            "EarlyStopping LearningRateScheduler ModelCheckpoint ReduceLROnPlateau TerminateOnNaN"
        ),
    },
)
