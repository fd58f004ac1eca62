"""The measures of docs/performance.md; ``make bench`` runs them. No assertion here is timed."""
