"""Rivals that play against an adversary who guesses the group: two of the paper's.

Adversarial debiasing (Zhang et al., 2018), for parity and for parity among equals. The adversary
guesses the group from the score of a model, and for parity among equals from the level as well. It
descends the cost L_A of its guesses, while the model descends along

    g = ∇L_P - proj(∇L_P on ∇L_A) - strength * ∇L_A,

the gradient of its loss L_P without what would help the adversary, and then against the adversary.
∇ is over all weights of a model, so there is one projection per model, not one per layer: a
projection per layer also removes what layers do for and against the adversary that cancels between
them. Both take their steps at once, on the same batch.

The adversary sees the raw outputs of the model: the log-odds of a binary classifier (of several
classes, the log-probabilities up to a constant), the prediction of a regressor. They determine the
score and are determined by it, so that nothing is hidden or added; unlike probabilities they do not
flatten out towards 0 and 1. Zhang et al. sharpen the probability to σ((1 + |c|) log-odds), which a
hidden layer on the log-odds can do as well.

DCFR: a representation that does not reveal the group among equals (Xu et al., 2020).

An encoder z = ReLU(x W + b) and a predictor linear in z play against an adversary h(z, L):

    min over encoder and predictor, max over h:   loss - strength * cost(h),

with the cost of `_contests`: the weighted squared error of h as a guess of the group, as the
authors' code has it, or the weighted absolute error, which is the regularizer they define. Then
the encoder is frozen and the predictor is fitted once more, without regard to the adversary, with
the weights of the lowest validation loss kept.
"""

from __future__ import annotations

from collections.abc import Sequence
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
    check_sizes,
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


def project_out(gradients: Sequence[Tensor], directions: Sequence[Tensor]) -> list[Tensor]:
    """Compute gradients without their projection on a direction, for every member of a stack.

    g - (⟨g, d⟩ / ⟨d, d⟩) d, with both products over all weights of a member; g where d = 0.
    """
    length = _products(directions, directions)
    share = _products(gradients, directions) / torch.where(length > 0.0, length, 1.0)
    return [
        gradient - _along(share, direction) * direction
        for gradient, direction in zip(gradients, directions, strict=True)
    ]


def debias_gradient(
    gradients: Sequence[Tensor], directions: Sequence[Tensor], strengths: Tensor
) -> list[Tensor]:
    """Return where models go: g = ∇L_P - proj(∇L_P on ∇L_A) - strength * ∇L_A.

    Members of strength 0 have no adversary: g = ∇L_P.
    """
    return [
        torch.where(
            _along(strengths, gradient) > 0.0,
            rest - _along(strengths, gradient) * direction,
            gradient,
        )
        for gradient, direction, rest in zip(
            gradients, directions, project_out(gradients, directions), strict=True
        )
    ]


def _products(left: Sequence[Tensor], right: Sequence[Tensor]) -> Tensor:
    """Inner products over all weights of each member, shape (m,), in double precision."""
    parts = [
        (one * other).flatten(1).sum(dim=1, dtype=torch.float64)
        for one, other in zip(left, right, strict=True)
    ]
    return torch.stack(parts).sum(dim=0)


def _along(values: Tensor, weight: Tensor) -> Tensor:
    """Compute values (m,) in the type and number of axes of a weight (m, ...)."""
    return values.to(weight.dtype).view(-1, *[1] * (weight.ndim - 1))


Criterion = Literal["conditional", "parity"]
"""What is sought: parity among equals, or parity without regard to the level."""


class _Debiasing(Contest["_Adversarial"]):
    """Models, and adversaries that read their outputs."""

    @property
    def guess(self) -> Guess:
        return "log"

    def losses(self, batch: Batch) -> tuple[Tensor, Tensor | None]:
        inputs, targets, weight, view = batch
        outputs = self.model.network(inputs)
        loss = mean_losses(outputs, targets, weight, self.loss)
        if self.adversary is None or view is None:
            return loss, None
        if outputs.shape[-1] > 1:  # softmax ignores a constant in a row
            outputs = outputs - outputs.mean(dim=-1, keepdim=True)
        return loss, view.guess_losses(self.adversary.network(view.join(outputs)), self.guess)

    def learn(self, batch: Batch) -> None:
        """Take one step of the models and of the adversaries, at once."""
        loss, cost = self.losses(batch)
        gradients = torch.autograd.grad(loss.sum(), self.model.weights, retain_graph=True)
        if self.adversary is None or cost is None:
            self.model.descend(gradients)
            return
        weights = [*self.model.weights, *self.adversary.weights]
        directions = torch.autograd.grad(cost.sum(), weights)
        mine, theirs = directions[: len(gradients)], directions[len(gradients) :]
        strengths = torch.from_numpy(self.strengths).to(loss)
        self.model.descend(debias_gradient(gradients, mine, strengths))
        self.adversary.descend(theirs)


