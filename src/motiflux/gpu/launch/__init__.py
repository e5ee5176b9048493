"""From a plan to a launch: memory, grid, shares of work."""
