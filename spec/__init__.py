"""Specifications of Kafka, and the model checker that explores them."""
