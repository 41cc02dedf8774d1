"""Formulas of functions: exp, log, sin and others as polynomials, for targets that have no form of their own.

`kernel/primitives/functions.py` names the formula of each function. A formula is made of instructions (fma,
select, bit operations), is free of branches and covers all arguments: denormal and infinite ones, NaN, zeros
of either sign. docs/accuracy.md has the error of each, measured by tools/accuracy/ulp.py. The polynomials are
minimax fits of our own.
"""
