"""From a ledger to one estimate, its error bar and its warnings."""
