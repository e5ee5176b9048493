"""Files of arrays: ``.mfg``, ``.npz``, ``.npy``."""
