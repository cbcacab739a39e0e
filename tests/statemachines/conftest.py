"""The fixtures of the pytest plugin."""

from spec.pytest_plugin import zookeeper_client, zookeeper_in_memory

__all__ = ["zookeeper_client", "zookeeper_in_memory"]
