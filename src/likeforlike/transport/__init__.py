"""Exact optimal transport between distributions on the line, and nested over levels.

Mathematics only: arrays in, numbers out. No tables and no words of fairness.

- `atoms`: sort rows once, merge ties, pack many distributions side by side.
- `pairs`: the sweep between sorted atoms: cost W_p^p and gradient of many pairs.
- `line`: cost, plan and gradient between two weighted samples.
- `level_cost`: ground costs between levels and the bound on their weight.
- `nested`: the bi-causal distance, its split and its gradient.
- `entropic`: Algorithm 1 of the paper, a reference.
"""
