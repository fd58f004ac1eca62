"""What a cluster needs before runs can work on it, as manifests: pure, from an :class:`InstallPlan` to bodies."""
