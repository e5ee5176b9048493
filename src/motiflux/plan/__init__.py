"""Plans of counts and row listings, made from a pattern and a graph."""

from motiflux.plan.ir import Plan
from motiflux.plan.passes.symmetry import check_symmetry
from motiflux.plan.planner import make_plan
from motiflux.plan.shape import PlanArgs, PlanShape

__all__ = ["Plan", "PlanArgs", "PlanShape", "check_symmetry", "make_plan"]
