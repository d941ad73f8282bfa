"""The studio's HTTP surface as subjects: requests go straight to the application, without a socket."""

import asyncio
import json
import random
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from campaign.mutations import EDGES, WORDS, hostile_json, json_bytes, mutated, mutated_json
from campaign.subjects import Subject, require

TOKEN = "t0ken-of-the-campaign"
#: Where the studio is; a request for another host is refused.
HOST = "127.0.0.1:8000"

BODIES: list[Any] = [
    {"kind": "class", "body": {"name": "sky"}, "request_id": "a"},
    {"kind": "stroke", "body": {"class": 1, "points": [[1, 1], [3, 3]], "width": 3, "tool": "brush"}},
    {"kind": "erase", "body": {"points": [[1, 1], [3, 3]], "width": 3}},
    {"kind": "rename", "body": {"class": 1, "name": "cow"}},
    {"kind": "undo"},
    {"kind": "redo"},
    {"kind": "answer", "body": {"rows": [0], "class": 1}},
    {"kind": "skip", "body": {"rows": [1]}},
    {"kind": "add", "body": {"layers": []}},
    {"kind": "recolour", "body": {"class": 1, "color": "#ff0000"}},
]


def subjects() -> list[Subject]:
    """All of them."""
    return [
        Subject("http drawing", _request, lambda data, folder: _answered("drawing", data, folder), 4),
        Subject("http answering", _request, lambda data, folder: _answered("answering", data, folder), 1),
        Subject("http backend", _task_request, _run_backend, 1),
    ]


