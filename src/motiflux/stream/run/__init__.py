"""A monitor on a source: batches, limits, totals."""
