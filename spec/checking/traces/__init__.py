"""Traces: made of paths, written, read, followed again, explained, put in brief."""
