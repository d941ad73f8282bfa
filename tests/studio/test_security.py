"""Who is let in: the page that was opened with the token, on this machine, with requests of a sane size."""

import asyncio
import http.client
import io
import json
import select
import socket
import struct
import zlib
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from PIL import Image

from driving import PATIENCE
from phaselabel.studio.security import MAX_BODY, RequestFilter


@pytest.fixture(scope="module")
def small_studio(tmp_path_factory):
    from driving import Studio

    folder = tmp_path_factory.mktemp("guards")
    Image.fromarray(np.random.default_rng(0).integers(0, 255, (30, 40, 3), dtype=np.uint8)).save(
        folder / "p.png"
    )
    found = Studio(folder, "p.png")
    yield found
    found.kill()


def request(studio, path, method="GET", body=None, token=None, **headers):
    connection = http.client.HTTPConnection(studio.host, timeout=PATIENCE / 1000)
    token = studio.token if token is None else token
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, f"/{token}/{path}", body, headers)
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    return answer.status, content, dict(answer.getheaders())


PATHS = ["", "query/state", "static/studio.js", "data/picture", "export/strokes.json", "events"]


def test_with_the_token_everything_is_served(small_studio):
    for path in PATHS[:-1]:
        status, _, headers = request(small_studio, path)
        assert status == 200, path
        assert "default-src 'none'" in headers["content-security-policy"]
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("token", ["", "wrong", "x" * 32, "%2e%2e"])
def test_without_the_token_nothing_is(small_studio, path, token):
    status, content, _ = request(small_studio, path, token=token)
    assert status == 403
    assert small_studio.token.encode() not in content


def test_the_token_must_be_whole(small_studio):
    assert request(small_studio, "", token=small_studio.token[:-1])[0] == 403
    assert request(small_studio, "", token=small_studio.token + "a")[0] == 403


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "", "192.168.0.7"]
)
def test_a_foreign_host_is_refused(small_studio, host):
    assert request(small_studio, "query/state", Host=host)[0] == 403


def test_names_of_this_machine_are_fine(small_studio):
    port = small_studio.host.split(":")[1]
    for host in (f"localhost:{port}", f"127.0.0.1:{port}"):
        assert request(small_studio, "query/state", Host=host)[0] == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1", "http://127.0.0.1:1"])
def test_a_foreign_origin_is_refused(small_studio, origin):
    body = json.dumps({"kind": "class", "body": {"name": "x"}})
    assert request(small_studio, "actions", "POST", body, Origin=origin)[0] == 403
    assert request(small_studio, "query/state", Origin=origin)[0] == 403


def test_requests_of_other_sites_are_refused_even_without_an_origin(small_studio):
    fetched = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "no-cors"}
    assert request(small_studio, "data/picture", **fetched)[0] == 403
    clicked = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate"}
    assert request(small_studio, "", **clicked)[0] == 200


@pytest.mark.parametrize(
    "path",
    [
        "static/../project.py", "static/..%2fproject.py", "static/%2e%2e/project.py", "static//etc/passwd",
        "export/../../p.png", "export/..%2f..%2fp.png", "export/p.png", "data/../p.png",
        "data/%2fetc%2fpasswd", "ask/__init__", "data/__class__", "export/strokes.json%00.png",
    ],
)  # fmt: skip
def test_a_path_in_a_name_is_refused(small_studio, path):
    assert request(small_studio, path)[0] == 404


def raw(studio, head, pieces=()):
    """Send a head and then pieces until the server answers; what it answered."""
    host, port = studio.host.split(":")
    with socket.create_connection((host, int(port)), timeout=PATIENCE / 1000) as line:
        line.sendall(head.encode())
        sent = 0
        try:
            for piece in pieces:
                line.sendall(piece)
                sent += len(piece)
                if select.select([line], [], [], 0)[0]:
                    break
        except (BrokenPipeError, ConnectionResetError):
            pass  # what it answered before can still be read
        return line.recv(4096).decode("latin-1"), sent


def head_of(studio, header):
    return f"POST /{studio.token}/import HTTP/1.1\r\nHost: {studio.host}\r\n{header}\r\n\r\n"


