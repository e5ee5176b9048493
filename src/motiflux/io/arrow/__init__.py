"""Arrow and Parquet files, and tables in Arrow's terms (the package pyarrow)."""
