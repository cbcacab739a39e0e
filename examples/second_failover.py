"""Common points of all runs to a second failover: the smallest controller election as a graph of networkx.

There is one broker. It may crash, its session may expire, and an operator may delete /controller. Every run passes
through the dominators of the state graph. A run can stay forever in a strongly connected component: 9 of the 13 have
a step that leaves them, and the other 4 follow the second election, the last that the bound allows.

    260 states and 651 steps; check says: holds
    Every run to a second failover passes through
      epoch 0, /controller names none
      epoch 1, /controller names broker 0
      epoch 1, /controller names none
      epoch 2, /controller names broker 0
    A run can stay for ever in components of
      23 states, left by register_controller: 3
      2 states, left by operator_deletes_controller or zk.expire: 6
      23 states, left by no step: 4
    The three shortest runs to a second failover differ after the first, in
      crash, start, zk.expire
      zk.expire, crash, start
      crash, zk.expire, start
"""

from collections import Counter

from spec.checking import check, state_space
from spec.systems.controller_election import ControllerElection

SECOND_FAILOVER = "len(s.failovers) == 2"


def main() -> None:
    """Ask three questions."""
    system = ControllerElection(brokers=1)
    space = state_space(system)
    graph = space.to_networkx()
    print(
        f"{graph.number_of_nodes()} states and {graph.number_of_edges()} steps; check says: {check(system).verdict}"
    )

    print("Every run to a second failover passes through")
    for passed in space.dominators(SECOND_FAILOVER, by=["s.epoch", "s.named_controller"]):
        broker = "none" if passed["s.named_controller"] is None else f"broker {passed['s.named_controller']}"
        print(f"  epoch {passed['s.epoch']}, /controller names {broker}")

    print("A run can stay for ever in components of")
    components = space.recurrent_components()
    for (states, exits), count in Counter((len(each.states), each.exits) for each in components).items():
        print(f"  {states} states, left by {' or '.join(exits) or 'no step'}: {count}")

    print("The three shortest runs to a second failover differ after the first, in")
    for run in space.shortest_runs(SECOND_FAILOVER, 3):
        steps = [step.step.action for step in run.steps]
        first = steps.index("register_controller")
        print(f"  {', '.join(steps[first + 1 : steps.index('connect', first)])}")


if __name__ == "__main__":
    main()
