"""Several groups: every two, all against one, and combinations of two features.

The score favors women in the south and men in the north, by 0.04 each. Neither sex nor region
shows it alone.

    $ python examples/several_groups.py
    sex alone, gate at 0.02: pass
    region alone, gate at 0.02: pass
    sex and region, gate at 0.02: fail
      female, north and male, north: 0.073 to 0.088
      female, north and female, south: 0.073 to 0.087
      male, north and male, south: 0.071 to 0.086
      female, south and male, south: 0.071 to 0.085
    against 'male, north': 3 contrasts, gate at 0.02: fail
"""

import numpy as np
import polars as pl

import likeforlike as lfl

rng = np.random.default_rng(0)
grade = rng.integers(1, 5, 12_000)
sex = rng.choice(["female", "male"], 12_000)
region = rng.choice(["north", "south"], 12_000)
favored = (sex == "female") == (region == "south")
score = 0.3 + 0.1 * grade + np.where(favored, 0.04, -0.04) + 0.1 * rng.standard_normal(12_000)
people = pl.DataFrame({"sex": sex, "region": region, "grade": grade, "score": score})

for column in ("sex", "region"):
    found = lfl.audit(people, score="score", sensitive=column, legitimate="grade")
    print(f"{column} alone, gate at 0.02: {found.gate(0.02)}")

both = people.with_columns(pl.concat_str("sex", "region", separator=", ").alias("who"))
found = lfl.audit(both, score="score", sensitive="who", legitimate="grade")
print(f"sex and region, gate at 0.02: {found.gate(0.02)}")
for contrast in found.contrasts[:4]:
    assert contrast.estimate is not None
    low, high = contrast.estimate.interval
    print(f"  {contrast.groups[0]} and {contrast.groups[1]}: {low:.3f} to {high:.3f}")

against = lfl.audit(
    both, score="score", sensitive="who", legitimate="grade", reference="male, north"
)
print(
    f"against 'male, north': {len(against.contrasts)} contrasts, gate at 0.02: {against.gate(0.02)}"
)
