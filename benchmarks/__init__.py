"""Speed of likeforlike next to its peers: `python -m benchmarks`.

Every comparison runs both sides in the same process, alternately, and reports a ratio; seconds
belong to the machine, ratios to the method. A family of comparisons is one module with a function
`cases(quick)` and one line in `suite.FAMILIES`.
"""
