"""Drawings with matplotlib, from plain values: what `plot` methods and figures are made of.

matplotlib comes with the extra `plot` and is imported when something is drawn. Nothing here changes
its settings: whoever passes `ax` gets that axes back, and without one a new figure is opened.
"""
