"""Runs of ``motiflux watch`` that are saved, and continued later, perhaps in another folder."""
