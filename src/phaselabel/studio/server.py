"""A room in, its page and its answers over HTTP out."""

import asyncio
import json
import secrets
import socket
from collections.abc import AsyncIterator, Callable
from importlib.resources import files
from typing import Any

from phaselabel.studio.guards import Guard

STATIC = {
    "studio.css": "text/css", "studio.js": "text/javascript", "page.js": "text/javascript",
    "drawing.js": "text/javascript", "answering.js": "text/javascript", "map.js": "text/javascript",
    "icon.svg": "image/svg+xml",
}  # fmt: skip


class News:
    """Hands what a room's thread tells to every page that listens."""

    def __init__(self) -> None:
        self._listeners: set[asyncio.Queue[str]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None

    def tell(self, news: dict[str, Any]) -> None:
        """From any thread."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._spread, json.dumps(news))

    def _spread(self, text: str) -> None:
        for queue in self._listeners:
            queue.put_nowait(text)

    async def stream(self) -> AsyncIterator[str]:
        """Server-sent events, with a sign of life every fifteen seconds."""
        self._loop = asyncio.get_running_loop()
        queue: asyncio.Queue[str] = asyncio.Queue()
        self._listeners.add(queue)
        try:
            yield "retry: 1000\n\ndata: {}\n\n"
            while True:
                try:
                    yield f"data: {await asyncio.wait_for(queue.get(), 15)}\n\n"
                except TimeoutError:
                    yield ": still here\n\n"
        finally:
            self._listeners.discard(queue)


def application(room: Any, news: News, token: str, host: str = "127.0.0.1") -> Guard:
    """The guarded application.

    Parameters
    ----------
    room : DrawingRoom or AnsweringRoom
        Who answers.
    news : News
        What the room tells.
    token, host : str
        For :class:`~phaselabel.studio.guards.Guard`.
    """
    from starlette.applications import Starlette
    from starlette.routing import Route

    site = _Site(room, news)
    routes = [
        Route("/", site.page),
        Route("/static/{name}", site.static),
        Route("/events", site.events),
        Route("/do", site.do, methods=["POST"]),
        Route("/take", site.take, methods=["POST"]),
        Route("/ask/{name}", site.ask),
        Route("/data/{name}", site.data),
        Route("/export/{name}", site.export),
    ]
    return Guard(Starlette(routes=routes), token, host)


class _Site:
    """What is behind each address. Names in addresses are looked up in tables, never used as paths."""

    def __init__(self, room: Any, news: News) -> None:
        self.room, self.news = room, news

    async def page(self, request: Any) -> Any:
        return _bytes(_static("index.html"), "text/html")

    async def static(self, request: Any) -> Any:
        name = request.path_params["name"]
        return (
            _bytes(_static(name), STATIC[name]) if name in STATIC else _refused(404, "There is no such file.")
        )

    async def events(self, request: Any) -> Any:
        from starlette.responses import StreamingResponse

        return StreamingResponse(self.news.stream(), media_type="text/event-stream")

    async def do(self, request: Any) -> Any:
        try:
            order = json.loads(await request.body())
        except (ValueError, RecursionError):
            order = None
        return await _json_answer(lambda: self._ordered(order))

    def _ordered(self, order: Any) -> Any:
        if not isinstance(order, dict):
            raise ValueError("An order is a JSON object.")
        mark = order.get("mark")
        if mark is not None and not (isinstance(mark, str) and len(mark) <= 64):
            raise ValueError("The mark of an order is a short text.")
        return self.room.do(order.get("kind"), order.get("body", {}), mark)

    async def take(self, request: Any) -> Any:
        content = await request.body()
        return await _json_answer(lambda: self.room.take(content))

    async def ask(self, request: Any) -> Any:
        name, options = request.path_params["name"], dict(request.query_params)
        if name not in self.room.questions:
            return _refused(404, "There is no such question.")
        return await _json_answer(lambda: self.room.questions[name](**options))

    async def data(self, request: Any) -> Any:
        return await _data(self.room, request.path_params["name"], dict(request.query_params))

    async def export(self, request: Any) -> Any:
        name = request.path_params["name"]
        if name not in self.room.exports:
            return _refused(404, "There is no such file.")
        return await _file(lambda: self.room.export(name), self.room.exports[name], name)


def listening(host: str, port: int) -> socket.socket:
    """A socket bound to the address; port 0 takes any free one."""
    if not 0 <= port <= 65535:
        raise ValueError(f"--port must lie between 0 (any free one) and 65535; got {port}.")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((host, port))
        found.listen(128)  # who follows the printed address at once waits, rather than being refused
    except OSError as error:
        found.close()
        raise ValueError(f"The studio can't listen on {host} port {port} ({error.strerror}).") from None
    return found


def serve(make_room: Callable[..., Any], host: str, port: int, ready: Callable[[str], None]) -> None:
    """Serve a room until the process ends.

    Parameters
    ----------
    make_room : callable
        Called with ``tell=``; answers the room.
    host, port
        Where to listen.
    ready : callable
        Called with the page's address.
    """
    try:
        import uvicorn
    except ImportError:
        raise ImportError("The studio needs a web server: pip install 'phaselabel[studio]'.") from None
    news = News()
    room = make_room(tell=news.tell)
    token = secrets.token_urlsafe(24)
    with listening(host, port) as bound:
        app = application(room, news, token, host)
        config = uvicorn.Config(
            app, log_level="warning", access_log=False, lifespan="off", server_header=False,
            timeout_graceful_shutdown=1, h11_max_incomplete_event_size=2**16,
        )  # fmt: skip
        room.start()
        shown = f"[{host}]" if ":" in host else host
        ready(f"http://{shown}:{bound.getsockname()[1]}/{token}/")
        uvicorn.Server(config).run(sockets=[bound])


def _static(name: str) -> bytes:
    return (files("phaselabel.studio") / "static" / name).read_bytes()


def _bytes(content: bytes, kind: str, headers: dict[str, str] | None = None) -> Any:
    from starlette.responses import Response

    return Response(content, media_type=kind, headers=headers)


def _refused(status: int, words: str) -> Any:
    from starlette.responses import JSONResponse

    return JSONResponse({"error": words}, status)


async def _json_answer(work: Callable[[], Any]) -> Any:
    from starlette.concurrency import run_in_threadpool
    from starlette.responses import JSONResponse

    try:
        return JSONResponse(await run_in_threadpool(work))
    except (ValueError, TypeError) as error:
        return _refused(400, str(error))
    except OSError as error:
        return _refused(507, str(error))


async def _data(room: Any, name: str, options: dict[str, str]) -> Any:
    """Bytes: the picture, the segmentation, an item, the map."""
    from starlette.concurrency import run_in_threadpool

    if name not in room.data:
        return _refused(404, "There is no such thing.")
    try:
        content, kind, number = await run_in_threadpool(room.data[name], **options)
    except (ValueError, TypeError, IndexError) as error:
        return _refused(400, str(error))
    return _bytes(content, kind, {"x-number": str(number)})


async def _file(work: Callable[[], bytes], kind: str, name: str) -> Any:
    from starlette.concurrency import run_in_threadpool

    try:
        content = await run_in_threadpool(work)
    except (ValueError, ImportError) as error:
        return _refused(400, str(error))
    except OSError as error:
        return _refused(507, f"{name} could not be written ({error}).")
    return _bytes(content, kind, {"content-disposition": f'attachment; filename="{name}"'})
