"""Integration: one integrand in, a race of randomised nets out."""
