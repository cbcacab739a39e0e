"""Values in writing: as text, JSON and Python, and as constants on the command line."""
