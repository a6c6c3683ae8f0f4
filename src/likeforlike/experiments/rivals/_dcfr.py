"""DCFR: a representation that does not reveal the group among equals (Xu et al., 2020).

An encoder z = ReLU(x W + b) and a predictor linear in z play against an adversary h(z, L):

    min over encoder and predictor, max over h:   loss - strength * cost(h),

with the cost of `_contests`: the weighted squared error of h as a guess of the group, as the
authors' code has it, or the weighted absolute error, which is the regularizer they define. Then
the encoder is frozen and the predictor is fitted once more, without regard to the adversary, with
the weights of the lowest validation loss kept.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike._lazy import extra
from likeforlike.experiments.rivals._contests import (
    Batch,
    Contest,
    ContestEstimator,
    Guess,
    Learner,
    Opponent,
    Optimizer,
    check_choice,
    make_network,
)
from likeforlike.training import (
    Follow,
    Loss,
    NetworkClassifier,
    NetworkRegressor,
    Rows,
    StackedMLP,
    Trained,
    check_count,
    mean_losses,
)

with extra("train"):
    import torch
    from torch import Tensor

AdversaryLoss = Literal["squared", "absolute"]
"""What a guess of the adversary costs."""


def represent(network: StackedMLP, inputs: Tensor) -> Tensor:
    """Return representations z (m, b, width) of inputs (m, b, d) or (1, b, d)."""
    weight, bias = network.weights[:2]
    return torch.relu(torch.baddbmm(bias, inputs.expand(network.members, -1, -1), weight))


class _Game(Contest["_DCFR"]):
    """Models with a representation inside, and adversaries that read it."""

    @property
    def guess(self) -> Guess:
        return self.estimator.adversary_loss

    def losses(self, batch: Batch) -> tuple[Tensor, Tensor | None]:
        inputs, targets, sample_weight, view = batch
        code = represent(self.model.network, inputs)
        weight, bias = self.model.network.weights[2:]
        outputs = torch.baddbmm(bias, code, weight)
        loss = mean_losses(outputs, targets, sample_weight, self.loss)
        if self.adversary is None or view is None:
            return loss, None
        return loss, view.guess_losses(self.adversary.network(view.join(code)), self.guess)

    def learn(self, batch: Batch) -> None:
        """Take one step of the models, then several of the adversaries."""
        inputs, _, _, view = batch
        loss, cost = self.losses(batch)
        strengths = torch.from_numpy(self.strengths).to(inputs)
        objective = loss if cost is None else loss - strengths * cost
        self.model.descend(torch.autograd.grad(objective.sum(), self.model.weights))
        if self.adversary is None or view is None:
            return
        with torch.no_grad():
            seen = view.join(represent(self.model.network, inputs))
        for _ in range(self.estimator.adversary_steps):
            total = view.guess_losses(self.adversary.network(seen), self.guess).sum()
            self.adversary.descend(torch.autograd.grad(total, self.adversary.weights))


class _Refit(_Game):
    """The same models with frozen encoders, and no adversary."""

    def learn(self, batch: Batch) -> None:
        """Take one step of the predictors."""
        inputs, targets, weight, _ = batch
        outputs = self.model.network(inputs)
        total = mean_losses(outputs, targets, weight, self.loss).sum()
        self.model.descend([None, None, *torch.autograd.grad(total, self.model.weights[2:])])


class _DCFR(ContestEstimator):
    """What classifier and regressor have in common."""

    def __init__(
        self,
        *,
        strength: float = 1.0,
        width: int = 60,
        adversary_width: int = 50,
        adversary_loss: AdversaryLoss = "squared",
        adversary_steps: int = 10,
        optimizer: Optimizer = "adadelta",
        learning_rate: float | None = None,
        max_epochs: int = 200,
        patience: int = 50,
        batch_size: int = 256,
        validation_fraction: float = 0.2,
        random_state: int | np.random.RandomState | None = None,
        verbose: bool = False,
    ) -> None:
        self.strength = strength
        self.width = width
        self.adversary_width = adversary_width
        self.adversary_loss = adversary_loss
        self.adversary_steps = adversary_steps
        self.optimizer = optimizer
        self.learning_rate = learning_rate
        self.max_epochs = max_epochs
        self.patience = patience
        self.batch_size = batch_size
        self.validation_fraction = validation_fraction
        self.random_state = random_state
        self.verbose = verbose

    def _check_settings(self) -> None:
        super()._check_settings()
        for name in ("width", "adversary_width", "adversary_steps"):
            check_count(name, getattr(self, name))
        check_choice("adversary_loss", self.adversary_loss, get_args(AdversaryLoss))
        check_choice("optimizer", self.optimizer, get_args(Optimizer))

    def _train_stack(
        self,
        rows: Rows,
        validation: Rows,
        loss: Loss,
        outputs: int = 1,
        *,
        strengths: FloatArray,
        seeds: IntArray,
        splits: IntArray | None = None,
        follow: Follow | None = None,
    ) -> Trained:
        """Train a stack of models with these settings, and fit their predictors once more."""
        usual = 1.0 if self.optimizer == "adadelta" else 1e-3
        rate = usual if self.learning_rate is None else self.learning_rate
        network = make_network(rows, (self.width, outputs), seeds, splits, len(strengths))
        model = Learner(network, rate, optimizer=self.optimizer, epochs=self.max_epochs)
        game = _Game(self, loss, rows, strengths=strengths, seeds=seeds, splits=splits, model=model)
        if np.any(strengths):
            sizes = (self.width, self.adversary_width, 1)
            game.add_adversary(Opponent(rows), sizes, self.optimizer, rate)
        played = game.train(validation, follow=follow)
        # A game wants neither momentum nor a constant rate; fitting a linear predictor wants both.
        again = Learner(played.network, rate, optimizer=self.optimizer, momentum=0.9)
        refit = _Refit(
            self,
            loss,
            rows,
            strengths=np.zeros(len(strengths)),
            seeds=seeds,
            splits=splits,
            model=again,
        ).train(validation, stream=3, first=self.max_epochs, follow=follow)
        curve = [*played.curve, *refit.curve]
        return Trained(refit.network, refit.best_epoch, played.strengths, curve)


class DCFRClassifier(_DCFR, NetworkClassifier):
    """Classifier on a representation from which an adversary cannot tell the group among equals.

    A linear layer and a ReLU encode the inputs, a linear predictor reads the code, and an adversary
    guesses the group from code and level; the module says how. Inputs are standardized
    inside. There must be two groups. The sensitive feature is no input of the model; the authors
    give theirs both it and indicators of the levels, which can be put into X.

    Parameters
    ----------
    strength : of the adversary, λ of the authors, who try 0.1 to 20; 0 trains without one.
    width : columns of the code.
    adversary_width : hidden layer of the adversary.
    adversary_loss : `"squared"`, as in the authors' code; or `"absolute"`, whose optimum is the
        regularizer they define, R_DCFR of `likeforlike.disparity.tv_overlap`.
    adversary_steps : steps of the adversary for each step of the model.
    optimizer : `"adadelta"`, as in the authors' code; or `"adam"`, without momentum.
    learning_rate : at the start, 1 for Adadelta and 0.001 for Adam if `None`; it falls linearly to
        0 during the game.
    max_epochs : how long model and adversary play, and how long the predictor is then fitted once
        more at the longest.
    patience : epochs without lower validation loss after which the second fit stops, and the
        first one without adversary.
    batch_size : rows of a batch.
    validation_fraction : share of rows held back, with their share of every cell; none below 100
        rows.
    random_state : seed.
    verbose : show a progress bar on a terminal.

    Attributes
    ----------
    classes_ : labels.
    strength_ : the strength trained with; 0 without sensitive features.
    disparity_ : what the audit's estimate says on the validation rows, with its interval; `None`
        without sensitive features, or if groups do not meet there.
    coverage_ : share of each group in levels where groups meet.
    loss_curve_, n_iter_ : validation loss after every epoch, and how many there were.
    n_features_in_, feature_names_in_ : of X.

    Notes
    -----
    Losses are means over a batch and weights have mean 1, so that a strength means the same for any
    batch and data set. The authors' losses are sums of weights that add up to 1 over the training
    rows; the ratio of the two terms is the same as here. Their adversary descends strength * cost;
    optimizers that divide by the size of the gradient do not notice the difference.

    The adversary lets pass what it cannot see yet, and the second fit of the predictor uses it: a
    disparity that is gone at the end of the game may come back in part. Longer games help. And an
    adversary that is certain of every group leaves no gradient to work against: its errors are
    flat there. With Adam and ten steps it may get there at once, above all if X holds the
    sensitive feature; fewer steps help, and Adadelta, which begins slowly.

    The authors' own settings are the defaults with `batch_size=512`, `max_epochs=400` and
    `patience=20`; they keep the learning rate at 1 and stop by validation accuracy.

    References
    ----------
    Xu, Cui, Kuang, Li, Zhou, Shen and Cui (2020), *Algorithmic decision making with conditional
    fairness*.

    Examples
    --------
    >>> from likeforlike.experiments.rivals import DCFRClassifier
    >>> from likeforlike.datasets import make_loans
    >>> loans = make_loans(500, gap=0.15)
    >>> model = DCFRClassifier(strength=5.0, max_epochs=3, random_state=0).fit(
    ...     loans.inputs().matrix,
    ...     loans.targets,
    ...     sensitive_features=loans.groups,
    ...     legitimate_features=loans.levels,
    ... )
    >>> model.predict_proba(loans.inputs().matrix).shape
    (500, 2)
    """


class DCFRRegressor(_DCFR, NetworkRegressor):
    """Regressor on a representation from which an adversary cannot tell the group among equals.

    As `DCFRClassifier`, with the squared error of the standardized target as the loss, so that a
    strength means the same in any unit of y.

    Parameters
    ----------
    strength, width, adversary_width, adversary_loss, adversary_steps, optimizer : as there.
    learning_rate, max_epochs, patience, batch_size, validation_fraction : as there.
    random_state, verbose : as there.

    Examples
    --------
    >>> from likeforlike.experiments.rivals import DCFRRegressor
    >>> from likeforlike.datasets import make_loans
    >>> loans = make_loans(500, gap=0.15)
    >>> model = DCFRRegressor(strength=5.0, max_epochs=3, random_state=0).fit(
    ...     loans.inputs().matrix,
    ...     loans.frame["score"].to_numpy(),
    ...     sensitive_features=loans.groups,
    ...     legitimate_features=loans.levels,
    ... )
    >>> model.predict(loans.inputs().matrix).shape
    (500,)
    """
