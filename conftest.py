"""Settings of every run of pytest, whichever part of the repository it tests."""

pytest_plugins = ["tests.left_out"]
