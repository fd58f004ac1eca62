"""The measures of docs/explanation/performance.md; ``make bench`` runs them. No assertion here is timed."""
