"""Permission to look: which requests the server answers.

A page of another site may send requests to this machine, under a name that it lets point here. So the name in
the request must be one of this server. On a network anybody may ask, so the request must have the token.
"""

from __future__ import annotations

import hmac
import ipaddress
import secrets
import socket
from urllib.parse import urlsplit

from staticgraph.compiler.support.dataclass import dataclass


def is_loopback(host: str) -> bool:
    """Return True if only this machine reaches an address.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0"), is_loopback("example.org")
    (True, True, False, False)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class Access:
    """The rules of one server.

    Attributes:
        host: The address that it listens at.
        token: The secret that a request must know; "" if only this machine can ask.
    """

    host: str
    token: str

    @classmethod
    def to(cls, host: str) -> Access:
        """Make the rules for an address: with a random token unless it is the loopback."""
        return cls(host, "" if is_loopback(host) else secrets.token_urlsafe(24))

    def knows_host(self, header: str) -> bool:
        """Return True if a Host header names this server.

        >>> access = Access("127.0.0.1", "")
        >>> access.knows_host("localhost:6007"), access.knows_host("evil.com")
        (True, False)
        """
        try:
            name = urlsplit(f"//{header}").hostname or ""
        except ValueError:
            return False
        if is_loopback(name):
            return True
        if not self.token:
            return False
        if name in (self.host.lower(), socket.gethostname().lower(), socket.getfqdn().lower()):
            return True
        try:
            ipaddress.ip_address(name)  # no site can let an address point elsewhere
        except ValueError:
            return False
        return True

    def knows_origin(self, origin: str, header: str) -> bool:
        """Return True if a page may open a connection: one of this server, as Origin and Host tell."""
        try:
            return urlsplit(origin).netloc.lower() == header.lower() and self.knows_host(header)
        except ValueError:
            return False

    def knows_token(self, given: str) -> bool:
        """Return True if a request may see the runs, in a time that does not tell how much is right."""
        return not self.token or hmac.compare_digest(given.encode(), self.token.encode())
