"""Pictures of the tables, and of a controller's life."""
