"""Whole runs against two API servers, behind proxies that fail, or killed at every write: docs/reliability.md."""
