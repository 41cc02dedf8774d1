"""Conversions of float16 for processors that have no instruction for them, as LLVM text.

LLVM calls these functions there by the names that compilers' run-time libraries give them; few processes have
such a library in them. Numbers are rounded to the nearest, halfway cases to the even one, as the instructions
of other processors do.
"""

from __future__ import annotations

from staticgraph.compiler.codegen.llvm.text import Code

SYMBOLS = ("__extendhfsf2", "__truncsfhf2", "__truncdfhf2")

# The exponents differ by 112, so a product with 2**112 makes one of the other, of subnormal numbers too.
_EXTEND = """
define float @__extendhfsf2(half %x) nounwind {
  %word = bitcast half %x to i16
  %bits = zext i16 %word to i32
  %size = and i32 %bits, 32767
  %moved = shl i32 %size, 13
  %small = bitcast i32 %moved to float
  %scaled = fmul float %small, 0x46F0000000000000
  %finite = bitcast float %scaled to i32
  %special = or i32 %moved, 2139095040
  %is_special = icmp uge i32 %size, 31744
  %found = select i1 %is_special, i32 %special, i32 %finite
  %sign = and i32 %bits, 32768
  %high = shl i32 %sign, 16
  %all = or i32 %found, %high
  %y = bitcast i32 %all to float
  ret float %y
}
"""

# A subnormal result is what is left at the end of the fraction after 0.5 is added; the processor rounds the
# sum. Other numbers are rounded by adding just under half of the last place, or half if it is odd.
_TRUNCATE = """
define half @__truncsfhf2(float %x) nounwind {
  %bits = bitcast float %x to i32
  %size = and i32 %bits, 2147483647
  %positive = bitcast i32 %size to float
  %sum = fadd float %positive, 0.5
  %sum_bits = bitcast float %sum to i32
  %subnormal = sub i32 %sum_bits, 1056964608
  %last = lshr i32 %size, 13
  %odd = and i32 %last, 1
  %lowered = add i32 %size, -939520001
  %rounded = add i32 %lowered, %odd
  %normal = lshr i32 %rounded, 13
  %is_small = icmp ult i32 %size, 947912704
  %finite = select i1 %is_small, i32 %subnormal, i32 %normal
  %is_nan = icmp ugt i32 %size, 2139095040
  %special = select i1 %is_nan, i32 32256, i32 31744
  %is_large = icmp uge i32 %size, 1199570944
  %found = select i1 %is_large, i32 %special, i32 %finite
  %high = lshr i32 %bits, 16
  %sign = and i32 %high, 32768
  %all = or i32 %found, %sign
  %word = trunc i32 %all to i16
  %y = bitcast i16 %word to half
  ret half %y
}
"""

# By way of a float with an odd last bit wherever digits were lost: rounding that again cannot be wrong.
_TRUNCATE_DOUBLE = """
define half @__truncdfhf2(double %x) nounwind {
  %near = fptrunc double %x to float
  %back = fpext float %near to double
  %lost = fcmp one double %back, %x
  %bits = bitcast float %near to i32
  %size = call double @llvm.fabs.f64(double %x)
  %back_size = call double @llvm.fabs.f64(double %back)
  %is_above = fcmp ogt double %back_size, %size
  %below = sub i32 %bits, 1
  %cut = select i1 %is_above, i32 %below, i32 %bits
  %odd = or i32 %cut, 1
  %chosen = select i1 %lost, i32 %odd, i32 %bits
  %y = bitcast i32 %chosen to float
  %z = call half @__truncsfhf2(float %y)
  ret half %z
}
"""

CODE = Code(SYMBOLS[0], _EXTEND + _TRUNCATE + _TRUNCATE_DOUBLE, ("declare double @llvm.fabs.f64(double)",))
