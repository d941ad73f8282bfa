"""A workspace in, its page and its data over HTTP out."""

import asyncio
import json
import logging
import secrets
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from importlib.resources import files
from typing import Any, Protocol

from phaselabel.io import atomic
from phaselabel.studio.security import RequestFilter

log = logging.getLogger(__name__)

#: The media types of the files in ``static/`` that are served.
MEDIA_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


#: An idle connection stays open this long; a short time makes requests fail that come as it ends.
KEEP_ALIVE_SECONDS = 75


class Workspace(Protocol):
    """What the server needs of a workspace."""

    exports: dict[str, str]

    @property
    def queries(self) -> dict[str, Callable[..., Any]]:
        """Functions whose result the page can request as JSON."""

    @property
    def data(self) -> dict[str, Callable[..., tuple[bytes, str, int]]]:
        """Functions whose bytes the page can request; each returns (content, media type, version)."""

    def start(self) -> None:
        """Start the background work."""

    def close(self) -> None:
        """Close the project."""

    def act(self, kind: Any, body: Any, request_id: str | None = None, person: str = "") -> dict[str, Any]:
        """Check an action of a person, record it, apply it and return the new state."""

    def import_file(self, data: bytes, request_id: str | None = None, image: str = "") -> dict[str, Any]:
        """Apply an uploaded file, which may belong to one of several pictures, and return the new state."""

    def export(self, name: str) -> bytes:
        """Return one of the files in ``exports``."""


