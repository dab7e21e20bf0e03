"""The attacks of the fault harness. Each yields "same", "refused" or what went wrong."""
