"""Sweeps on executors of others: the same to the last bit, also where a worker is lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from distributed import Client, LocalCluster

import likeforlike as lfl
from likeforlike.datasets import make_loans
from likeforlike.experiments import (
    Journal,
    Method,
    Penalized,
    Plain,
    Sweep,
    Task,
    dask_executor,
    sweep,
)
from tests.support.command import call

pytestmark = pytest.mark.training

METHODS: list[Method] = [
    Plain(),
    Penalized("FairLeap", (1.0, 10.0), lfl.FairLeap()),
    Penalized("FairBiT, paper", (1.0,), lfl.FairBiT.paper(), penalty_rows=None),
]


def swept(journal: Path, **how: Any) -> Sweep:
    task = Task(make_loans(400, gap=0.2), max_epochs=3)
    return sweep(task, METHODS, seeds=2, seeds_in_unit=1, journal=journal, **how)


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Sweep:
    """What the local pool finds, in two processes of its own."""
    return swept(tmp_path_factory.mktemp("local") / "runs.jsonl", workers=2)


def runs_in(journal: Path) -> int:
    with Journal(journal) as kept:
        return sum(" seeds " in key for key, _ in kept)


# Any executor ------------------------------------------------------------------------------------


def test_this_process_finds_what_the_local_pool_finds(tmp_path: Path, local: Sweep) -> None:
    assert swept(tmp_path / "runs.jsonl", workers=0).runs.equals(local.runs)


def test_threads_find_what_the_local_pool_finds(tmp_path: Path, local: Sweep) -> None:
    heard: list[tuple[int, int]] = []
    with ThreadPoolExecutor(3) as pool:
        found = swept(
            tmp_path / "runs.jsonl", executor=pool, progress=lambda *counts: heard.append(counts)
        )
        assert pool.submit(int, "7").result() == 7  # it is still the caller's
    assert found.runs.equals(local.runs)
    assert heard == [(done, 6) for done in range(1, 7)]


def test_an_interrupted_sweep_cancels_what_is_left_and_goes_on_later(
    tmp_path: Path, local: Sweep
) -> None:
    def interrupt(done: int, _: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    submitted: list[Future[Any]] = []

    class Watched(ThreadPoolExecutor):
        def submit(self, *call: Any, **named: Any) -> Future[Any]:
            submitted.append(super().submit(*call, **named))
            return submitted[-1]

    journal = tmp_path / "runs.jsonl"
    with Watched(1) as pool:
        with pytest.raises(KeyboardInterrupt):
            swept(journal, executor=pool, progress=interrupt)
        assert any(future.cancelled() for future in submitted)
        assert runs_in(journal) == 2
        assert swept(journal, executor=pool).runs.equals(local.runs)
    assert len(submitted) == 6 + 4


@dataclass
class Answering(Executor):
    """An executor that answers a few calls, and then something else."""

    calls: int
    otherwise: Any
    answers: list[Future[Any]] = field(default_factory=list)

    def submit(self, call: Any, /, *arguments: Any, **named: Any) -> Future[Any]:
        future: Future[Any] = Future()
        if len(self.answers) < self.calls:
            future.set_result(call(*arguments, **named))
        elif isinstance(self.otherwise, BaseException):
            future.set_exception(self.otherwise)
        else:
            future.set_result(self.otherwise)
        self.answers.append(future)
        return future


def test_what_was_finished_is_kept_when_the_workers_are_lost(tmp_path: Path) -> None:
    journal = tmp_path / "runs.jsonl"
    with pytest.raises(lfl.errors.InputError, match=r"lost its workers .* start again to go on"):
        swept(journal, executor=Answering(0, BrokenExecutor("killed")))
    assert runs_in(journal) == 0


def test_workers_with_another_version_are_refused(tmp_path: Path) -> None:
    with pytest.raises(lfl.errors.InputError, match=r"have likeforlike 0\.0\.0, and this is"):
        swept(tmp_path / "runs.jsonl", executor=Answering(0, ("0.0.0", {})))
    assert runs_in(tmp_path / "runs.jsonl") == 0


def test_an_error_of_a_unit_is_passed_on(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError, match="of a unit"):
        swept(tmp_path / "runs.jsonl", executor=Answering(0, ZeroDivisionError("of a unit")))


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"executor": 3}, "which int has not"),
        ({"executor": Answering(0, None), "workers": 2}, "give one of the two"),
    ],
)
def test_what_is_no_executor_is_refused(tmp_path: Path, how: dict[str, Any], message: str) -> None:
    with pytest.raises(lfl.errors.InputError, match=message):
        swept(tmp_path / "runs.jsonl", **how)
    assert not list(tmp_path.iterdir())


# A cluster ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cluster:
    """A scheduler, and two workers that are processes of their own."""

    address: str
    client: Client
    workers: tuple[subprocess.Popen[bytes], ...]

    def busy(self) -> int:
        """The process of a worker that has a unit under way."""
        at_work = self.client.processing()
        known = self.client.scheduler_info()["workers"]
        names = [known[address]["name"] for address, calls in at_work.items() if calls]
        return int(names[0])


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    root = Path(__file__).parents[2]
    paths = os.pathsep.join([str(root / "src"), str(root), os.environ.get("PYTHONPATH", "")])
    with (
        LocalCluster(n_workers=0, dashboard_address=":0") as scheduler,
        Client(scheduler, set_as_default=False) as client,
    ):
        command = [sys.executable, "-m", "distributed.cli.dask_worker", scheduler.scheduler_address]
        # Without nannies: a worker that is killed stays away, and the other has to do it all.
        workers = tuple(
            subprocess.Popen(
                [*command, "--no-nanny", "--nthreads", "1", "--no-dashboard", "--name", str(name)],
                env={**os.environ, "PYTHONPATH": paths},
                stderr=subprocess.DEVNULL,
            )
            for name in range(2)
        )
        try:
            client.wait_for_workers(2, timeout=120)
            yield Cluster(scheduler.scheduler_address, client, workers)
        finally:
            for worker in workers:
                worker.kill()
                worker.wait()


@pytest.mark.process
def test_a_sweep_ends_the_same_on_a_cluster_that_loses_a_worker(
    tmp_path: Path, local: Sweep, cluster: Cluster
) -> None:
    killed: list[int] = []

    def kill(done: int, _: int) -> None:
        if done == 1:
            killed.append(cluster.busy())
            os.kill(cluster.workers[killed[0]].pid, signal.SIGKILL)

    with cluster.client.get_executor() as pool:
        found = swept(tmp_path / "runs.jsonl", executor=pool, progress=kill)
    assert len(killed) == 1
    assert cluster.workers[killed[0]].wait() == -signal.SIGKILL
    assert found.runs.equals(local.runs)


@pytest.mark.process
def test_the_command_works_on_a_cluster(tmp_path: Path, cluster: Cluster) -> None:
    path = tmp_path / "loans.csv"
    make_loans(300, gap=0.2).frame.drop("score").write_csv(path)
    arguments = [
        *("sweep", path, "--target", "approved", "--sensitive", "sex", "--legitimate", "income"),
        *("--seeds", 1, "--epochs", 2, "--method", "none", "--method", "fairleap"),
        *("--strength", 1),
    ]
    there = call(*arguments, "--out", tmp_path / "there", "--dask", cluster.address)
    assert there.returncode == 0, there.stderr
    here = call(*arguments, "--out", tmp_path / "here")
    assert here.returncode == 0, here.stderr
    runs = [(tmp_path / out / "runs.csv").read_bytes() for out in ("there", "here")]
    assert runs[0] == runs[1]


@pytest.mark.process
def test_a_client_is_asked_for_its_executor(tmp_path: Path, cluster: Cluster) -> None:
    with pytest.raises(lfl.errors.InputError, match=r"pass client\.get_executor\(\)"):
        swept(tmp_path / "runs.jsonl", executor=cluster.client)


def test_a_scheduler_that_does_not_answer_is_named() -> None:
    with (
        pytest.raises(lfl.errors.InputError, match="no Dask scheduler answers at 'tcp://127"),
        dask_executor("tcp://127.0.0.1:9", patience=0.5),
    ):
        pass
    with (
        pytest.raises(lfl.errors.InputError, match="no Dask scheduler answers at 'nonsense://x'"),
        dask_executor("nonsense://x", patience=0.5),
    ):
        pass


def test_a_cluster_without_workers_is_named() -> None:
    with (
        LocalCluster(n_workers=0, dashboard_address=":0") as empty,
        pytest.raises(
            lfl.errors.InputError, match="has no workers; start one with `dask worker tcp:"
        ),
        dask_executor(empty.scheduler_address, patience=0.5),
    ):
        pass
