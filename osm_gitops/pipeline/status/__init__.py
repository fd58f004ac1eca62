"""The state of clusters and pools, which only reads: for ``status``, and for waves, which wait until clusters are
healthy."""
