"""Values of a state outside it: as text and JSON, as the Python that makes them, as constants on a command line."""
