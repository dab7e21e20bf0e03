"""Example problems for croupier."""
