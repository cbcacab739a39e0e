"""How often two brokers both consider themselves controller: the states of a kept run, queried in SQL and plotted.

The states of a kept run with two brokers are a DataFrame with a column for each variable. SQLite, part of Python,
answers a question about them; with `pip install matplotlib` the answer is drawn into `both_active.svg`.

    127,369 states; in 4,890 both brokers are active
      from depth 16 on, of 720 states there 1.1%
      most at depth 25: 496 of 6,166
"""

import sqlite3
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas

from spec.checking import check
from spec.checking.local import LocalEngine
from spec.checking.runs.dataframes import states_of_run
from spec.systems.controller_election import ControllerElection

QUESTION = """
    SELECT level, COUNT(*) AS states, SUM("controllers[0].active" AND "controllers[1].active") AS both
    FROM states GROUP BY level ORDER BY level
"""


def states() -> pandas.DataFrame:
    """Every reachable state of an election between two brokers."""
    election = ControllerElection(brokers=2)
    with TemporaryDirectory() as run:
        check(election, engine=LocalEngine(run_dir=run))
        return states_of_run(run, election)


def by_depth(frame: pandas.DataFrame) -> pandas.DataFrame:
    """The answer to the question, a row for each depth."""
    asked = ["level", "controllers[0].active", "controllers[1].active"]
    with closing(sqlite3.connect(":memory:")) as database:
        frame[asked].to_sql("states", database, index=False)
        return pandas.read_sql(QUESTION, database)


def plot(answer: pandas.DataFrame, file: Path) -> None:
    """Plot the number of states at each depth, and the number in which both brokers are active."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4), layout="constrained")
    axes = figure.subplots()
    answer.plot("level", ["states", "both"], logy=True, ax=axes, xlabel="depth", ylabel="states")
    figure.savefig(file)


def main(folder: Path = Path()) -> None:
    """Ask, print the answer, and plot it into a folder."""
    answer = by_depth(states())
    found = answer[answer["both"] > 0]
    first, most = found.iloc[0], found.loc[found["both"].idxmax()]
    print(f"{answer['states'].sum():,} states; in {answer['both'].sum():,} both brokers are active")
    print(
        f"  from depth {first['level']} on, of {first['states']:,} states there {first['both'] / first['states']:.1%}"
    )
    print(f"  most at depth {most['level']}: {most['both']:,} of {most['states']:,}")
    plot(answer, folder / "both_active.svg")


if __name__ == "__main__":
    main()
