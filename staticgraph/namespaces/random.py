"""The namespace `random`: `random_ops` under the later names, the candidate samplers, and the seed."""

from staticgraph.building.framework import get_seed, set_random_seed
from staticgraph.compiler.support.lazy_names import show_public_names
from staticgraph.nn.sampling import (
    all_candidate_sampler,
    fixed_unigram_candidate_sampler,
    log_uniform_candidate_sampler,
    uniform_candidate_sampler,
)
from staticgraph.random_numbers.random_ops import categorical, multinomial, truncated_normal
from staticgraph.random_numbers.random_ops import random_normal as normal
from staticgraph.random_numbers.random_ops import random_shuffle as shuffle
from staticgraph.random_numbers.random_ops import random_uniform as uniform
from staticgraph.random_numbers.rejection import random_gamma as gamma
from staticgraph.random_numbers.rejection import random_poisson as poisson
from staticgraph.random_numbers.stateless import (
    stateless_categorical,
    stateless_multinomial,
    stateless_normal,
    stateless_truncated_normal,
    stateless_uniform,
)

__all__ = [
    "all_candidate_sampler", "categorical", "fixed_unigram_candidate_sampler", "gamma", "get_seed",
    "log_uniform_candidate_sampler", "multinomial", "normal", "poisson", "set_random_seed", "shuffle",
    "stateless_categorical", "stateless_multinomial", "stateless_normal", "stateless_truncated_normal",
    "stateless_uniform", "truncated_normal", "uniform", "uniform_candidate_sampler",
]

show_public_names(__name__)
