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
    "rarities: xlogy and xdivy of zero": (
        "The derivative by x at 0 is log(y) or 1 / y, as in PyTorch; in TensorFlow it is 0."
    ),
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
    **dict.fromkeys(
        [
            f"bad_input: {op} of NaN"
            for op in (
                "cholesky_solve",
                "matrix_inverse",
                "matrix_determinant",
                "matrix_solve",
                "matrix_triangular_solve",
                "matrix_solve_ls",
                "matrix_solve_ls with a regularizer",
                "expm",
            )
        ]
        + ["bad_input: expm of infinity"],
        "The inverse of a matrix with NaN is of NaN, as LAPACK has it, and so is what is made of it; "
        "TensorFlow takes the matrix for singular, and its determinant is a number.",
    ),
    **dict.fromkeys(
        [
            "bad_input: cholesky of NaN",
            "bad_input: logdet of NaN",
            "bad_input: pinv of NaN",
            "bad_input: pinv of infinity",
            "bad_input: svd of NaN",
            "bad_input: svd of infinity",
            "bad_input: singular values of NaN",
            "bad_input: singular values of infinity",
            "bad_input: self_adjoint_eig of infinity",
            "bad_input: self_adjoint_eigvals of infinity",
        ],
        "There is no such decomposition, which is an error; TensorFlow gives numbers that have no meaning.",
    ),
    **dict.fromkeys(
        [
            f"bad_input: lu of {what}"
            for what in (
                "a singular matrix",
                "zeros",
                "NaN",
                "a batch with one singular matrix",
                "zero",
            )
        ],
        "Singular matrices have factors too, with a zero on the diagonal, as LAPACK has it.",
    ),
    "bad_input: matrix_solve_ls of a batch with one singular matrix": (
        "TensorFlow's factor of the product of the matrix by itself is of rounding errors."
    ),
    **dict.fromkeys(
        [f"bad_input: matrix_solve_ls{more} of a vector" for more in ("", " with a regularizer")],
        "A vector is no matrix, which is a ValueError; TensorFlow's IndexError is an accident.",
    ),
    "bad_input: sqrtm of zeros": "Zeros are a square root of zeros; TensorFlow divides by zero.",
    "bad_input: where of one": "A number that is not zero has one place, without coordinates.",
    "bad_input: rfft of no columns": "There is no Fourier transform of nothing.",
    **dict.fromkeys(
        [
            "bad_input: segment_max of NaN",
            "bad_input: unsorted_segment_max of NaN",
            "bad_input: sort of NaN",
            "bad_input: random_gamma of NaN",
            "bad_input: random_gamma of infinity",
        ],
        "NaN stays NaN; in TensorFlow, a maximum with it depends on the order.",
    ),
}
