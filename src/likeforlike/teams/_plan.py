"""The plan of an audit without A: what the custodian is to count, and how to read the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from likeforlike.disparity._columns import Codes, Column, encode_columns, numbers
from likeforlike.disparity._float_noise import denoised, float_noise
from likeforlike.errors import InputError
from likeforlike.teams._files import texts
from likeforlike.teams._noisy_counts import read_counts
from likeforlike.teams._noisy_pair import NoisyPair, compare
from likeforlike.teams._plan_audit import PlanAudit, examine_pairs
from likeforlike.teams._planned import Planned
from likeforlike.teams._releases import Release
from likeforlike.teams._requests import CountsRequest
from likeforlike.teams._score_bins import ROWS_PER_BIN, cut_scores


@dataclass(frozen=True, eq=False)
class AuditPlan(Planned):
    """What modelers know of an audit before the custodian has answered. `audit_plan` makes one.

    Attributes
    ----------
    request : for the custodian: a bin of the score inside its level for every row.
    bins : what is public about those bins.
    levels : labels of the K levels.
    score, sensitive, legitimate : names, for sentences and headings.

    Examples
    --------
    >>> from likeforlike.teams import audit_plan
    >>> plan = audit_plan([0.1, 0.4, 0.2, 0.9], ["low", "low", "high", "high"], [1, 2, 3, 4])
    >>> plan.levels, plan.request.n_codes
    (('high', 'low'), 4)
    """

    def read(
        self,
        release: Release,
        *,
        confidence: float = 0.95,
        permutations: int = 999,
        random_state: int = 0,
    ) -> PlanAudit:
        """What the custodian's answer says about the scores.

        Parameters
        ----------
        release : the answer to `request`.
        confidence : of intervals, in (0, 1).
        permutations : how often labels are permuted for the test, at least 19.
        random_state : seed of deals and noise; the release is not changed by it.
        """
        release.check("counts", self.request.digest)
        known = read_counts(release, self.bins)
        pairs: list[NoisyPair | tuple[int, int]] = []
        for pair in combinations(range(len(release.groups)), 2):
            found = compare(self.bins, known, pair)
            pairs.append(pair if found is None else found)
        if not any(isinstance(pair, NoisyPair) for pair in pairs):
            raise InputError(
                "no level seems to hold enough rows of two groups to be compared under this noise; "
                "use coarser levels (--legitimate), or ask for a larger epsilon (--epsilon)."
            )
        return examine_pairs(self, release, pairs, confidence, permutations, random_state)


def audit_plan(
    scores: Column,
    legitimate_features: Column | None,
    ids: Column,
    *,
    rows_per_bin: int = ROWS_PER_BIN,
    score: str = "score",
    sensitive: str = "group",
    legitimate: str | Sequence[str] = (),
) -> AuditPlan:
    """Plan an audit of scores whose groups another team holds.

    Scores are cut into bins inside every level. The custodian counts the groups in these bins, with
    noise, and `AuditPlan.read` makes of it what an audit says: gap, distance, test, with the noise
    in every interval.

    Parameters
    ----------
    scores : (n,) finite numbers.
    legitimate_features : (n,) labels of the legitimate features, or several columns; `None` means
        one level.
    ids : (n,) by which the custodian knows the rows, each once.
    rows_per_bin : about how many rows make a bin.
    score, sensitive : what to call them in the report.
    legitimate : names of the columns of `legitimate_features`, for the report.

    Examples
    --------
    Both teams at one table; the loans have a disparity of 0.1 planted in them.

    >>> import tempfile
    >>> from likeforlike.datasets import make_loans
    >>> from likeforlike.teams import Custodian, Ledger, audit_plan
    >>> loans = make_loans(20_000, gap=0.1).frame.with_row_index("id")
    >>> plan = audit_plan(loans["score"], loans["income"], loans["id"], legitimate="income")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ledger = Ledger(f"{folder}/a.ledger", epsilon=1.0, groups=["female", "male"])
    ...     custodian = Custodian.of_columns(loans["id"], loans["sex"], ledger)
    ...     found = plan.read(custodian.counts(plan.request, epsilon=1.0))
    >>> abs(found.gap - 0.1) < 0.01, found.p_value
    (True, 0.001)
    """
    values = numbers(scores, "scores")
    values = denoised(values, changed) if (changed := float_noise(values)[0]) else values
    named = texts(ids, "ids")
    if len(named) != values.size:
        raise InputError(f"ids has {len(named)} row(s), but scores have {values.size}.")
    if isinstance(rows_per_bin, bool) or not rows_per_bin >= 1:
        raise InputError(f"rows_per_bin must be 1 or more, not {rows_per_bin!r}.")
    level = _levels(legitimate_features, values.size)
    bins, codes = cut_scores(values, level.codes, len(level.labels), int(rows_per_bin))
    columns = (legitimate,) if isinstance(legitimate, str) else tuple(legitimate)
    if legitimate_features is not None and not columns:
        columns = ("level",)
    request = CountsRequest(tuple(named), codes, bins.rows.size)
    return AuditPlan(request, bins, level.labels, score, sensitive, columns)


def _levels(levels: Column | None, size: int) -> Codes:
    if levels is None:
        return Codes(np.zeros(size, np.int64), ("all",))
    return encode_columns(levels, "levels", size)
