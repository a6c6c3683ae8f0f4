"""A penalty in a torch loop of your own: one more term of the loss.

In what it prints, # stands for digits that may differ from machine to machine.

    $ python examples/torch_penalty.py
    strength 0: log loss 0.6##, disparity 0.### on 3000 unseen rows, gate at 0.05: fail
    strength 10: log loss 0.6##, disparity 0.0## on 3000 unseen rows, gate at 0.05: pass
"""

import numpy as np
import polars as pl
import torch
from torch import nn

import likeforlike as lfl
from likeforlike.datasets import make_loans
from likeforlike.training import CellBatchSampler, PenaltyLoss

# One thread: small networks gain nothing from more, and lose much where cores are busy.
torch.set_num_threads(1)

loans = make_loans(7000, gap=0.15)
matrix, sex, income = loans.inputs().matrix, loans.groups, loans.levels
X = torch.tensor((matrix - matrix.mean(axis=0)) / matrix.std(axis=0), dtype=torch.float32)
y = torch.tensor(loans.targets, dtype=torch.float32)
mixed = np.random.default_rng(0).permutation(7000)
learn, unseen = mixed[:4000], mixed[4000:]

for strength in (0, 10):
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(X.shape[1], 32), nn.ReLU(), nn.Linear(32, 1), nn.Flatten(0))
    optimizer = torch.optim.Adam(network.parameters(), lr=0.003)
    log_loss, penalty = nn.BCEWithLogitsLoss(), PenaltyLoss(lfl.FairLeap())
    # Every cell has its share of every batch; a batch of few rows would say little about cells.
    # A `DataLoader` takes it as `batch_sampler`.
    batches = CellBatchSampler(sex[learn], income[learn], batch_size=1000, random_state=0)
    for _ in range(60):
        for batch in batches:
            rows = learn[batch]
            raw = network(X[rows])
            loss = log_loss(raw, y[rows])
            loss = loss + strength * penalty(torch.sigmoid(raw), sex[rows], income[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    with torch.no_grad():
        raw = network(X[unseen])
        lost = float(log_loss(raw, y[unseen]))
        scores = torch.sigmoid(raw).numpy()
    table = pl.DataFrame({"score": scores, "sex": sex[unseen], "income": income[unseen]})
    found = lfl.audit(table, score="score", sensitive="sex", legitimate="income")
    print(
        f"strength {strength}: log loss {lost:.3f}, disparity {found.estimate:.3f} on "
        f"{unseen.size} unseen rows, gate at 0.05: {found.gate(0.05)}"
    )
