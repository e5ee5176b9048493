"""From plans to kernels: translation units, and the arguments they are launched with."""
