"""Devices opened for searching: kernels, streams, control blocks, what is kept in device memory."""
