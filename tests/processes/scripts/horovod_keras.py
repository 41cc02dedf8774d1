# A script as it was written for Keras in TensorFlow 1.15 and Horovod.
import hashlib
import os
import sys

import horovod.tensorflow.keras as hvd
import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import backend as K

hvd.init()
config = tf.ConfigProto()
config.gpu_options.visible_device_list = str(hvd.local_rank())
K.set_session(tf.Session(config=config))

rng = np.random.RandomState(0)
y = rng.randint(0, 4, 512)
x = rng.randn(512, 8).astype(np.float32) * 0.3
x[np.arange(512), y] += 2.0

model = keras.Sequential(
    [keras.layers.Dense(16, activation="relu", input_shape=(8,)), keras.layers.Dense(4, activation="softmax")]
)
opt = keras.optimizers.SGD(0.05 * hvd.size(), momentum=0.9)
opt = hvd.DistributedOptimizer(opt)
model.compile(loss="sparse_categorical_crossentropy", optimizer=opt, metrics=["accuracy"])
callbacks = [
    hvd.callbacks.BroadcastGlobalVariablesCallback(0),
    hvd.callbacks.MetricAverageCallback(),
    hvd.callbacks.LearningRateWarmupCallback(warmup_epochs=2, verbose=1),
    hvd.callbacks.LearningRateScheduleCallback(start_epoch=3, multiplier=0.1),
]
if hvd.rank() == 0:
    path = os.path.join(sys.argv[1], "checkpoint-{epoch}")
    callbacks.append(keras.callbacks.ModelCheckpoint(path, save_weights_only=True))
each = slice(hvd.rank(), None, hvd.size())
history = model.fit(
    x[each], y[each], batch_size=16, callbacks=callbacks, epochs=4, verbose=1 if hvd.rank() == 0 else 0
)
digest = hashlib.md5(b"".join(w.tobytes() for w in model.get_weights())).hexdigest()
rates = ["%.4f" % (rate / hvd.size()) for rate in history.history["lr"]]
loss = history.history["loss"][-1]
os.write(1, ("RESULT %d %s rates %s loss %.6f\n" % (hvd.rank(), digest, " ".join(rates), loss)).encode())
