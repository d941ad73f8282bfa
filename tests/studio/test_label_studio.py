import sqlite3
from contextlib import closing

import pytest
from starlette.testclient import TestClient

from phaselabel.studio.label_studio import Backend, make_app, read_config

CONFIG = """<View><Text name="text" value="$body"/><Choices name="topic" toName="text" choice="single">
<Choice value="fruit"/><Choice value="tools"/></Choices></View>"""
WORDS = {"fruit": "apple pear plum fig", "tools": "bolt nut screw gear"}


def task(k):
    kind = ["fruit", "tools"][k % 2]
    words = WORDS[kind].split()
    return {
        "id": k,
        "data": {"body": " ".join([words[k // 2 % 4], words[k // 3 % 4], words[(k // 2 + 1) % 4]])},
    }


def annotation(kind):
    value = {"choices": [kind]}
    return {"result": [{"from_name": "topic", "to_name": "text", "type": "choices", "value": value}]}


@pytest.fixture
def client(tmp_path):
    return TestClient(make_app(Backend(tmp_path / "tasks.sqlite")))


def event(client, action, k, kind):
    project = {"id": 7, "label_config": CONFIG}
    data = {"action": action, "project": project, "task": task(k), "annotation": annotation(kind)}
    return client.post("/webhook", json=data)


def predictions(client, tasks):
    data = {"tasks": tasks, "project": "7.1700000000", "label_config": CONFIG, "params": {"context": {}}}
    answer = client.post("/predict", json=data)
    assert answer.status_code == 200
    return answer.json()["results"]


def test_annotations_become_predictions_in_its_format(client):
    assert client.get("/health").json()["status"] == "UP"
    setup = {"project": "7.1700000000", "schema": CONFIG, "hostname": "", "access_token": ""}
    assert "model_version" in client.post("/setup", json=setup).json()
    tasks = [task(k) for k in range(24)]
    assert all(one["result"] == [] for one in predictions(client, tasks))
    for k in range(8):
        assert event(client, "ANNOTATION_CREATED", k, ["fruit", "tools"][k % 2]).status_code == 201
    found = predictions(client, tasks)
    assert [one["result"][0]["value"]["choices"][0] for one in found] == ["fruit", "tools"] * 12
    assert all(0 <= one["score"] <= 1 for one in found)
    assert found[0]["model_version"] == "phaselabel-8"
    event(client, "ANNOTATION_DELETED", 0, "fruit")
    assert predictions(client, tasks[:1])[0]["model_version"] == "phaselabel-7"
    assert event(client, "PROJECT_UPDATED", 0, "fruit").status_code == 200


def test_annotations_that_tasks_bring_along_count(client):
    tasks = [task(k) for k in range(24)]
    for k in range(8):
        tasks[k]["annotations"] = [annotation("tools"), annotation(["fruit", "tools"][k % 2])]
    tasks[8]["annotations"] = [annotation("tools") | {"was_cancelled": True}]
    found = predictions(client, tasks)
    assert found[0]["model_version"] == "phaselabel-8"
    assert [one["result"][0]["value"]["choices"][0] for one in found] == ["fruit", "tools"] * 12
    assert predictions(client, [task(0)])[0]["model_version"] == "phaselabel-8"


def test_a_training_brings_all_annotations(client):
    tasks = [task(k) | {"annotations": [annotation(["fruit", "tools"][k % 2])]} for k in range(8)]
    data = {"annotations": tasks, "project": "7.1700000000", "label_config": CONFIG, "params": {}}
    assert client.post("/train", json=data).status_code == 201
    found = predictions(client, [task(k) for k in range(8, 24)])
    assert found[0]["model_version"] == "phaselabel-8"
    assert [one["result"][0]["value"]["choices"][0] for one in found] == ["fruit", "tools"] * 8
    # Newer versions send this instead; the annotations have come in events of their own.
    assert client.post("/webhook", json={"action": "START_TRAINING", "project": {"id": 7}}).status_code == 200


def test_predictions_are_valid_for_its_own_library(client):
    interface = pytest.importorskip("label_studio_sdk.label_interface")
    objects = pytest.importorskip("label_studio_sdk.label_interface.objects")
    for k in range(8):
        event(client, "ANNOTATION_CREATED", k, ["fruit", "tools"][k % 2])
    for one in predictions(client, [task(k) for k in range(12)]):
        assert objects.PredictionValue(**one).result
        assert interface.LabelInterface(CONFIG).validate_prediction(one)


def test_what_cannot_be_answered_is_refused_in_a_sentence(client):
    for config, words in (
        ("<View><Image name='i' value='$i'/></View>", "single Choices about a Text"),
        ("<View", "not XML"),
        ("<!DOCTYPE x [<!ENTITY a 'b'>]><View/>", "declares entities"),
    ):
        answer = client.post("/setup", json={"project": "7", "schema": config})
        assert answer.status_code == 400
        assert words in answer.json()["error"]
        with pytest.raises(ValueError, match=words):
            read_config(config)


def test_hostile_requests_are_refused(client, monkeypatch):
    page = client.post("/webhook", json={}, headers={"Origin": "http://evil.example"})
    assert (page.status_code, page.json()["error"]) == (400, "Requests of web pages are refused.")
    for body in ([], "a", {"tasks": [5], "label_config": CONFIG}, {"tasks": 5, "label_config": CONFIG}):
        assert client.post("/predict", json=body).status_code == 400
    assert client.post("/train", json={"annotations": [5], "label_config": CONFIG}).status_code == 400
    for data in ({"action": "ANNOTATION_CREATED", "project": 5}, {"action": "ANNOTATION_CREATED"}):
        assert client.post("/webhook", json=data).status_code == 400
    assert client.post("/setup", content=b"[" * 100_000).status_code == 400
    monkeypatch.setattr("phaselabel.studio.label_studio.MAX_BODY", 10)
    assert "may have" in client.post("/setup", content=b" " * 11).json()["error"]


def test_a_foreign_file_is_not_written_to(tmp_path):
    (tmp_path / "thesis.txt").write_text("three years " * 100)
    with closing(sqlite3.connect(tmp_path / "places.sqlite")) as file, file:
        file.execute("create table places (url text)")
    for name in ("thesis.txt", "places.sqlite"):
        kept = (tmp_path / name).read_bytes()
        with pytest.raises(ValueError, match=f"{name} is no file of annotations"):
            Backend(tmp_path / name)
        assert (tmp_path / name).read_bytes() == kept
