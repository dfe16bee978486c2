"""What a service takes from one client: bytes of a request, requests a minute."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from limits import RateLimitItemPerMinute
from limits.storage import MemoryStorage
from limits.strategies import FixedWindowRateLimiter
from starlette.responses import JSONResponse

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


class Limits:
    """ASGI middleware: a body beyond `most_bytes` is refused before it is read, with 413; a request beyond `rate` a
    minute from one address (0: any number) with 429. GET requests, /health among them, are not counted."""

    def __init__(self, app: Callable[[Scope, Receive, Send], Awaitable[None]], most_bytes: int, rate: int):
        self.app, self.most_bytes = app, most_bytes
        self.rate = RateLimitItemPerMinute(rate) if rate else None
        self.counter = FixedWindowRateLimiter(MemoryStorage())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST":
            return await self.app(scope, receive, send)
        headers = dict(scope["headers"])
        size = headers.get(b"content-length", b"")
        client = (scope.get("client") or ("",))[0]
        if not size.isdigit():
            return await refuse(411, "give the length of the request (Content-Length)", scope, receive, send)
        if int(size) > self.most_bytes:
            return await refuse(413, f"{int(size):,} bytes; at most {self.most_bytes:,}", scope, receive, send)
        if self.rate and not self.counter.hit(self.rate, client):
            return await refuse(429, f"more than {self.rate.amount} requests a minute; wait", scope, receive, send)
        await self.app(scope, receive, send)


async def refuse(status: int, message: str, scope: Scope, receive: Receive, send: Send) -> None:
    headers = {"Retry-After": "60"} if status == 429 else {}
    await JSONResponse({"error": message}, status, headers)(scope, receive, send)
