"""The answer: a result, how it is made of what was told, and how results are merged."""
