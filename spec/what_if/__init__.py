"""Predict what the controller of a person's own cluster does in some events, and the worst possible outcome.

A source is read as a description (`reading`) and completed (`known_cluster`). Then events happen to it (`events`): in
their order on a cluster in memory (`prediction.what_if`), or in every order (`any_order.in_any_order`).
"""
