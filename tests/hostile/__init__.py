"""Attacks: what hostile inputs, profiles, trees and servers try."""
