"""Files: who opens them, how a CSV is read, and how results are written whole or not at all."""
