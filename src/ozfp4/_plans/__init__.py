"""Plans: what a product needs to know before it sees data."""

from .plan import ALPHABETS, Plan, Term, make_int8_plan, make_plan

__all__ = ["ALPHABETS", "Plan", "Term", "make_int8_plan", "make_plan"]
