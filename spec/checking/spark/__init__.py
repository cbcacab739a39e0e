"""The Spark engine: explores on as many cores and machines as Spark has, and its runs can be resumed.

One noun in each module: `engine` goes from level to level, `work` processes states, `stages` are how Spark does it,
`session` provides Spark. Levels are kept in a run directory, `spec.checking.runs.rundir`.
"""

from spec.language.errors import require

require("pyspark", "pyarrow", "pandas")

from spec.checking.spark.engine import SparkEngine  # noqa: E402 - where what it needs is there

__all__ = ["SparkEngine"]