def _request(rng: random.Random) -> bytes:
    """A request as JSON: method, path, query, headers, body (Latin-1) and whether the token is right."""
    right = rng.random() < 0.85
    token = TOKEN if right else rng.choice(("", TOKEN[:-1], f"{TOKEN}x", TOKEN.upper(), rng.choice(WORDS)))
    pages = (
        "",
        "actions",
        "actions",
        "actions",
        "import",
        "query/state",
        "query/grid",
        "query/items",
        "query/review",
        "data/picture",
        "data/segmentation",
        "data/item",
        "data/map",
        "data/colours",
        "export/strokes.json",
        "export/marks.png",
        "static/studio.js",
        "static/../server.py",
        "../x",
        "%2e%2e/x",
    )
    page = rng.choice(pages)
    if rng.random() < 0.1:
        page = mutated(rng, page.encode()).decode("latin-1")
    method = "POST" if page in ("actions", "import") else "GET"
    if rng.random() < 0.05:
        method = rng.choice(("GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "TRACE", "", "é"))
    body = json_bytes(mutated_json(rng, rng.choice(BODIES)) if rng.random() < 0.8 else hostile_json(rng))
    if rng.random() < 0.2:
        body = mutated(rng, body)
    query = "&".join(
        f"{rng.choice(('row', 'rows', 'n', 'class', 'since', 'size', 'offset', 'start', 'request_id'))}="
        f"{rng.choice((rng.choice(EDGES), -1, 0, 3, rng.choice(('a', '', '%00', '1e9', 'nan'))))}"
        for _ in range(rng.choice((0, 0, 1, 2)))
    )
    headers = {"host": HOST, "content-type": "application/json"}
    if rng.random() < 0.1:
        headers[rng.choice(("host", "origin", "content-length", "sec-fetch-site", "transfer-encoding"))] = (
            rng.choice((*WORDS, "http://evil.example", "cross-site", "-1", "99999999999", f"http://{HOST}"))
        )
    document = {
        "method": method,
        "path": f"/{token}/{page}",
        "query": query,
        "headers": headers,
        "body": body.decode("latin-1"),
        "right": right,
    }
    return json.dumps(document).encode()


CONFIG = (
    '<View><Text name="t" value="$body"/><Choices name="topic" toName="t"><Choice value="a"/>'
    '<Choice value="b"/></Choices></View>'
)


def _task_request(rng: random.Random) -> bytes:
    """What Label Studio sends to the backend, changed: the path and the body as JSON."""
    chosen = [{"result": [{"from_name": "topic", "value": {"choices": [rng.choice("ab")]}}]}]
    tasks = [
        {
            "id": row,
            "data": {"body": rng.choice(("cat sea", "dog ship", "the cat", ""))},
            "annotations": chosen,
        }
        for row in range(rng.choice((1, 9)))
    ]
    for task in tasks[4:]:
        del task["annotations"]
    project = {"id": rng.choice((1, 2)), "label_config": CONFIG}
    path, body = rng.choice(
        (
            ("/predict", {"project": f"{project['id']}.17", "label_config": CONFIG, "tasks": tasks}),
            ("/setup", {"schema": CONFIG}),
            (
                "/webhook",
                {
                    "action": "ANNOTATION_CREATED",
                    "project": project,
                    "task": tasks[0],
                    "annotation": chosen[0],
                },
            ),
        )
    )
    changed = mutated_json(rng, body) if rng.random() < 0.8 else body
    content = json_bytes(changed)
    content = mutated(rng, content) if rng.random() < 0.2 else content
    return json.dumps({"path": path, "body": content.decode("latin-1")}).encode()


@cache
def _backend(folder: Path) -> Any:
    from phaselabel.studio.label_studio import Backend, make_app

    path = folder / "tasks.sqlite"
    path.unlink(missing_ok=True)
    return make_app(Backend(path))


def _run_backend(data: bytes, folder: Path) -> None:
    request = _read_request(data, {"method": "POST", "query": "", "headers": {"host": HOST}})
    with ThreadPoolExecutor(1) as thread:
        status, _, body = thread.submit(asyncio.run, _ask(_backend(folder), request)).result()
    require(status < 500, f"status {status}: {body[:200]!r}")
    json.loads(body) if request["path"] in ("/predict", "/setup", "/webhook") else None
    if status >= 400:
        raise ValueError(body.decode("utf-8", "replace")[:300] or f"status {status}")


@cache
def _application(mode: str, folder: Path) -> tuple[Any, Any]:
    from phaselabel.studio.answering import AnsweringWorkspace
    from phaselabel.studio.drawing import DrawingWorkspace
    from phaselabel.studio.items import read_items
    from phaselabel.studio.project import Project
    from phaselabel.studio.server import EventBroadcaster, application

    rng = np.random.default_rng(0)
    path = folder / f"{mode}.studio"
    path.unlink(missing_ok=True)
    if mode == "drawing":
        image = rng.integers(0, 255, (12, 14, 3), dtype=np.uint8)
        workspace: Any = DrawingWorkspace(image, "p.png", Project(path, {}))
    else:
        np.save(folder / "items.npy", rng.normal(size=(20, 3)))
        workspace = AnsweringWorkspace(
            read_items(folder / "items.npy"), Project(path, {}), classes=["a", "b"]
        )
        workspace.prepare()
    events = EventBroadcaster()
    return application(workspace, events, TOKEN), workspace


def _answered(mode: str, data: bytes, folder: Path) -> None:
    request = _read_request(data)
    app, workspace = _application(mode, folder)
    if workspace.project.version > 3000:  # every action is replayed from the journal
        workspace.close()
        _application.cache_clear()
        app, workspace = _application(mode, folder)
    # In a thread of its own: after tests in a browser this one has an event loop that runs.
    with ThreadPoolExecutor(1) as thread:
        status, headers, body = thread.submit(asyncio.run, _ask(app, request)).result()
    require(status < 500, f"status {status}: {body[:200]!r}")
    require(b"content-security-policy" in headers, "the page is not isolated")
    given = request["path"].split("/")[1] if "/" in request["path"] else ""
    if given != TOKEN:
        require(status == 403, f"status {status} without the token")
        require(TOKEN.encode() not in body, "the token is shown")
    if status == 200 and request["path"].endswith("actions"):
        json.loads(body)


def _read_request(data: bytes, usual: dict[str, Any] | None = None) -> dict[str, Any]:
    """The request; what is none, or could not come over a socket, is refused here."""
    try:
        request = (usual or {}) | json.loads(data)
        texts = [
            *(request[name] for name in ("method", "path", "query", "body")),
            *request["headers"].values(),
        ]
        sound = all(isinstance(text, str) for text in texts) and request["path"].startswith("/")
        request["body"].encode("latin-1")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        sound = False
    if not sound:
        raise ValueError("This is no request.")
    return dict(request)


async def _ask(app: Any, request: dict[str, Any]) -> tuple[int, dict[bytes, bytes], bytes]:
    body = request["body"].encode("latin-1")
    headers = [
        (k.encode("latin-1", "replace"), v.encode("latin-1", "replace"))
        for k, v in request["headers"].items()
    ]
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": request["method"],
        "scheme": "http",
        "path": request["path"],
        "raw_path": request["path"].encode("utf-8", "replace"),
        "root_path": "",
        "query_string": request["query"].encode("latin-1", "replace"),
        "headers": headers,
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 8000),
    }
    sent: list[Any] = []
    given = iter([{"type": "http.request", "body": body, "more_body": False}])

    async def receive() -> Any:
        return next(given, {"type": "http.disconnect"})

    async def send(message: Any) -> None:
        sent.append(message)

    await asyncio.wait_for(app(scope, receive, send), 30)
    require(sent and sent[0]["type"] == "http.response.start", "there was no answer")
    content = b"".join(message.get("body", b"") for message in sent[1:])
    return sent[0]["status"], dict(sent[0]["headers"]), content
