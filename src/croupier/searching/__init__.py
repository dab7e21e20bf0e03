"""Searching: where a function of a space is large. Every evaluation is asked of a table."""