class _Adversarial(ContestEstimator):
    """What classifier and regressor have in common."""

    def __init__(
        self,
        *,
        strength: float = 1.0,
        criterion: Criterion = "conditional",
        weighted: bool = True,
        hidden_layer_sizes: tuple[int, ...] = (50, 20),
        adversary_layer_sizes: tuple[int, ...] = (50,),
        learning_rate: float | None = 1e-3,
        max_epochs: int = 200,
        patience: int = 50,
        batch_size: int = 256,
        validation_fraction: float = 0.2,
        random_state: int | np.random.RandomState | None = None,
        verbose: bool = False,
    ) -> None:
        self.strength = strength
        self.criterion = criterion
        self.weighted = weighted
        self.hidden_layer_sizes = hidden_layer_sizes
        self.adversary_layer_sizes = adversary_layer_sizes
        self.learning_rate = learning_rate
        self.max_epochs = max_epochs
        self.patience = patience
        self.batch_size = batch_size
        self.validation_fraction = validation_fraction
        self.random_state = random_state
        self.verbose = verbose

    def _check_settings(self) -> None:
        super()._check_settings()
        check_choice("criterion", self.criterion, get_args(Criterion))
        for name in ("hidden_layer_sizes", "adversary_layer_sizes"):
            check_sizes(name, getattr(self, name))

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
        """Train a stack of models with these settings, each against an adversary."""
        rate = 1e-3 if self.learning_rate is None else self.learning_rate
        sizes = (*self.hidden_layer_sizes, outputs)
        network = make_network(rows, sizes, seeds, splits, len(strengths))
        model = Learner(network, rate, epochs=self.max_epochs)
        contest = _Debiasing(
            self, loss, rows, strengths=strengths, seeds=seeds, splits=splits, model=model
        )
        if np.any(strengths):
            opponent = Opponent(
                rows, conditional=self.criterion == "conditional", weighted=self.weighted
            )
            sizes = (outputs, *self.adversary_layer_sizes, 1)
            contest.add_adversary(opponent, sizes, "adam", rate)
        return contest.train(validation, follow=follow)


class AdversarialClassifier(_Adversarial, NetworkClassifier):
    """Classifier whose scores do not tell an adversary the group, among equals or at all.

    A multi-layer perceptron that descends the log loss, except along what would help an adversary
    guess the group from its scores. Inputs are standardized inside. There must be two groups.

    Parameters
    ----------
    strength : α of the authors, with which the model works against the adversary; 0 trains without
        one. Any strength above 0, however small, brings the projection with it, so a small one
        need not give almost the same as 0.
    criterion : `"conditional"` shows the adversary the level, for parity among equals; `"parity"`
        does not.
    weighted : guesses weigh P(A != a | l), so that the adversary is at 1/2 if and only if the
        criterion is met; `False` weighs all alike, as in Ghassemi et al. (2025), and then the
        adversary also rewards scores that hide the level.
    hidden_layer_sizes, adversary_layer_sizes : of model and adversary.
    learning_rate : of Adam, without momentum, at the start; it falls linearly to 0.
    max_epochs : how long model and adversary play; the last weights are kept.
    patience : epochs without lower validation loss after which training without adversary stops.
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
    Adam divides every weight's gradient by its usual size, so the step that is taken is not exactly
    orthogonal to the adversary's gradient, though the gradient given to Adam is (up to the last
    term).

    References
    ----------
    Zhang, Lemoine and Mitchell (2018), *Mitigating unwanted biases with adversarial learning*;
    Ghassemi et al. (2025), who show the adversary the level.

    Examples
    --------
    >>> from likeforlike.experiments.rivals import AdversarialClassifier
    >>> from likeforlike.datasets import make_loans
    >>> loans = make_loans(500, gap=0.15)
    >>> model = AdversarialClassifier(max_epochs=3, random_state=0).fit(
    ...     loans.inputs().matrix,
    ...     loans.targets,
    ...     sensitive_features=loans.groups,
    ...     legitimate_features=loans.levels,
    ... )
    >>> model.predict_proba(loans.inputs().matrix).shape
    (500, 2)
    """


class AdversarialRegressor(_Adversarial, NetworkRegressor):
    """Regressor whose scores do not tell an adversary the group, among equals or at all.

    As `AdversarialClassifier`, with the squared error of the standardized target as the loss, so
    that a strength means the same in any unit of y.

    Parameters
    ----------
    strength, criterion, weighted, hidden_layer_sizes, adversary_layer_sizes : as there.
    learning_rate, max_epochs, patience, batch_size, validation_fraction : as there.
    random_state, verbose : as there.

    Examples
    --------
    >>> from likeforlike.experiments.rivals import AdversarialRegressor
    >>> from likeforlike.datasets import make_loans
    >>> loans = make_loans(500, gap=0.15)
    >>> model = AdversarialRegressor(max_epochs=3, random_state=0).fit(
    ...     loans.inputs().matrix,
    ...     loans.frame["score"].to_numpy(),
    ...     sensitive_features=loans.groups,
    ...     legitimate_features=loans.levels,
    ... )
    >>> model.predict(loans.inputs().matrix).shape
    (500,)
    """
