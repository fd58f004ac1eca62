"""A KKP seed on API servers of the tests."""
