"""From a plan to a launch: rows, grid, memory, work queues; jobs that are kept for equal calls."""
