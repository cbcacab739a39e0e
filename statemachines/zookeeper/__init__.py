"""ZooKeeper in memory: the tree, the server, the counters that replace zxids in specifications, and a served one."""
