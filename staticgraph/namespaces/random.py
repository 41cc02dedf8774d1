"""The namespace `random`: `random_ops` under the later names, the candidate samplers, and the seed."""

from staticgraph.compiler.support.lazy_names import lazy_names

# Type checkers read `random.pyi`.
lazy_names(
    __name__,
    {
        "staticgraph.building.framework": "get_seed set_random_seed",
        "staticgraph.nn.sampling": (
            "all_candidate_sampler fixed_unigram_candidate_sampler log_uniform_candidate_sampler "
            "uniform_candidate_sampler"
        ),
        "staticgraph.random_numbers.random_ops": (
            "categorical multinomial normal=random_normal shuffle=random_shuffle truncated_normal "
            "uniform=random_uniform"
        ),
        "staticgraph.random_numbers.rejection": "gamma=random_gamma poisson=random_poisson",
        "staticgraph.random_numbers.stateless": (
            "stateless_categorical stateless_multinomial stateless_normal stateless_truncated_normal "
            "stateless_uniform"
        ),
    },
)
