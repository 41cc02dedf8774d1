"""The table of messages: names of TensorFlow that are left out on purpose, and what to do instead.

Asking for one is an error that says so, and `hasattr` is False.
"""

from __future__ import annotations

_EAGER = "graphs are declared and then run in a Session; there is no eager execution"
_TPU = "there are no TPUs here: run the program without its TPU flags, such as --use_tpu=False"
_LIBRARY = (
    "machine code of others is not loaded: write the operation with those of the graph, or as a py_func with "
    "RegisterGradient or custom_gradient"
)
_LITE = (
    "python -m staticgraph compile makes an object file for C of a saved graph; docs/onnx.md tells of ONNX"
)

# A dotted name, which stands for all names below it too.
REASONS = {
    "enable_eager_execution": _EAGER,
    "enable_v2_behavior": f"{_EAGER}; disable_v2_behavior() is accepted",
    "enable_tensor_equality": "`==` compares tensors by identity; tf.equal compares their elements",
    "enable_v2_tensorshape": "shapes have Dimensions, as in TensorFlow 1; shape.as_list() has numbers",
    "contrib.eager": f"{_EAGER}; tf.gradients and tf.custom_gradient take derivatives",
    "GradientTape": f"{_EAGER}; tf.gradients(ys, xs) takes derivatives",
    "autograph": "write loops and branches as tf.while_loop, tf.cond and tf.map_fn",
    "contrib.autograph": "write loops and branches as tf.while_loop, tf.cond and tf.map_fn",
    "load_op_library": _LIBRARY,
    "load_library": _LIBRARY,
    "load_file_system_library": _LIBRARY,
    "contrib.util.loader": _LIBRARY,
    "lite": _LITE,
    "contrib.lite": _LITE,
    "tpu": _TPU,
    "contrib.tpu": _TPU,
    "contrib.tensorrt": "tf.Session(device='gpu') compiles the graph for the GPU itself",
    "xla": "every graph is compiled: delete the call",
    "contrib.compiler.xla": "every graph is compiled: delete the call",
    "contrib.gan": "TensorFlow 1.15 has moved it into a package of its own, tensorflow_gan",
    "profiler": "session.profile() times kernels, and session.plan(fetches) tells what a run needs",
    "contrib.tfprof": "session.profile() times kernels, and session.plan(fetches) tells what a run needs",
    "raw_ops": "use the function of the same meaning: tf.nn, tf.math and the others",
    "wrap_function": "call the function: its operations go into the graph",
}


def reason(dotted: str) -> str | None:
    """Return why a name is left out and what to do, None if it is not left out on purpose.

    >>> reason("contrib.lite.toco_convert") == reason("lite")
    True
    """
    parts = dotted.split(".")
    for length in range(len(parts), 0, -1):
        if (found := REASONS.get(".".join(parts[:length]))) is not None:
            return found
    return None
