"""ZooKeeper in memory: the tree, the server, and the counters that specifications keep in place of zxids."""
