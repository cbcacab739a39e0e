"""Tests share the classes that a run of Spark has kept."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests import spark_classes


def test_what_is_kept_is_shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If there is something, and no options were given."""
    monkeypatch.delenv(spark_classes.OPTIONS, raising=False)
    monkeypatch.setattr(spark_classes, "KEPT", tmp_path / "spark.jsa")
    spark_classes.share()
    assert spark_classes.OPTIONS not in os.environ
    spark_classes.KEPT.touch()
    spark_classes.share()
    assert f"-XX:SharedArchiveFile={tmp_path / 'spark.jsa'} " in os.environ[spark_classes.OPTIONS]
    monkeypatch.setenv(spark_classes.OPTIONS, "-Xint")
    spark_classes.share()
    assert os.environ[spark_classes.OPTIONS] == "-Xint"
