"""Runs against two API servers, with failing proxies or killed at every write: docs/explanation/reliability.md."""
