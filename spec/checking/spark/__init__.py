"""The Spark engine: explores on as many cores and machines as Spark is given, and can be resumed.

One noun in each module: `engine` goes from level to level, `work` is what is done to states, `jobs` are how Spark
does it, `paths` leads back from a finding, `session` is where Spark comes from, `source` is what a specification
is written in. Levels are kept in a run directory, `spec.checking.rundir`.
"""

from spec.checking.spark.engine import SparkEngine

__all__ = ["SparkEngine"]
