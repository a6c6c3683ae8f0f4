"""Limits: how large the disparity of a model is on rows held back, and what can be promised of it.

Not public itself; estimators of networks and of trees keep their limits by it.
"""
