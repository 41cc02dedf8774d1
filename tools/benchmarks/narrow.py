"""All rows without AVX-512, so that a machine that has it shows what one without it would.

Each library is told in its own way: most by variables of the environment, which the workers inherit; ours,
and the floor, by what llvmlite says of the processor.
"""

from __future__ import annotations

import os

_WANTED = "BENCHMARK_WITHOUT_AVX512"
VARIABLES = {
    "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR",  # NumPy's own loops
    "OPENBLAS_CORETYPE": "Haswell",
    "ATEN_CPU_CAPABILITY": "avx2",  # PyTorch, torch.compile
    "MKL_ENABLE_INSTRUCTIONS": "AVX2",
    "ONEDNN_MAX_CPU_ISA": "AVX2",  # in PyTorch and TensorFlow
    "XLA_FLAGS": "--xla_cpu_max_isa=AVX2",
    "NUMBA_CPU_NAME": "x86-64-v3",  # PyTensor
    "NUMBA_CPU_FEATURES": "",
}
NOTE = (
    "All rows without AVX-512, as on a machine that lacks it, as far as they can be told: ONNX Runtime, the "
    "matrix products of JAX, and NumPy's below choose by themselves, and are those of a wider machine."
)


def ask() -> None:
    """Hold this process, and those that it starts, to registers of 256 bits."""
    os.environ.update(VARIABLES, **{_WANTED: "1"})
    obey()


def obey() -> None:
    """Do as the process that started this one was asked; for those who find the processor by llvmlite."""
    if not os.environ.get(_WANTED):
        return
    import llvmlite.binding as llvm

    found = llvm.get_host_cpu_features()
    found.update({name: False for name in found if name.startswith("avx512")})
    llvm.get_host_cpu_features = lambda: found
