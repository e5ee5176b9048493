"""Graphs that do not fit on GPUs, changing or not: rows in memory of the host, the hottest on the device."""