def test_two_gigabytes_are_refused_before_they_are_sent(small_studio):
    head = head_of(small_studio, f"Content-Length: {2 * 2**30}")
    answer, _ = raw(small_studio, head)
    assert answer.startswith("HTTP/1.1 413")
    assert request(small_studio, "query/state")[0] == 200


def test_a_body_that_lies_about_its_length_is_cut_off(small_studio):
    head = head_of(small_studio, "Transfer-Encoding: chunked")
    piece = b"100000\r\n" + bytes(2**20) + b"\r\n"
    answer, sent = raw(small_studio, head, (piece for _ in range(2048)))
    assert sent < 4 * MAX_BODY
    assert answer.startswith("HTTP/1.1 413")
    assert request(small_studio, "query/state")[0] == 200


def bomb(side):
    """A PNG of side × side pixels in a few kilobytes of bytes."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)
    packer = zlib.compressobj(9)
    rows = b"".join(packer.compress(bytes(1 << 20)) for _ in range(64)) + packer.flush()
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def test_a_bomb_of_an_image_is_refused(small_studio, command, tmp_path):
    for side in (12_000, 60_000):
        status, content, _ = request(small_studio, "import", "POST", bomb(side))
        assert status == 400, content
    for side in (12_000, 60_000):
        (tmp_path / "bomb.png").write_bytes(bomb(side))
        done = command("studio", "bomb.png", "--no-browser")
        assert done.returncode == 1
        assert "pixels" in done.stderr or "too large" in done.stderr
    assert request(small_studio, "query/state")[0] == 200


NONSENSE = [b"", b"nonsense", b"[]", b'{"kind": 3}', b'{"kind": "class", "body": 3}', b"[" * 100_000]


@pytest.mark.parametrize("body", [*NONSENSE, b'{"kind": "undo", "request_id": 7}'])
def test_nonsense_gets_a_sentence(small_studio, body):
    status, content, _ = request(small_studio, "actions", "POST", body)
    assert status == 400
    assert json.loads(content)["error"]


def test_other_methods_are_refused(small_studio):
    assert request(small_studio, "actions")[0] == 405
    assert request(small_studio, "query/state", "DELETE")[0] == 405


def test_an_upload_that_is_a_picture_of_another_size_is_refused(small_studio):
    file = io.BytesIO()
    Image.new("L", (7, 7)).save(file, format="PNG")
    status, content, _ = request(small_studio, "import", "POST", file.getvalue())
    assert status == 400
    assert b"same" in content


def test_opening_it_up_says_what_that_means(studio, tmp_path):
    Image.new("RGB", (20, 20)).save(tmp_path / "q.png")
    opened = studio("q.png", "--host", "0.0.0.0")
    port = opened.host.split(":")[1]
    opened.host = f"127.0.0.1:{port}"
    assert request(opened, "query/state", Host="evil.example")[0] == 403
    assert request(opened, "query/state", Host=f"192.168.0.7:{port}")[0] == 200
    opened.process.kill()
    words = opened.process.stderr.read()
    assert "lets other machines in" in words
    assert "not encrypted" in words


def test_sources_that_cannot_be_opened(command, tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "bad.npz").write_bytes(b"PK no")
    for source, words in (
        ("nothing.png", "no file or folder"),
        ("empty", "no pictures"),
        ("bad.npz", "NumPy file without pickled"),
    ):
        done = command("studio", source, "--no-browser")
        assert done.returncode == 1
        assert words in done.stderr
        assert "Traceback" not in done.stderr


def test_each_of_several_people_has_a_token():
    seen, sent = [], []

    async def app(scope, receive, send):
        seen.append((scope["path"], scope["state"]["person"]))

    async def send(message):
        sent.append(message.get("status"))

    request = RequestFilter(app, {"one": "Ada", "two": "Ben"})
    thread = ThreadPoolExecutor(1)  # the browser of other tests may keep a loop running in this one
    for path in ("/one/query/state", "/two/", "/three/", "/on/", "/oneone/"):
        scope = {
            "type": "http",
            "path": path,
            "raw_path": path.encode(),
            "headers": [(b"host", b"localhost:1")],
        }
        thread.submit(asyncio.run, request(scope, None, send)).result()
    assert seen == [("/query/state", "Ada"), ("/", "Ben")]
    assert sent == [403, None] * 3
