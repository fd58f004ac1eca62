"""Whole boots: the real cloud-init and shell do what the default profiles say, each in a root of its own."""
