"""A replica's log: records with leader epochs, the epoch cache and its file, and truncation."""
