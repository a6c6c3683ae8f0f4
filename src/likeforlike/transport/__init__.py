"""Exact optimal transport between distributions on the line, and nested over levels.

Mathematics only: arrays in, numbers out. No tables and no words of fairness.

- `sorting`: rows by segment and value, in linear time.
- `atoms`: ties merged, many distributions packed side by side.
- `pairs`: the sweep between sorted atoms: cost W_p^p and gradient of many pairs.
- `quantiles`: distribution and quantile functions, rows carried along them.
- `outer`: a plan between a few points, compiled.
- `rows`: rows of one model as atoms, inside a kernel.
- `line`: cost, plan and gradient between two weighted samples.
- `level_cost`: ground costs between levels and the bound on their weight.
- `nested`: the bi-causal distance, its split and its gradient.
- `entropic`: Algorithm 1 of the paper, a reference.
"""
