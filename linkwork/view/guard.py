"""Who may connect to the view: an address that can be served, and only pages that the view itself has served."""

import os
import socket
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from ipaddress import ip_address
from threading import Lock
from typing import Any
from urllib.parse import urlsplit

from ..errors import LinkworkError, OptionError, extra

HIGHEST, TRIES = 65535, 1000  # of ports
LOOPBACK = "127.0.0.1", "localhost", "::1"
_starting = Lock()


def free_address(host: str, port: int) -> tuple[str, int]:
    """An address of this machine by this name, and its first free port from this one on, 0 for any."""
    if isinstance(port, bool) or not isinstance(port, int) or not 0 <= port <= HIGHEST:
        raise OptionError(f"port is {port!r}; it is a whole number from 0, for any free port, to {HIGHEST}.")
    if not isinstance(host, str) or not host:
        raise OptionError(f'host is {host!r}; it is an address of this machine as text: "127.0.0.1", or "0.0.0.0" for all of them.')
    try:
        addresses = [x for x in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM) if can_listen(x, 0)]
    except (OSError, UnicodeError):
        addresses = []
    if not addresses:
        raise OptionError(
            f'host is "{host}", which is not an address of this machine; "127.0.0.1" serves this machine alone, "0.0.0.0" every computer '
            "that can reach it."
        )
    for number in range(port, min(port + TRIES, HIGHEST) + 1):
        if can_listen(addresses[0], number):
            return str(addresses[0][4][0]), number
    raise OptionError(f"port is {port}, and neither it nor one of the next is free: port=0 takes any that is.")


def can_listen(address, port: int) -> bool:
    """Can a server listen at this address, one of `getaddrinfo`, on this port?"""
    family, kind, protocol, _, place = address
    with socket.socket(family, kind, protocol) as trial:
        if os.name == "posix":  # as servers do; elsewhere it would share a port that is taken
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind((place[0], port, *place[2:]))
        except OSError:
            return False
    return True


@contextmanager
def guarded(host: str, origins: Iterable[str]) -> Iterator[None]:
    """While a server of viser is made in here, which takes no such option itself: its WebSockets refuse pages that it has not served."""
    module: Any = extra("websockets.asyncio.server", "the browser view needs", "view")
    each = [origins] if isinstance(origins, str) else list(origins)
    if not all(isinstance(x, str) and urlsplit(x).netloc for x in each):
        raise OptionError(f'origins is {origins!r}; each is the address of a page without its path, such as "https://lab.example.org".')
    others = () if host in LOOPBACK else (socket.gethostname(), socket.getfqdn())  # a server for other computers has the machine's names
    names, allowed = {x.lower() for x in ("localhost", host, *others)}, {x.rstrip("/").lower() for x in each}
    used = []

    def serve(handler, *args, process_request=None, **options):
        def process(connection, request):
            if reason := refusal(request.headers, names, allowed):
                return connection.respond(403, reason + "\n")
            return None if process_request is None else process_request(connection, request)

        ours = getattr(handler, "__module__", "").startswith("viser")
        used.append(ours)
        return original(handler, *args, process_request=process if ours else process_request, **options)

    with _starting:
        original, module.serve = module.serve, serve
        try:
            yield
        finally:
            module.serve = original
    if not any(used):
        raise LinkworkError("this version of viser lets any page connect to the view: pip install --upgrade viser linkwork.")


def refusal(headers, names: set[str], origins: set[str]) -> str | None:
    """Why a request may not open a WebSocket: None if it may, or is not one.

    A page's Origin has to be the Host that it calls, so that no other page reaches the view; and the Host has to be a name of this machine
    or an address, so that no foreign name can be made to lead here. Programs that are not browsers send no Origin.
    """
    if "websocket" not in ",".join(headers.get_all("Upgrade")).lower():
        return None
    given, hosts = headers.get_all("Origin"), headers.get_all("Host")
    if len(given) == 1 and given[0].lower() in origins:
        return None
    if len(hosts) != 1 or not known(hosts[0], names):
        return f"Host {', '.join(hosts)} is not a name of this view."
    if len(given) > 1 or (given and urlsplit(given[0]).netloc.lower() != hosts[0].lower()):
        return f"Origin {', '.join(given)} may not connect: lw.view(..., origins=[...]) and --origins name pages that may."
    return None


def known(host: str, names: set[str]) -> bool:
    """Is this a name, or an address in digits?"""
    try:
        name = urlsplit(f"//{host}").hostname or ""
        return name in names or bool(ip_address(name))
    except ValueError:
        return False
