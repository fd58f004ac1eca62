"""``uninstall``: give a cluster back to Operating System Manager."""
