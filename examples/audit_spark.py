"""Audit a Spark DataFrame: the counting is done where the rows are.

Here Spark runs on one core of this machine. On a cluster, take the session you have.

    $ python examples/audit_spark.py
    pyspark counted 20000 rows
    Women score lower than men with the same income: 9.8 points.
    estimate 0.098, 95% interval 0.096 to 0.100
    the same figures as from the file itself: True
"""

import tempfile
from pathlib import Path

from pyspark.sql import SparkSession

import likeforlike as lfl
from likeforlike.datasets import make_loans

spark = (
    SparkSession.builder.master("local[1]")
    .config("spark.ui.enabled", "false")
    .config("spark.sql.shuffle.partitions", "1")
    .getOrCreate()
)


def audited(data: object) -> lfl.Audit:
    """Audit a DataFrame or a file in the same way."""
    return lfl.audit(data, score="score", sensitive="sex", legitimate="income", resolution=0.001)


with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "loans.parquet"
    make_loans(20_000, gap=0.1).frame.write_parquet(path)

    found = audited(spark.read.parquet(str(path)))
    again = audited(path)
spark.stop()

print(f"{found.table.engine} counted {found.table.rows} rows")
print(found.to_dict()["finding"]["headline"])
assert found.interval is not None
low, high = found.interval
print(f"estimate {found.estimate:.3f}, 95% interval {low:.3f} to {high:.3f}")
same = found.to_dict()["contrasts"] == again.to_dict()["contrasts"]
print(f"the same figures as from the file itself: {same}")
