"""Alerts as requests to a configured host."""

from __future__ import annotations

import http.client
import ipaddress
import socket
import ssl
import time
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from motiflux.errors import OutputError
from motiflux.serve.sinks.sink import Sent, Sink

_MOST_READ = 2**16
_LEAD_TO_IPV4 = [
    ipaddress.ip_network(net) for net in ("64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "::/96", "fec0::/10")
]
"""Networks of IPv6 by which routers may reach this machine's IPv4 network, or that are local to a site."""
Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class Webhook(Sink):
    """Sends each alert in a request of its own, with its id as ``Idempotency-Key``.

    The name of the host is resolved here, its address is checked, and that address is connected to: a name
    that resolves to this machine or its network is refused unless ``private = true``. Redirects are errors.
    """

    _connection: http.client.HTTPConnection | None = None

    def open(self) -> None:
        """Read the token; connections are made when there is something to send."""
        options = self.settings.options
        self._url = urlsplit(options["url"])
        self._headers = {"Content-Type": "application/json", "User-Agent": "motiflux"}
        if options["token_file"] is not None:
            self._headers["Authorization"] = f"Bearer {options['token_file'].read_text('utf-8').strip()}"

    def deliver(self, alerts: Sequence[Sent]) -> Any:
        """Send the alerts one after the other; those that were sent are not sent again after an error."""
        try:
            for alert in alerts:
                if self.has_to_end:
                    raise OutputError("expected time for all alerts, found the end of the service")
                if alert.number > self.delivered:
                    self._send(alert)
                    self.delivered = alert.number
        finally:
            self._mark(self.name, self.delivered, None, False)  # an error may last longer than this process

    def _send(self, alert: Sent) -> None:
        reused = self._connection is not None
        try:
            self._request(alert)
        except (http.client.HTTPException, ConnectionError):
            self.close()
            if not reused:
                raise
            self._request(alert)  # the host closes connections that rest

    def _request(self, alert: Sent) -> None:
        if self._connection is None:
            self._connection = self._connected()
        connection = self._connection
        target = f"{self._url.path or '/'}{'?' + self._url.query if self._url.query else ''}"
        headers = {**self._headers, "Idempotency-Key": alert.id}
        connection.request("POST", target, alert.body.encode(), headers)
        answer = connection.getresponse()
        answer.read(_MOST_READ)
        if not answer.isclosed() or answer.will_close:
            self.close()
        if not 200 <= answer.status < 300:
            self.close()
            raise OutputError(
                f"{self._url.hostname}: expected an answer from 200 to 299, found {answer.status}"
            )

    def _connected(self) -> http.client.HTTPConnection:
        options, host = self.settings.options, self._url.hostname or ""
        is_secure = self._url.scheme == "https"
        port = self._url.port or (443 if is_secure else 80)
        address = checked_address(host, port, private=options["private"])
        end = time.monotonic() + options["timeout"]
        plain = socket.create_connection((str(address), port), options["timeout"])
        try:
            plain.settimeout(max(0.001, end - time.monotonic()))
            wrapped = (
                ssl.create_default_context().wrap_socket(plain, server_hostname=host) if is_secure else plain
            )
            wrapped.settimeout(options["timeout"])
        except BaseException:
            plain.close()
            raise
        connection = http.client.HTTPConnection(host, port, timeout=options["timeout"])
        connection.auto_open = 0  # the name would be resolved again, unchecked
        connection.sock = wrapped
        return connection

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def checked_address(host: str, port: int, *, private: bool) -> Address:
    """Return an address of a host that may be connected to.

    Raises
    ------
    OutputError
        The name has no address, or one of this machine or of a private network.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise OutputError(f"{host}: expected a name with an address, found none: {error}") from None
    addresses = [ipaddress.ip_address(str(place[0]).partition("%")[0]) for *_, place in found]
    for address in addresses:
        plain = getattr(address, "ipv4_mapped", None) or address
        leads_on = any(plain.version == net.version and plain in net for net in _LEAD_TO_IPV4)
        if not private and (not plain.is_global or plain.is_multicast or leads_on):
            raise OutputError(f"{host}: expected a public address, found {address}; private = true allows it")
    return addresses[0]
