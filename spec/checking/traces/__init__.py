"""Traces: making them from paths, writing, reading, replaying, explaining and shortening them."""
