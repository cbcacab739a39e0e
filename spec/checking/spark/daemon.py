"""The daemon from which Spark's workers on this machine fork: what each of them needs it has loaded once for all."""

from pyspark.daemon import manager

import spec.checking.spark.stages  # noqa: F401 - to be shared by the processes that fork

if __name__ == "__main__":
    manager()
