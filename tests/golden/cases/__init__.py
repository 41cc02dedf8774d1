"""The golden cases by subject: {subject: [case]}, in the order in which they stand in the files."""

from tests.golden.cases import (
    arithmetic,
    convolution,
    errors,
    logic,
    math,
    matmul,
    names,
    nn,
    optimizers,
    random,
    reductions,
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
        matmul,
        convolution,
        shaping,
        nn,
        random,
        optimizers,
        names,
        shapes,
        errors,
    )
}
