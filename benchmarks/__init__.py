"""Benchmarks: what croupier costs, how efficient it is, how honest its intervals are, and peers.

One runner (`runner`), one format of rows (a CSV file for each table, in docs/benchmarks), one
writer of pages (`pages`). A module has `BENCHMARKS`, what it measures, and `TABLES`, how the pages
show it.
"""
