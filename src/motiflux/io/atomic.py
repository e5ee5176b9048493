"""Where readers and writers of this package find `motiflux.atomic`, which layers below it use too."""

from motiflux.atomic import AtomicFile, check_place, output_error, refuse_irregular

__all__ = ["AtomicFile", "check_place", "output_error", "refuse_irregular"]
