"""Methods of other systems, one system per file; `run_peer.py` runs one of them.

Nothing here uses motiflux: files are read by NumPy and by hand, so that a defect of its readers cannot hide.
"""
