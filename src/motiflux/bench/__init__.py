"""The benchmark harness behind ``motiflux bench``.

`measure` takes times, `machine` names what they were taken on, `suite` runs cases, `results` keeps them. The
suites themselves are not part of the package: they live in ``benchmarks/suite``, one file each, with a
function ``build(shared: Path) -> Suite``.
"""
