"""Differences from TensorFlow 1.15.5 on purpose: the name of a golden case, and why.

`test_golden.py` checks that each of them still differs; the manual lists them.
"""

DIFFERENCES = {
    "math: negative of zero": (
        "TensorFlow subtracts from zero, so that -0.0 becomes 0.0; here the sign changes, as IEEE 754 has it."
    ),
    "math: rsqrt of minus zero": (
        "TensorFlow gives inf in single precision; here it is -inf, as in double precision and in IEEE 754."
    ),
    "math: round to zero from below": (
        "TensorFlow's round makes 0.0 of what its own rint makes -0.0; here both keep the sign."
    ),
    "arithmetic: pow of zero": "The derivative of x ** 0 at 0 is NaN in TensorFlow; here it is 0.",
    "nn: fused_batch_norm for inference": (
        "TensorFlow has no derivative by the moments that are given; here there is one."
    ),
    "names: nn.swish": (
        "TensorFlow attaches a gradient function by an IdentityN; here the product itself is the result."
    ),
    "names: einsum": (
        "TensorFlow builds einsum of reshapes, transposes and a MatMul; here it is one operation."
    ),
    "names: softmax cross entropy": (
        "TensorFlow flattens logits to a matrix and ends in a Reshape; here one operation takes any rank."
    ),
    "names: repr": "The representation of a tensor names the library that it belongs to.",
    "errors: assign to a tensor": (
        "What takes a variable raises TypeError for a tensor; TensorFlow's AttributeError is an accident."
    ),
}
