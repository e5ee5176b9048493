"""The engines of NVIDIA GPUs."""
