"""Reports on plans: frozen data for people and other programs."""

from motiflux.plan.estimate.prediction import MemoryReport, Prediction
from motiflux.plan.report.data import (
    Actual,
    EngineReport,
    GraphReport,
    GroupReport,
    PatternReport,
    PhaseReport,
    PlanReport,
    SourceReport,
    SpaceReport,
    StepReport,
    TailReport,
)

__all__ = [
    "Actual",
    "EngineReport",
    "GraphReport",
    "GroupReport",
    "MemoryReport",
    "PatternReport",
    "PhaseReport",
    "PlanReport",
    "Prediction",
    "SourceReport",
    "SpaceReport",
    "StepReport",
    "TailReport",
]
