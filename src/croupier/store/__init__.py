"""The store: the file that a run survives in, its one writer and its readers.

Import from the modules, so that only a run with a store loads sqlite.
"""
