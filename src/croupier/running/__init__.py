"""The loop of a run, its settings and stopping rules, and the functions that start a run."""
