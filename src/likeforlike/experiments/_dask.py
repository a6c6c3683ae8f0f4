"""A Dask cluster by the address of its scheduler, for the command line."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager

from likeforlike._extras import extra
from likeforlike.errors import InputError

# A cluster that is there answers at once; one that is starting may take a while.
_PATIENCE = 15.0


@contextmanager
def dask_executor(address: str | None, patience: float = _PATIENCE) -> Iterator[Executor | None]:
    """An executor on the cluster at an address, such as `tcp://10.0.0.1:8786`; `None` for none.

    `patience` is how many seconds the scheduler and its first worker have to answer.
    """
    if address is None:
        yield None
        return
    with extra("dask"):
        from distributed import Client
    try:
        client = Client(address, timeout=patience, set_as_default=False)
    except (OSError, ValueError) as error:
        raise InputError(f"no Dask scheduler answers at {address!r}: {error}") from error
    with client:
        try:
            client.wait_for_workers(1, timeout=patience)
        except TimeoutError as error:
            raise InputError(
                f"the Dask cluster at {address!r} has no workers; start one with "
                f"`dask worker {address} --nthreads 1`."
            ) from error
        yield client.get_executor()
