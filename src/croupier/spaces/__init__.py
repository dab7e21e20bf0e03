"""Spaces: where the randomness of a problem lives. One reader serves every door."""
