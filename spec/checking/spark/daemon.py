"""The daemon from which Spark's workers on this machine fork: it loads once what every worker needs.

Spark makes each worker collect garbage after each task. The daemon freezes the modules that it has loaded, so that no
worker scans them.
"""

import gc

from pyspark.daemon import manager

import spec.checking.spark.stages  # noqa: F401 - to be shared by the processes that fork

if __name__ == "__main__":
    gc.freeze()
    manager()
