"""Packed states: one as bytes, many as rows of words, and what fits into decision tables."""
