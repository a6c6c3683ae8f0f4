"""Drawings with matplotlib, from plain values: what `plot` methods and figures are made of.

matplotlib comes with the extra `plot` and is imported when something is drawn. Nothing here changes
its settings: with `ax` they return that axes, and without one a new figure is opened.
"""
