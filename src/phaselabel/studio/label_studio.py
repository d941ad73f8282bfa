"""Label Studio's tasks and annotations in, predictions in its format out, for texts.

Label Studio calls ``/setup``, ``/predict`` and ``/webhook``. Annotations are on disk before they are
confirmed.
"""

import json
import logging
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import numpy as np

from phaselabel.studio.security import MAX_BODY

#: The most characters of a labelling configuration.
LARGEST_CONFIG = 100_000
#: The events that change the labels.
EVENTS = ("ANNOTATION_CREATED", "ANNOTATION_UPDATED", "ANNOTATION_DELETED")
#: Fewer tasks than this, known and unknown, are not labelled: there is no graph to speak of.
FEWEST_TASKS = 8

#: What a request that is not as Label Studio sends it may raise.
WRONG = (ValueError, KeyError, TypeError, AttributeError, RecursionError)

logger = logging.getLogger(__name__)


class Question(NamedTuple):
    """What a labelling configuration asks: the tags of choice and text, its field, the classes."""

    choice: str
    text: str
    field: str
    classes: list[str]


def read_config(config: str) -> Question:
    """Find the question in a labelling configuration.

    Parameters
    ----------
    config : str
        The XML of a project with ``Text`` and ``Choices``.

    Returns
    -------
    Question
        The first ``Choices`` about a ``Text``.

    Examples
    --------
    >>> read_config('<View><Text name="t" value="$body"/><Choices name="topic" toName="t">'
    ...             '<Choice value="a"/><Choice value="b"/></Choices></View>')
    Question(choice='topic', text='t', field='body', classes=['a', 'b'])
    """
    if len(config) > LARGEST_CONFIG or "<!" in config.replace("<!--", ""):
        raise ValueError("The labelling configuration is too long or declares entities; it is not read.")
    try:
        root = ElementTree.fromstring(config)
    except ElementTree.ParseError as error:
        raise ValueError(f"The labelling configuration is not XML ({error}).") from None
    texts = {tag.get("name"): tag.get("value", "") for tag in root.iter("Text")}
    for choices in root.iter("Choices"):
        about = choices.get("toName")
        if about in texts and choices.get("choice", "single") == "single":
            classes = [tag.get("value", "") for tag in choices.iter("Choice")]
            return Question(choices.get("name", ""), str(about), texts[about].lstrip("$"), classes)
    raise ValueError(
        "The labelling configuration must have single Choices about a Text; others are not answered."
    )


