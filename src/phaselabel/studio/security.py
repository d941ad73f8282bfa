"""Requests in, only those of the page that has the token out: token, Host, Origin, size and headers."""

import ipaddress
import secrets
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

#: The body of a request has at most this many bytes.
MAX_BODY = 32 * 2**20

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


class RequestFilter:
    """Pass a request to ``app`` only if it comes from the page that was opened with the token.

    The token is the first part of every path: without it nothing is served, not even a picture or a script.
    Pages of other sites are refused by their ``Host`` (DNS rebinding) and by their ``Origin``.

    Parameters
    ----------
    app : ASGI application
        The application behind the filter.
    tokens : str or dict of str to str
        The secret; or a secret for each of several people, with their names. The application finds the name
        as ``person`` in the state of the request.
    host : str
        The address the server is bound to.
    """

    def __init__(self, app: Any, tokens: str | dict[str, str], host: str = "127.0.0.1") -> None:
        self.app, self.host = app, host
        self.tokens = {tokens: ""} if isinstance(tokens, str) else tokens

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        refusal = self._refusal(scope)
        if refusal:
            await _refuse(send, *refusal)
            return
        inner = dict(scope)
        token = scope["path"].split("/")[1]
        inner["path"] = scope["path"][len(token) + 1 :] or "/"
        inner["state"] = {**scope.get("state", {}), "person": self.tokens[token]}
        inner["raw_path"] = inner["path"].encode()
        body = _LimitedBody(receive, send)
        try:
            await self.app(inner, body.receive, body.send)
        except Exception:
            # The application complains about a body that was cut off; the refusal has been sent.
            if not body.refused:
                raise

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        """Return the status and the reason if a request is refused."""
        headers = {key.decode("latin-1").lower(): value.decode("latin-1") for key, value in scope["headers"]}
        host = headers.get("host", "")
        if not self._is_own_host(host):
            return 403, "This Host is not the studio's."
        origin = headers.get("origin")
        if origin is not None and origin != f"http://{host}":
            return 403, "Requests from other sites are refused."
        opening = headers.get("sec-fetch-mode") == "navigate"
        if headers.get("sec-fetch-site") in ("cross-site", "same-site") and not opening:
            return 403, "Requests from other sites are refused."
        given = scope["path"].split("/")[1]
        # All tokens are compared, so that the time tells nothing.
        if not sum(secrets.compare_digest(given.encode(), token.encode()) for token in self.tokens):
            return 403, "The address must have the token that the studio printed when it started."
        if scope["path"] == f"/{given}":
            return 404, "The address ends with a slash."
        if "%" in scope.get("raw_path", b"").decode("latin-1") or ".." in scope["path"]:
            return 404, "There is no such page."
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > MAX_BODY:
            return 413, f"A request may have {MAX_BODY // 2**20} MB."
        return None

    def _is_own_host(self, host: str) -> bool:
        """Whether a Host header names this server: a loopback name or, with ``--host``, any address."""
        name = host.rsplit(":", 1)[0] if not host.endswith("]") else host
        name = name.strip("[]").lower()
        if name in ("localhost", "127.0.0.1", "::1"):
            return True
        if is_loopback(self.host):
            return False
        # A rebinding attack needs a domain name; addresses and the name of this machine are safe.
        return name in (self.host.lower(), socket.gethostname().lower()) or _is_address(name)


class _LimitedBody:
    """Cut off a body that is longer than allowed, whatever its headers say."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive, self._send, self._left = receive, send, MAX_BODY
        self._started = self.refused = False

    async def receive(self) -> MutableMapping[str, Any]:
        """Return the next piece of the body."""
        message = await self._receive()
        if message["type"] == "http.request":
            self._left -= len(message.get("body", b""))
            if self._left < 0:
                if not self._started:
                    self.refused = True
                    await _refuse(self._send, 413, f"A request may have {MAX_BODY // 2**20} MB.")
                return {"type": "http.disconnect"}
        return message

    async def send(self, message: MutableMapping[str, Any]) -> None:
        """Send the response, with headers that isolate the page."""
        if self.refused:
            return
        if message["type"] == "http.response.start":
            self._started = True
            extra = [(key.encode(), value.encode()) for key, value in HEADERS.items()]
            message = {**message, "headers": [*message.get("headers", []), *extra]}
        await self._send(message)


async def _refuse(send: Send, status: int, reason: str) -> None:
    body = reason.encode()
    headers = {
        **HEADERS, "content-type": "text/plain; charset=utf-8", "content-length": str(len(body)),
        "connection": "close",
    }  # fmt: skip
    pairs = [(key.encode(), value.encode()) for key, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": pairs})
    await send({"type": "http.response.body", "body": body})


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach an address.

    Examples
    --------
    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    return host == "localhost" or (_is_address(host) and ipaddress.ip_address(host).is_loopback)


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
