"""Functions with an inverse, and how much they stretch: what distributions are transformed by.

`base.py` says what one is; the others are of elements, of vectors, or made of networks.
"""

from staticgraph.compiler.support.lazy_names import lazy_names

# Type checkers read `__init__.pyi`.
lazy_names(
    __name__,
    {
        "staticgraph.tf1.distributions.bijectors.affine": "Affine",
        "staticgraph.tf1.distributions.bijectors.base": "Bijector Chain Identity Inline Invert",
        "staticgraph.tf1.distributions.bijectors.elementwise": (
            "AffineScalar Exp Gumbel PowerTransform Sigmoid Softplus Softsign Square"
        ),
        "staticgraph.tf1.distributions.bijectors.flows": (
            "masked_autoregressive_default_template masked_dense MaskedAutoregressiveFlow "
            "real_nvp_default_template RealNVP"
        ),
        "staticgraph.tf1.distributions.bijectors.vectors": "Permute SoftmaxCentered",
    },
)
