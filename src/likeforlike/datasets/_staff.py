"""Staff of a made company: grades, hours, salaries and bonuses, with known gaps."""

from __future__ import annotations

import numpy as np
import polars as pl

from likeforlike.datasets._dataset import DataProvenance, Dataset
from likeforlike.errors import InputError

# Name, share of the staff, share of women, salary of men for a full-time year, gap in percent.
_GRADES = (
    ("1 assistant", 0.20, 0.60, 27_000.0, 0.0),
    ("2 clerk", 0.24, 0.55, 31_500.0, 0.0),
    ("3 technician", 0.20, 0.35, 37_000.0, 4.0),
    ("4 specialist", 0.15, 0.45, 45_500.0, 9.0),
    ("5 expert", 0.11, 0.40, 57_000.0, 2.0),
    ("6 manager", 0.07, 0.30, 72_000.0, 6.0),
    ("7 director", 0.03, 0.25, 104_000.0, 0.0),
)
_FULL_TIME = 1820.0
_PROVENANCE = DataProvenance("likeforlike.datasets", "BSD-3-Clause", "made, no real people")


def make_staff(people: int = 1200, *, random_state: int = 0) -> Dataset:
    """Make a company whose pay gaps are known.

    Seven grades; in the population the salaries of women are less than those of men per hour by 0,
    0, 4, 9, 2, 6 and 0 percent. Women work part-time more often, and are fewer in higher grades.
    Some have a bonus, and a few are of another gender.

    Parameters
    ----------
    people : how many rows.
    random_state : seed.

    Returns
    -------
    Dataset with the columns `person`, `sex`, `grade`, `tenure` in years, `hours` per year, and
    `salary` and `bonus` per year.

    Examples
    --------
    >>> from likeforlike.datasets import make_staff
    >>> staff = make_staff().frame
    >>> staff.columns, staff.height
    (['person', 'sex', 'grade', 'tenure', 'hours', 'salary', 'bonus'], 1200)
    """
    if people < 1:
        raise InputError(f"people must be at least 1, not {people}.")
    rng = np.random.default_rng(random_state)
    names, shares, women, salaries, gaps = (np.array(part) for part in zip(*_GRADES, strict=True))
    grade = rng.choice(len(_GRADES), people, p=shares)
    woman = rng.random(people) < women[grade]
    other = rng.random(people) < 0.01
    tenure = np.round(rng.gamma(2.0, 3.5, people), 1)
    part_time = rng.random(people) < np.where(woman, 0.4, 0.1)
    hours = _FULL_TIME * np.where(part_time, rng.choice([0.5, 0.6, 0.8], people), 1.0)
    rate = salaries[grade] * np.where(woman, 1.0 - gaps[grade] / 100.0, 1.0)
    salary = rate * rng.lognormal(-0.006, 0.11, people) * hours / _FULL_TIME
    has_bonus = rng.random(people) < 0.2 + 0.1 * grade
    bonus = np.where(has_bonus, salary * rng.gamma(3.0, 0.02, people) * (1.0 + grade / 4.0), 0.0)
    frame = pl.DataFrame(
        {
            "person": np.arange(1, people + 1),
            "sex": np.where(other, "divers", np.where(woman, "female", "male")),
            "grade": names[grade],
            "tenure": tenure,
            "hours": hours,
            "salary": salary.round(2),
            "bonus": bonus.round(2),
        }
    )
    features = ("tenure", "hours")
    return Dataset(frame, features, "salary", "sex", ("grade",), "regression", _PROVENANCE)
