"""The golden cases by subject: {subject: [case]}, in the order in which they stand in the files."""

from tests.golden.cases import (
    arithmetic,
    convolution,
    errors,
    linalg,
    logic,
    math,
    matmul,
    metrics,
    names,
    nn,
    optimizers,
    random,
    reductions,
    sampling,
    segments,
    shapes,
    shaping,
)
from tests.golden.runner import flatten

SUBJECTS = {
    module.__name__.rpartition(".")[2]: list(flatten(module.CASES))
    for module in (
        arithmetic,
        math,
        logic,
        reductions,
        segments,
        matmul,
        linalg,
        convolution,
        shaping,
        nn,
        random,
        optimizers,
        metrics,
        sampling,
        names,
        shapes,
        errors,
    )
}
