"""Operations on the bits of integers: the namespace `bitwise`."""

from staticgraph.compiler import ops
from staticgraph.compiler.support.lazy_names import show_public_names

__all__ = ["bitwise_and", "bitwise_or", "bitwise_xor", "invert", "left_shift", "right_shift"]

bitwise_and = ops.bitwise_and
bitwise_or = ops.bitwise_or
bitwise_xor = ops.bitwise_xor
invert = ops.invert
left_shift = ops.left_shift
right_shift = ops.right_shift

show_public_names(__name__)
