"""Exact optimal transport between distributions on the line, and nested over levels.

Mathematics only: arrays in, numbers out. No tables and no words of fairness.

- `atoms`: sort rows once, merge ties, pack many distributions side by side.
- `line`: cost W_p^p, plan and gradient between weighted samples.
- `nested`: the bi-causal distance, its split, the bound on its level cost, its gradient.
- `entropic`: Algorithm 1 of the paper, a reference.
"""
