"""Control requests wait, are sent twice, come late, and come from two controllers: what do brokers make of them?

`state` has the variables and their sizes, `actions` what happens, `properties` what has to hold, and
`control_requests` the theory, and how it is seen. Each is a class over the one before.
"""

from spec.systems.control_requests.control_requests import ControlRequests
from spec.systems.control_requests.state import Connection, ControlledBrokers, controller_writes_isr

__all__ = ["ControlRequests", "Connection", "ControlledBrokers", "controller_writes_isr"]
