"""Distributions: normal and Student mixtures, their fit, weights of draws, and moves of chains."""
