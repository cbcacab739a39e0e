"""ZooKeeper in memory: the tree, the server, the counters that specifications keep in place of zxids; and served."""