class Backend:
    """Answers for all projects of a Label Studio.

    Parameters
    ----------
    path : Path
        The file with the tasks and the annotations.
    embed : str, default=""
        The sentence model; TF-IDF if empty.
    """

    def __init__(self, path: Path, embed: str = "") -> None:
        self._path, self._embed = path, embed
        with closing(self._open()):
            pass

    def predict(self, project: str, config: str, tasks: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """A prediction for every task, with an empty result while fewer than two classes have a label.

        Parameters
        ----------
        project : str
            Names the project.
        config : str
            Its labelling configuration.
        tasks : list of dict
            Tasks with ``id`` and ``data``. Annotations that a task brings along are kept: those from before
            the backend was connected arrive in no event.

        Returns
        -------
        list of dict
            Predictions as Label Studio reads them.
        """
        question = read_config(config)
        rows = self._keep(project, question, tasks)
        with closing(self._open()) as file, file:
            known = file.execute(
                "select task, text, label from tasks where project = ?", [project]
            ).fetchall()
        place = {task: k for k, (task, _, _) in enumerate(known)}
        labels = np.array([label for _, _, label in known], object)
        version = f"phaselabel-{sum(label is not None for label in labels)}"
        nothing = {"result": [], "score": 0.0, "model_version": version}
        if len({label for label in labels if label is not None}) < 2 or len(known) < FEWEST_TASKS:
            return [nothing for _ in rows]
        found, confidence = self._labelled([text for _, text, _ in known], labels)
        places = [place[task] for task in rows]
        return [_prediction(question, found[k], float(confidence[k]), version) for k in places]

    def train(self, project: str, config: str, tasks: list[dict[str, Any]]) -> None:
        """Keep tasks with their annotations, which Label Studio sends when somebody starts a training.

        Parameters
        ----------
        project : str
            Names the project.
        config : str
            Its labelling configuration.
        tasks : list of dict
            Tasks with ``id``, ``data`` and ``annotations``.
        """
        self._keep(project, read_config(config), tasks)

    def _keep(self, project: str, question: Question, tasks: list[dict[str, Any]]) -> list[str]:
        """Keep tasks, and the annotations that they bring along; return the names of the tasks."""
        rows = [
            (
                project, str(task["id"]), str(task.get("data", {}).get(question.field) or ""),
                _brought(question, task),
            )
            for task in tasks
        ]  # fmt: skip
        with closing(self._open()) as file, file:
            file.executemany(
                "insert into tasks values (?, ?, ?, ?) on conflict (project, task) do update "
                "set text = excluded.text, label = coalesce(excluded.label, label)",
                rows,
            )
        return [task for _, task, _, _ in rows]

    def learn(self, event: str, data: dict[str, Any]) -> None:
        """Keep what an event of Label Studio says.

        Parameters
        ----------
        event : str
            One of ``EVENTS``; others change nothing.
        data : dict
            The event, with ``project``, ``task`` and ``annotation``.
        """
        if event not in EVENTS:
            return
        question = read_config(data["project"]["label_config"])
        label = (
            None if event == "ANNOTATION_DELETED" else _chosen(question, data["annotation"].get("result", []))
        )
        task = data["task"]
        text = str(task.get("data", {}).get(question.field) or "")
        with closing(self._open()) as file, file:
            file.execute(
                "insert or replace into tasks values (?, ?, ?, ?)",
                [str(data["project"]["id"]), str(task["id"]), text, label],
            )

    def _labelled(self, texts: list[str], labels: Any) -> tuple[Any, Any]:
        import pyarrow as pa

        from phaselabel.estimators.classifier import GinzburgLandauClassifier
        from phaselabel.io.tables import Recipe
        from phaselabel.io.tables.in_memory import MemoryTable

        recipe = Recipe({"text": "text"}, embed=self._embed)
        X = recipe.fit_transform(MemoryTable(Path("tasks.arrow"), {"text": pa.array(texts)}, ["text"]))
        model = GinzburgLandauClassifier(unlabeled=None).fit(X, labels)
        return model.transduction_, model.confidence_

    def _open(self) -> sqlite3.Connection:
        file = sqlite3.connect(self._path, timeout=60)
        try:
            found = [name for (name,) in file.execute("select name from sqlite_master where type = 'table'")]
            if found not in ([], ["tasks"]):
                raise sqlite3.DatabaseError("it has other tables")
            file.execute(
                "create table if not exists tasks (project text, task text, text text, label text, "
                "primary key (project, task))"
            )
        except sqlite3.DatabaseError as error:
            file.close()
            raise ValueError(
                f"{self._path} is no file of annotations ({error}); name another one with --project."
            ) from None
        return file


def make_app(backend: Backend) -> Any:
    """The server, as an ASGI application, with the addresses that Label Studio calls."""
    try:
        from starlette.applications import Starlette
        from starlette.concurrency import run_in_threadpool
        from starlette.requests import Request
        from starlette.responses import JSONResponse
        from starlette.routing import Route
    except ImportError:
        raise ImportError(
            "The backend needs starlette; install it with: pip install 'phaselabel[studio]'"
        ) from None

    async def health(request: Request) -> Any:
        return JSONResponse({"status": "UP", "model_class": "phaselabel"})

    async def setup(request: Request) -> Any:
        data = await _body_of(request)
        read_config(str(data.get("schema", "")))
        return JSONResponse({"model_version": "phaselabel"})

    async def predict(request: Request) -> Any:
        given = await _tasks_of(request, "tasks")
        return JSONResponse({"results": await run_in_threadpool(backend.predict, *given)})

    async def train(request: Request) -> Any:
        await run_in_threadpool(backend.train, *await _tasks_of(request, "annotations"))
        return JSONResponse({}, 201)

    async def webhook(request: Request) -> Any:
        data = await _body_of(request)
        event = str(data.get("action", ""))
        await run_in_threadpool(backend.learn, event, data)
        return JSONResponse({"result": {}, "status": "ok"}, 201 if event in EVENTS else 200)

    async def refused(request: Request, error: Exception) -> Any:
        logger.warning("%s: %s", request.url.path, error)
        words = str(error) if isinstance(error, ValueError) else f"The request is not complete ({error})."
        return JSONResponse({"error": words, "status": "error"}, 400)

    routes = [
        Route("/", health), Route("/health", health), Route("/setup", setup, methods=["POST"]),
        Route("/predict", predict, methods=["POST"]), Route("/train", train, methods=["POST"]),
        Route("/webhook", webhook, methods=["POST"]),
    ]  # fmt: skip
    return Starlette(routes=routes, exception_handlers=dict.fromkeys(WRONG, refused))


async def _body_of(request: Any) -> dict[str, Any]:
    """The object that Label Studio sends; what a page in a browser sends has an origin."""
    if "origin" in request.headers:
        raise ValueError("Requests of web pages are refused.")
    data = bytearray()
    async for part in request.stream():
        data += part
        if len(data) > MAX_BODY:
            raise ValueError(f"A request may have {MAX_BODY >> 20} MB.")
    found = json.loads(data)
    if not isinstance(found, dict):
        raise ValueError("A request must be a JSON object.")
    return found


async def _tasks_of(request: Any, key: str) -> tuple[str, str, Any]:
    """Project, configuration and tasks of a request."""
    data = await _body_of(request)
    project = str(data.get("project") or "").split(".", 1)[0]
    return project, str(data.get("label_config", "")), data.get(key) or []


def _prediction(question: Question, label: Any, confidence: float, version: str) -> dict[str, Any]:
    """One prediction; without a result where no label reaches."""
    if label is None:
        return {"result": [], "score": 0.0, "model_version": version}
    value = {
        "from_name": question.choice, "to_name": question.text, "type": "choices",
        "value": {"choices": [str(label)]}, "score": confidence,
    }  # fmt: skip
    return {"result": [value], "score": confidence, "model_version": version}


def _brought(question: Question, task: dict[str, Any]) -> str | None:
    """The class of the last annotation that a task brings along, or None."""
    made = [one for one in task.get("annotations") or [] if not one.get("was_cancelled")]
    return _chosen(question, made[-1].get("result") or []) if made else None


def _chosen(question: Question, results: list[dict[str, Any]]) -> str | None:
    """The class that an annotation chose, or None."""
    for result in results:
        choices = result.get("value", {}).get("choices", [])
        if result.get("from_name") == question.choice and choices:
            return str(choices[0])
    return None
