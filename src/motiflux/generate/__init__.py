"""Random graphs of any size, drawn from a seed.

Each function returns a `motiflux.Graph`. Behind each is a generator, which gives the same edges as arrays, in
blocks, or in a file: `Rmat`, `UniformEdges`, `UniformGraph`, `PowerLaw`, `Flows`, `Transfers`. Every random
number is a function of the seed and of its position and purpose, so that any number of threads, blocks of any
size and a GPU give the same graph.
"""

from motiflux.generate.base import Duplicates, EdgeColumns
from motiflux.generate.degrees import PowerLaw, power_law
from motiflux.generate.generator import Generator
from motiflux.generate.netflow import Flows, flows
from motiflux.generate.payments import Transfers, transfers
from motiflux.generate.planting import BANDS, Planted
from motiflux.generate.quadrants import Rmat, rmat
from motiflux.generate.uniform import UniformEdges, UniformGraph, erdos_renyi
from motiflux.generate.write import check_output

__all__ = [
    "BANDS",
    "Duplicates",
    "EdgeColumns",
    "Flows",
    "Generator",
    "Planted",
    "PowerLaw",
    "Rmat",
    "Transfers",
    "UniformEdges",
    "UniformGraph",
    "check_output",
    "erdos_renyi",
    "flows",
    "power_law",
    "rmat",
    "transfers",
]
