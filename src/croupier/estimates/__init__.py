"""What a ledger says: one estimate, its error bar, and what deserves a warning."""
