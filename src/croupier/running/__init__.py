"""The loop and what is around it: settings, stopping rules, and the doors to a run."""
