"""Smoothing along a number: ranks, fine cells, local lines, propensities, and the carry.

Mathematics only: no tables and no words of fairness. Not public itself; audits, penalties and
repairs are made of it.
"""
