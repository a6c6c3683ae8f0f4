"""Settings shared by all tests."""

from hypothesis import HealthCheck, settings

# The first call of a kernel compiles it, so no example may be judged by its time.
settings.register_profile(
    "likeforlike", deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=80
)
settings.load_profile("likeforlike")
