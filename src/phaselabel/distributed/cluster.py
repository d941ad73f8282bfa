"""A client or none in, a client that can be used out."""

import logging
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from distributed import Client, LocalCluster, get_client
from distributed.utils import get_ip

log = logging.getLogger(__name__)


@contextmanager
def connected(client: Client | None = None) -> Iterator[Client]:
    """The caller's client, the current one, or that of a local cluster which is closed at the end."""
    if client is None:
        try:
            client = get_client()
        except ValueError:
            client = None
    if client is not None:
        yield client
        return
    log.warning("There is no Dask client: starting a local cluster for this job.")
    with LocalCluster(dashboard_address=None) as cluster, Client(cluster) as own:
        yield own


def on_this_machine(client: Client) -> bool:
    """Whether all workers run on this machine, so that they can open a temporary folder of it."""
    workers = client.scheduler_info(n_workers=-1)["workers"]
    hosts = {w.get("host") for address, w in workers.items() if not address.startswith("inproc://")}
    here: set[Any] = {"127.0.0.1", "localhost", "::1", None}
    with suppress(OSError):
        here |= {get_ip(), *(entry[4][0] for entry in socket.getaddrinfo(socket.gethostname(), None))}
    return hosts <= here
