"""Settings for all tests."""

from hypothesis import settings

# The same examples every time: a test that fails by chance on one machine helps nobody.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")
