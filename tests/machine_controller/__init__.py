"""Runs beside the real machine-controller: which user-data do Machines get? ``python -m tests.machine_controller``."""
