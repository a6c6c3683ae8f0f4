"""What makes parts of the documentation; none of it is installed."""