class EventBroadcaster:
    """Send the events that a workspace publishes to every open page."""

    def __init__(self) -> None:
        self._queues: set[asyncio.Queue[str]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None

    def publish(self, event: dict[str, Any]) -> None:
        """Send an event to all pages; callable from any thread."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._enqueue, json.dumps(event))

    def _enqueue(self, text: str) -> None:
        for queue in self._queues:
            queue.put_nowait(text)

    async def stream(self) -> AsyncIterator[str]:
        """Yield server-sent events, with a comment every fifteen seconds to keep the connection open."""
        self._loop = asyncio.get_running_loop()
        queue: asyncio.Queue[str] = asyncio.Queue()
        self._queues.add(queue)
        try:
            yield "retry: 1000\n\ndata: {}\n\n"
            while True:
                try:
                    yield f"data: {await asyncio.wait_for(queue.get(), 15)}\n\n"
                except TimeoutError:
                    yield ": keep-alive\n\n"
        finally:
            self._queues.discard(queue)


def application(
    workspace: Workspace, events: EventBroadcaster, token: str | dict[str, str], host: str = "127.0.0.1"
) -> RequestFilter:
    """Return the ASGI application behind its request filter.

    Parameters
    ----------
    workspace : DrawingWorkspace or AnsweringWorkspace
        What the page shows.
    events : EventBroadcaster
        The events that the workspace publishes.
    token, host
        For :class:`~phaselabel.studio.security.RequestFilter`.

    Returns
    -------
    RequestFilter
        The application.
    """
    from starlette.applications import Starlette
    from starlette.routing import Route

    site = _Site(workspace, events)
    routes = [
        Route("/", site.page),
        Route("/static/{name}", site.static),
        Route("/events", site.events),
        Route("/actions", site.act, methods=["POST"]),
        Route("/import", site.import_file, methods=["POST"]),
        Route("/query/{name}", site.query),
        Route("/data/{name}", site.data),
        Route("/export/{name}", site.export),
    ]
    return RequestFilter(Starlette(routes=routes), token, host)


class _Site:
    """The handler of every address. Names in addresses are looked up in tables, never used as paths."""

    def __init__(self, workspace: Workspace, events: EventBroadcaster) -> None:
        self.workspace, self.broadcaster = workspace, events
        names = [entry.name for entry in (files("phaselabel.studio") / "static").iterdir()]
        suffixes = {name: f".{name.rpartition('.')[2]}" for name in names}
        self.static_types = {n: MEDIA_TYPES[s] for n, s in suffixes.items() if s in MEDIA_TYPES}

    async def page(self, request: Any) -> Any:
        return _bytes(_static("index.html"), "text/html")

    async def static(self, request: Any) -> Any:
        name = request.path_params["name"]
        if name not in self.static_types:
            return _refused(404, "There is no such file.")
        return _bytes(_static(name), self.static_types[name])

    async def events(self, request: Any) -> Any:
        from starlette.responses import StreamingResponse

        return StreamingResponse(self.broadcaster.stream(), media_type="text/event-stream")

    async def act(self, request: Any) -> Any:
        try:
            action = json.loads(await request.body())
        except (ValueError, RecursionError):
            action = None
        return await _json_response(lambda: self._act(action, request.state.person))

    def _act(self, action: Any, person: str) -> Any:
        if not isinstance(action, dict):
            raise ValueError("An action must be a JSON object.")
        request_id = action.get("request_id")
        checked = _checked_id(request_id)
        state = self.workspace.act(action.get("kind"), action.get("body", {}), checked, person)
        return {**state, "confirmed": request_id}

    async def import_file(self, request: Any) -> Any:
        content, options = await request.body(), request.query_params
        request_id, image = options.get("request_id"), options.get("image", "")
        return await _json_response(lambda: self._import_file(content, request_id, image))

    def _import_file(self, content: bytes, request_id: Any, image: str) -> Any:
        state = self.workspace.import_file(content, _checked_id(request_id), image)
        return {**state, "confirmed": request_id}

    async def query(self, request: Any) -> Any:
        name, options = request.path_params["name"], dict(request.query_params)
        if name not in self.workspace.queries:
            return _refused(404, "There is no such query.")
        if name == "state" and request.state.person:
            options["person"] = request.state.person
        return await _json_response(lambda: self.workspace.queries[name](**options))

    async def data(self, request: Any) -> Any:
        return await _data(self.workspace, request.path_params["name"], dict(request.query_params))

    async def export(self, request: Any) -> Any:
        name = request.path_params["name"]
        if name not in self.workspace.exports:
            return _refused(404, "There is no such file.")
        return await _file(lambda: self.workspace.export(name), self.workspace.exports[name], name)


def bound_socket(host: str, port: int) -> socket.socket:
    """Return a socket that is bound to the address; port 0 takes any free one."""
    if not 0 <= port <= 65535:
        raise ValueError(f"--port must lie between 0 (any free one) and 65535; got {port}.")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    opened = socket.socket(family, socket.SOCK_STREAM)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        opened.bind((host, port))
        opened.listen(128)  # before the address is printed: an early request waits and is not refused
    except OSError as error:
        opened.close()
        raise ValueError(f"The studio can't listen on {host} port {port} ({error.strerror}).") from None
    return opened


def serve(
    open_workspace: Callable[..., Workspace],
    host: str,
    port: int,
    on_ready: Callable[[dict[str, str]], None],
    people: Sequence[str] = (),
) -> None:
    """Serve a workspace until the process ends.

    Parameters
    ----------
    open_workspace : callable
        Called with ``publish=``; returns the workspace.
    host, port
        Where to listen.
    on_ready : callable
        Called with the address of the page for every person; the name is empty if ``people`` is.
    people : sequence of str
        The names of the people who work on the project. Each has a token, and so an address, of their own.
    """
    try:
        import uvicorn  # noqa: F401
    except ImportError:
        raise ImportError("The studio needs a web server: pip install 'phaselabel[studio]'.") from None
    events = EventBroadcaster()
    workspace = open_workspace(publish=events.publish)
    # Ctrl-C ends the process without returning here.
    atomic.on_abandon(workspace.close)
    try:
        _serve(workspace, events, host, port, on_ready, people)
    finally:
        workspace.close()


def _serve(
    workspace: Workspace,
    events: EventBroadcaster,
    host: str,
    port: int,
    on_ready: Callable[[dict[str, str]], None],
    people: Sequence[str],
) -> None:
    import uvicorn

    tokens = {secrets.token_urlsafe(24): name for name in people or [""]}
    with bound_socket(host, port) as listener:
        app = application(workspace, events, tokens, host)
        config = uvicorn.Config(
            app, log_level="warning", access_log=False, lifespan="off", server_header=False,
            timeout_graceful_shutdown=1, timeout_keep_alive=KEEP_ALIVE_SECONDS,
            h11_max_incomplete_event_size=2**16,
        )  # fmt: skip
        workspace.start()
        shown = f"[{host}]" if ":" in host else host
        root = f"http://{shown}:{listener.getsockname()[1]}"
        on_ready({name: f"{root}/{token}/" for token, name in tokens.items()})
        uvicorn.Server(config).run(sockets=[listener])


def _checked_id(request_id: Any) -> str | None:
    if request_id is not None and not (isinstance(request_id, str) and len(request_id) <= 64):
        raise ValueError("A request_id must be a text of at most 64 characters.")
    return request_id


def _static(name: str) -> bytes:
    return (files("phaselabel.studio") / "static" / name).read_bytes()


def _bytes(content: bytes, kind: str, headers: dict[str, str] | None = None) -> Any:
    from starlette.responses import Response

    return Response(content, media_type=kind, headers=headers)


def _refused(status: int, reason: str) -> Any:
    from starlette.responses import JSONResponse

    return JSONResponse({"error": reason}, status)


async def _json_response(work: Callable[[], Any]) -> Any:
    from starlette.concurrency import run_in_threadpool
    from starlette.responses import JSONResponse

    try:
        return JSONResponse(await run_in_threadpool(work))
    except (ValueError, TypeError) as error:
        return _refused(400, str(error))
    except OSError as error:
        return _refused(507, str(error))
    except Exception as error:
        log.exception("a request failed")
        return _refused(500, f"the studio failed ({type(error).__name__}: {error}).")


async def _data(workspace: Workspace, name: str, options: dict[str, str]) -> Any:
    """Bytes: the picture, the segmentation, an item, the map."""
    from starlette.concurrency import run_in_threadpool

    if name not in workspace.data:
        return _refused(404, "There is no such data.")
    try:
        content, kind, version = await run_in_threadpool(workspace.data[name], **options)
    except (ValueError, TypeError, IndexError) as error:
        return _refused(400, str(error))
    return _bytes(content, kind, {"x-version": str(version)})


async def _file(work: Callable[[], bytes], kind: str, name: str) -> Any:
    from starlette.concurrency import run_in_threadpool

    try:
        content = await run_in_threadpool(work)
    except (ValueError, ImportError) as error:
        return _refused(400, str(error))
    except OSError as error:
        return _refused(507, f"{name} could not be written ({error}).")
    return _bytes(content, kind, {"content-disposition": f'attachment; filename="{name}"'})
