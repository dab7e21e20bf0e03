"""Searching: what looks for the places that matter, before anything is estimated there."""
