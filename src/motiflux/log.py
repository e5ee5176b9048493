"""Loggers of the decisions and results of calls. Nothing is printed unless a program configures `logging`."""

from __future__ import annotations

import logging

DEBUG = logging.DEBUG

logging.getLogger("motiflux").addHandler(logging.NullHandler())

PLAN = logging.getLogger("motiflux.plan")
"""Plans: debug."""
ENGINE = logging.getLogger("motiflux.engine")
"""Results with engine and reason, and changes to another engine or kernel: info; repeated counts: debug."""
MEMORY = logging.getLogger("motiflux.memory")
"""Memory that is released for a call: info; memory that is taken: debug."""
COMPILE = logging.getLogger("motiflux.compile")
"""Compiled kernels: info; kernels that were stored: debug."""
