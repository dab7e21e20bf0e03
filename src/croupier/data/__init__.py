"""What flows: draws, batches, outcomes, the plan, the moments and the history of a run."""
