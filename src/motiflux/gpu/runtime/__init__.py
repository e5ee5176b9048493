"""Devices opened for searching: kernels, streams, control blocks, caches in device memory."""
