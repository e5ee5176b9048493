"""From a plan to a launch: rows, grid, memory, work queues; searches that are kept for equal calls."""
