"""What the controller of a person's own cluster does when something happens, and the worst that can come of it.

A source is read (`reading`) as a description, completed (`known_cluster`), and then undergoes events (`events`): in
their order on a cluster that runs in memory (`prediction.what_if`), or in every order (`any_order.in_any_order`).
"""
