"""Control requests wait, repeat, arrive late, and come from two controllers: how do brokers respond?

`state` has the variables and their sizes, `actions` the actions, `properties` the properties, and `control_requests`
the theory, the views and the pictures. Each has a class that extends the one before.
"""

from spec.systems.control_requests.control_requests import ControlRequests
from spec.systems.control_requests.state import Connection, ControlledBrokers, controller_writes_isr

__all__ = ["ControlRequests", "Connection", "ControlledBrokers", "controller_writes_isr"]
