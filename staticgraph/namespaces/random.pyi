"""The namespace `random`: `random_ops` under the later names, the candidate samplers, and the seed. Made by tools/type_stubs.py."""

from staticgraph.building.framework import (
    get_seed as get_seed,
    set_random_seed as set_random_seed,
)
from staticgraph.nn.sampling import (
    all_candidate_sampler as all_candidate_sampler,
    fixed_unigram_candidate_sampler as fixed_unigram_candidate_sampler,
    log_uniform_candidate_sampler as log_uniform_candidate_sampler,
    uniform_candidate_sampler as uniform_candidate_sampler,
)
from staticgraph.random_numbers.random_ops import (
    categorical as categorical,
    multinomial as multinomial,
    random_normal as _normal,
    random_shuffle as _shuffle,
    truncated_normal as truncated_normal,
    random_uniform as _uniform,
)
from staticgraph.random_numbers.rejection import (
    random_gamma as _gamma,
    random_poisson as _poisson,
)
from staticgraph.random_numbers.stateless import (
    stateless_categorical as stateless_categorical,
    stateless_multinomial as stateless_multinomial,
    stateless_normal as stateless_normal,
    stateless_truncated_normal as stateless_truncated_normal,
    stateless_uniform as stateless_uniform,
)

gamma = _gamma
normal = _normal
poisson = _poisson
shuffle = _shuffle
uniform = _uniform
