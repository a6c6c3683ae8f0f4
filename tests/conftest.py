"""Settings shared by all tests."""

import os
from pathlib import Path

from hypothesis import HealthCheck, settings

# The first call of a kernel compiles it, so no example may be judged by its time.
settings.register_profile(
    "likeforlike", deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=80
)
settings.load_profile("likeforlike")

# Data that a developer keeps beside the clone, as the Makefile finds them too. Law School is the
# only data set that does not come with the package.
BESIDE = Path(__file__).parents[2] / "shared" / "data"
if BESIDE.is_dir():
    os.environ.setdefault("LIKEFORLIKE_DATA", str(BESIDE))
