"""ZooKeeper in memory: its tree, the server, and what specifications keep in place of zxids."""
