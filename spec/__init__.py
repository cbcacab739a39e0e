"""Specifications and checkers."""
