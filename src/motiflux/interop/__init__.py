"""Data of other libraries and of files as columns, from which graphs are made. Imports no graphs or files."""

from motiflux.interop.columns import Coded, GraphColumns, RowError
from motiflux.interop.mapping import ChosenColumns, ColumnMapping, ColumnName, EndColumns, VertexMapping
from motiflux.interop.vertices import VertexColumns

__all__ = [
    "ChosenColumns",
    "Coded",
    "ColumnMapping",
    "ColumnName",
    "EndColumns",
    "GraphColumns",
    "RowError",
    "VertexColumns",
    "VertexMapping",
]
