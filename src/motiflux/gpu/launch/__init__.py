"""Set-up of launches: rows, grid, memory, work queues; jobs that are kept for equal calls."""
