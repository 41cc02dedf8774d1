"""Errors for CUDA's status codes, with an explanation in words.

The numbers are those of `cudaError_t`. `CUresult` has the same numbers for all that is distinguished here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from staticgraph.compiler.graph.errors import (
    FailedPreconditionError,
    OpError,
    ResourceExhaustedError,
    UnavailableError,
    misuse,
)
from staticgraph.compiler.support.dataclass import dataclass

if TYPE_CHECKING:
    from staticgraph.compiler.compiled_step import CompiledStep
    from staticgraph.compiler.lower.buffer_assignment import MemoryUse

OUT_OF_MEMORY = 2
NO_CARD, OLD_DRIVER, BUSY, FORKED = 100, 35, 46, 3
NO_BINARY, NOT_FOUND = 209, 500  # an image that is for other GPUs, and one without what is asked for
_BROKEN = "no work can be given to the GPU any more in this process: start it anew"
_SETUP = "nvidia-smi shows whether the driver works; to load it anew, or to start the machine anew, may help"
_OLD = "install a newer driver, or the extra cuda12 in place of cuda13"


@dataclass(frozen=True, slots=True)
class CudaReason:
    """Explanation of a status: its meaning, a hint that helps, and the class of its error."""

    what: str
    hint: str | None = None
    kind: Callable[..., OpError] = UnavailableError


REASONS = {
    OUT_OF_MEMORY: CudaReason("the GPU has no memory left", None, ResourceExhaustedError),
    FORKED: CudaReason(
        "CUDA could not start: this process was forked from one that uses the GPU",
        "start processes by multiprocessing.get_context('spawn')",
        FailedPreconditionError,
    ),
    OLD_DRIVER: CudaReason("the NVIDIA driver is older than the CUDA of CuPy", _OLD, FailedPreconditionError),
    222: CudaReason(
        "the NVIDIA driver is older than the compiler of the kernels", _OLD, FailedPreconditionError
    ),
    BUSY: CudaReason(
        "the GPU is busy: it takes one process at a time, or none, and has one",
        "nvidia-smi shows which process that is, and the mode as 'Compute M.'",
    ),
    NO_CARD: CudaReason(
        "there is no GPU here that this process may use",
        "the environment variable CUDA_VISIBLE_DEVICES may hide it",
        FailedPreconditionError,
    ),
    34: CudaReason(
        "libcuda here is a stub, without a driver", "install the driver of the GPU", FailedPreconditionError
    ),
    101: CudaReason("there is no such GPU", "nvidia-smi -L lists them", FailedPreconditionError),
    304: CudaReason("the system does not let this process use the GPU", "/dev/nvidia* must be open to it"),
    802: CudaReason("the GPUs are not ready", "the service nvidia-fabricmanager has to run"),
    803: CudaReason("the NVIDIA driver and its libraries are of different versions", _SETUP),
    804: CudaReason("the GPU does not take libraries that are newer than its driver", _OLD),
    999: CudaReason("the NVIDIA driver does not answer", _SETUP),
    214: CudaReason("the memory of the GPU is damaged", _BROKEN),
    700: CudaReason("a kernel reached outside of its memory", _BROKEN),
    702: CudaReason("a kernel took longer than the system lets it", _BROKEN),
    710: CudaReason("a kernel stopped at an assertion", _BROKEN),
    715: CudaReason("a kernel has an instruction that the GPU does not know", _BROKEN),
    716: CudaReason("a kernel reached memory at an address that is no multiple of what it reads", _BROKEN),
    719: CudaReason("a kernel failed", _BROKEN),
}


def failure(status: int, text: str, what: str) -> OpError:
    """The error for a status with this text of CUDA's, met at `what`.

    >>> print(failure(700, "cudaErrorIllegalAddress", "waiting for the GPU").message)
    waiting for the GPU: a kernel reached outside of its memory (cudaErrorIllegalAddress)
    """
    reason = REASONS.get(status, CudaReason("CUDA failed", None, OpError))
    return reason.kind(f"{what}: {reason.what} ({text})", hint=reason.hint)


def explained(error: Any, what: str) -> OpError:
    """The error for one that CuPy raised, met at `what`."""
    return failure(error.status, str(error), what)


def with_line(error: OpError) -> OpError:
    """Add the user's line and the hint to the text of an error, if they are not in it yet.

    >>> told = with_line(UnavailableError("the GPU is busy", hint="wait"))
    >>> print(told.message.splitlines()[-1])
      hint: wait
    """
    if error.op is not None or "\n" in error.message:
        return error
    return misuse(type(error), error.message, error.hint)


def with_plan(error: ResourceExhaustedError, use: MemoryUse) -> OpError:
    """The error of a step for which the GPU has not enough memory: what the step needs is told, too."""
    cure = "run it on a smaller batch, or under a memory_limit, which has values computed again"
    told = f"{cure}; {error.hint}" if error.hint else cure
    error.hint = f"{told}. What the step needs:\n{use}"
    return with_line(error)


@contextmanager
def told(compiled: CompiledStep) -> Iterator[None]:
    """Context in which errors tell what the step needs, or the user's line."""
    try:
        yield
    except ResourceExhaustedError as error:
        raise with_plan(error, compiled.memory) from None
    except OpError as error:
        raise with_line(error) from None
