"""Fair synthetic data: a penalty on the targets that a generator produces.

A variational autoencoder models the columns of a table given the sensitive feature A and the
legitimate feature L. It minimizes -ELBO + strength * FairLeap of the targets it generates, so that
among equals they depend less on the group. A plain model is then trained on generated rows.

The disparities are those of an audit; those of models are measured on real rows that were held
out. In what it prints, # stands for digits that may differ from machine to machine.

    $ python examples/synthetic_data.py
    1131 real rows to learn from, 754 held out
    rows           disparity of the target    of a model's scores    AUC of the model
    real                             0.###                  0.###               0.###
    strength 0                       0.###                  0.###               0.###
    strength 10                      0.###                  0.###               0.###
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import polars as pl
import torch
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score
from torch import Tensor, nn

import likeforlike as lfl
from likeforlike.datasets import Dataset, load_drug
from likeforlike.training import PenaltyLoss

FloatArray = npt.NDArray[np.float64]


class Category(nn.Module):
    """A column of categories, modeled by a softmax."""

    def __init__(self, column: pl.Series) -> None:
        super().__init__()
        self.values = column.unique().sort()
        self.width = len(self.values)

    def encode(self, column: pl.Series) -> Tensor:
        """One-hot codes, (n, width)."""
        codes = torch.tensor(self.values.search_sorted(column).to_numpy(), dtype=torch.int64)
        return nn.functional.one_hot(codes, self.width).float()

    def log_likelihood(self, output: Tensor, encoded: Tensor) -> Tensor:
        """Log-likelihood of each row, (n,)."""
        return (encoded * torch.log_softmax(output, dim=1)).sum(dim=1)

    def score(self, output: Tensor) -> Tensor:
        """Probability of the second of two categories, (n,), or of each of several, (n, width)."""
        probabilities = torch.softmax(output, dim=1)
        return probabilities[:, 1] if self.width == 2 else probabilities

    def draw(self, output: Tensor, noise: torch.Generator) -> pl.Series:
        """Draw a category for each row."""
        drawn = torch.multinomial(torch.softmax(output, dim=1), 1, generator=noise)
        return self.values[drawn[:, 0].numpy()]


class Number(nn.Module):
    """A column of numbers: the normal scores of their ranks, modeled by a normal distribution."""

    def __init__(self, column: pl.Series) -> None:
        super().__init__()
        self.values = column.sort()
        self.width = 1
        self.log_scale = nn.Parameter(torch.zeros(()))

    def encode(self, column: pl.Series) -> Tensor:
        """Normal scores of the ranks, with random tie-breaking, (n, 1)."""
        ranks = torch.tensor(column.rank("random", seed=0).to_numpy(), dtype=torch.float64)
        scores: Tensor = torch.special.ndtri((ranks - 0.5) / len(column))
        return scores[:, None].float()

    def log_likelihood(self, output: Tensor, encoded: Tensor) -> Tensor:
        """Log-likelihood of each row up to a constant, (n,)."""
        residual = (encoded - output)[:, 0] / self.log_scale.exp()
        return -0.5 * residual.square() - self.log_scale

    def score(self, output: Tensor) -> Tensor:
        """Mean of the normal score, (n,)."""
        return output[:, 0]

    def draw(self, output: Tensor, noise: torch.Generator) -> pl.Series:
        """Draw one of the observed numbers for each row."""
        spread = self.log_scale.exp() * torch.randn(len(output), generator=noise)
        places = torch.special.ndtr(output[:, 0] + spread) * len(self.values)
        drawn: pl.Series = self.values[places.long().clamp(max=len(self.values) - 1).numpy()]
        return drawn


def model_column(column: pl.Series) -> Category | Number:
    """Choose the model of a column; numbers with few values are categories."""
    many = column.dtype.is_numeric() and column.n_unique() > 20
    return Number(column) if many else Category(column)


def encode_columns(columns: Sequence[Category | Number], frame: pl.DataFrame) -> Tensor:
    """Encode one column of a table with each model, (n, sum of widths)."""
    pairs = zip(columns, frame.iter_columns(), strict=True)
    return torch.cat([column.encode(values) for column, values in pairs], dim=1)


class TableGenerator(nn.Module):
    """A variational autoencoder of features and target, given A and L.

    Parameters
    ----------
    data : the table to learn from. Features that A and L determine are copied, not modeled.
    hidden, latent : units of the hidden layers and of the latent variable.
    """

    def __init__(self, data: Dataset, hidden: int = 64, latent: int = 8) -> None:
        super().__init__()
        self.latent = latent
        self.given = [data.sensitive, *data.legitimate]
        free = [name for name in data.features if name not in self.given]
        distinct = data.frame.group_by(self.given).agg(pl.col(free).n_unique())
        self.copied = self.given + [name for name in free if distinct[name].max() == 1]
        self.names = [name for name in free if name not in self.copied] + [data.target]
        self.columns = [model_column(data.frame[name]) for name in self.names]
        self.conditions = [Category(data.frame[name]) for name in self.given]
        self.registered = nn.ModuleList(self.columns)  # their parameters are trained, too
        self.widths = [column.width for column in self.columns]
        width, given = sum(self.widths), sum(column.width for column in self.conditions)

        def layers(inputs: int) -> nn.Sequential:
            first, second = nn.Linear(inputs, hidden), nn.Linear(hidden, hidden)
            return nn.Sequential(first, nn.ReLU(), second, nn.ReLU())

        self.encoder = nn.Sequential(layers(width + given), nn.Linear(hidden, 2 * latent))
        self.decoder, self.output = layers(latent + given), nn.Linear(hidden, width)

    def encode_given(self, frame: pl.DataFrame) -> Tensor:
        """One-hot codes of A and L, (n, c)."""
        return encode_columns(self.conditions, frame.select(self.given))

    def elbo(self, rows: Tensor, given: Tensor) -> Tensor:
        """Evidence lower bound of each row, (n,)."""
        encoded: Tensor = self.encoder(torch.cat([rows, given], dim=1))
        mean, log_variance = encoded.chunk(2, dim=1)
        latent = mean + torch.exp(0.5 * log_variance) * torch.randn_like(mean)
        outputs = self.output(self.decoder(torch.cat([latent, given], dim=1)))
        parts = zip(
            self.columns,
            torch.split(outputs, self.widths, dim=1),
            torch.split(rows, self.widths, dim=1),
            strict=True,
        )
        fit = torch.stack([column.log_likelihood(output, real) for column, output, real in parts])
        divergence = 0.5 * (mean.square() + log_variance.exp() - 1.0 - log_variance)
        return fit.sum(dim=0) - divergence.sum(dim=1)

    def target_scores(self, latent: Tensor, given: Tensor) -> Tensor:
        """Probability, or mean, of generated targets; it has a gradient."""
        last = slice(-self.widths[-1], None)
        hidden = self.decoder(torch.cat([latent, given], dim=1))
        output = nn.functional.linear(hidden, self.output.weight[last], self.output.bias[last])
        return self.columns[-1].score(output)

    @torch.no_grad()
    def sample(self, frame: pl.DataFrame, seed: int = 0) -> pl.DataFrame:
        """Generate a row for each row of a table, with the same A and L."""
        noise = torch.Generator().manual_seed(seed)
        latent = torch.randn(frame.height, self.latent, generator=noise)
        outputs = self.output(self.decoder(torch.cat([latent, self.encode_given(frame)], dim=1)))
        parts = zip(self.names, self.columns, torch.split(outputs, self.widths, dim=1), strict=True)
        drawn = [column.draw(output, noise).alias(name) for name, column, output in parts]
        whole = frame.select(self.copied).with_columns(drawn)
        return whole.select(name for name in frame.columns if name in whole.columns)


class TargetPenalty:
    """FairLeap of generated targets, with the same number of draws for each cell of A and L.

    Cells are weighted by their rows, and all of them have the same latent draws: a decoder whose
    targets do not depend on A has a penalty of exactly 0, and chance alone costs nothing.

    Parameters
    ----------
    generator, data : the generator, and the table it learns from.
    draws : rows generated per cell each time.
    seed : of the draws.
    """

    def __init__(
        self, generator: TableGenerator, data: Dataset, draws: int = 50, seed: int = 0
    ) -> None:
        names = generator.given
        first = replace(data, frame=data.frame.unique(names, keep="first", maintain_order=True))
        sizes = data.frame.group_by(names, maintain_order=True).len()["len"].to_numpy()
        self.generator, self.draws, self.cells = generator, draws, sizes.size
        self.given = generator.encode_given(first.frame).repeat_interleave(draws, dim=0)
        self.columns = [np.repeat(one, draws) for one in (first.groups, first.levels, sizes)]
        self.loss, self.noise = PenaltyLoss(lfl.FairLeap()), torch.Generator().manual_seed(seed)

    def __call__(self) -> Tensor:
        """Generate targets and compare them."""
        latent = torch.randn(self.draws, self.generator.latent, generator=self.noise)
        scores = self.generator.target_scores(latent.repeat(self.cells, 1), self.given)
        penalty: Tensor = self.loss(scores, *self.columns)
        return penalty


def fit_generator(
    data: Dataset, strength: float, *, epochs: int = 150, seed: int = 0
) -> TableGenerator:
    """Fit a generator: minimize -ELBO + strength * FairLeap of generated targets."""
    torch.manual_seed(seed)
    generator = TableGenerator(data)
    rows = encode_columns(generator.columns, data.frame.select(generator.names))
    given = generator.encode_given(data.frame)
    penalty = TargetPenalty(generator, data, seed=seed)
    optimizer = torch.optim.Adam(generator.parameters(), lr=2e-3)
    for _ in range(epochs):
        for batch in torch.split(torch.randperm(len(rows)), 250):
            loss = -generator.elbo(rows[batch], given[batch]).mean()
            if strength > 0.0:
                loss = loss + strength * penalty()
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
    return generator


def score_rows(
    data: Dataset, train: pl.DataFrame, test: pl.DataFrame, *, with_sensitive: bool = False
) -> FloatArray:
    """Scores of test rows by gradient boosting, trained without any penalty."""
    both = replace(data, frame=pl.concat([train, test.select(train.columns)]))
    inputs, names = both.inputs("integer", with_sensitive=with_sensitive)
    nominal = [not both.frame[name].dtype.is_numeric() for name in names]
    model = HistGradientBoostingClassifier(
        max_leaf_nodes=8, categorical_features=nominal, early_stopping=False, random_state=0
    )
    model.fit(inputs[: train.height], train[data.target])
    scores: FloatArray = model.predict_proba(inputs[train.height :])[:, 1]
    return scores


def measure_disparity(data: Dataset, frame: pl.DataFrame, scores: pl.Series | FloatArray) -> float:
    """Disparity of scores among equals, without small-sample bias."""
    table = frame.with_columns(pl.Series("a score", scores))
    found = lfl.audit(
        table, score="a score", sensitive=data.sensitive, legitimate=list(data.legitimate)
    )
    return float("nan") if found.estimate is None else found.estimate


def main() -> None:
    """Compare models trained on real rows and on synthetic ones, with and without the penalty."""
    torch.set_num_threads(1)  # small networks gain nothing from more
    data = load_drug()
    mixed = np.random.default_rng(0).permutation(data.frame.height)
    learn, unseen = np.split(mixed, [int(0.6 * mixed.size)])
    real, test = data.frame[learn], data.frame[unseen]
    tables = {"real": real}
    for strength in (0, 10):
        generator = fit_generator(replace(data, frame=real), strength, epochs=100)
        tables[f"strength {strength}"] = generator.sample(real)
    print(f"{learn.size} real rows to learn from, {unseen.size} held out")
    print("rows           disparity of the target    of a model's scores    AUC of the model")
    for name, table in tables.items():
        scores = score_rows(data, table, test, with_sensitive=True)
        target = measure_disparity(data, table, table[data.target])
        print(
            f"{name:<15}{target:>23.3f}{measure_disparity(data, test, scores):>23.3f}"
            f"{roc_auc_score(test[data.target], scores):>20.3f}"
        )


if __name__ == "__main__":
    main()
