"""The store: the file that a run survives in, its one writer and its readers.

Import from the modules: only a run that has a store loads sqlite.
"""
