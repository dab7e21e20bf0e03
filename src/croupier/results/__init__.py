"""Results: what a run returns, how it is made, and how results are merged."""
