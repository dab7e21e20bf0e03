"""Benchmarks: what croupier costs, how efficient it is, and how honest its intervals are.

One way to declare a case (`families.Family`), one way to repeat it (`replicate.replicate`), one
way to report it (`report`). Every benchmark prints a table, writes a CSV and a picture into
docs/benchmarks, and can run one case alone: ``python -m benchmarks.efficiency --case normal-16``.
"""
