"""The state graph of a small system: in memory, abstracted, and covered edge by edge."""
