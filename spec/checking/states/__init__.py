"""Packed states: one as bytes, many as rows of words, and the limits of decision tables."""
