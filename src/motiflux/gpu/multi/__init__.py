"""Several GPUs that share one count or listing."""
