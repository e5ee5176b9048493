"""From a pattern and a graph to a plan."""

from motiflux.plan.ir import Plan, PlanArgs, PlanShape
from motiflux.plan.planner import check_symmetry, make_plan

__all__ = ["Plan", "PlanArgs", "PlanShape", "check_symmetry", "make_plan"]
