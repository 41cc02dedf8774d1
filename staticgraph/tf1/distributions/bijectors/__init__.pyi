"""Functions with an inverse, and how much they stretch: what distributions are transformed by.

`base.py` says what one is; the others are of elements, of vectors, or made of networks.
 Made by tools/type_stubs.py."""

from staticgraph.tf1.distributions.bijectors.affine import (
    Affine as Affine,
)
from staticgraph.tf1.distributions.bijectors.base import (
    Bijector as Bijector,
    Chain as Chain,
    Identity as Identity,
    Inline as Inline,
    Invert as Invert,
)
from staticgraph.tf1.distributions.bijectors.elementwise import (
    AffineScalar as AffineScalar,
    Exp as Exp,
    Gumbel as Gumbel,
    PowerTransform as PowerTransform,
    Sigmoid as Sigmoid,
    Softplus as Softplus,
    Softsign as Softsign,
    Square as Square,
)
from staticgraph.tf1.distributions.bijectors.flows import (
    MaskedAutoregressiveFlow as MaskedAutoregressiveFlow,
    RealNVP as RealNVP,
    masked_autoregressive_default_template as masked_autoregressive_default_template,
    masked_dense as masked_dense,
    real_nvp_default_template as real_nvp_default_template,
)
from staticgraph.tf1.distributions.bijectors.vectors import (
    Permute as Permute,
    SoftmaxCentered as SoftmaxCentered,
)
