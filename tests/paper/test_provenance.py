import re
import shutil
import subprocess

import pytest

from phaselabel.paper import provenance


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A copy of the sources, outside any checkout."""
    for source in provenance.SOURCES:
        here, there = provenance.PACKAGE / source, tmp_path / "package" / source
        there.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(here, there) if here.is_dir() else shutil.copy(here, there)
    (tmp_path / "package" / "__init__.py").write_text('"""A package."""\n')
    monkeypatch.setattr(provenance, "PACKAGE", tmp_path / "package")
    return tmp_path / "package"


def test_words_do_not_change_the_digest_and_code_does(package):
    before = provenance.source_digest()
    file = package / "flow" / "minimize.py"
    text = file.read_text(encoding="utf-8")
    file.write_text("# A remark.\n" + text.replace('"""', '"""Other words. ', 1), encoding="utf-8")
    assert provenance.source_digest() == before
    file.write_text(text + "\nSTEP = 0.02\n", encoding="utf-8")
    assert provenance.source_digest() != before
    file.write_text(text, encoding="utf-8")
    kernels = package / "_kernels" / "flow.py"
    kernels.write_text(kernels.read_text(encoding="utf-8").replace("0.5", "0.51", 1), encoding="utf-8")
    assert provenance.source_digest() != before


def test_a_comment_sign_in_a_string_stays():
    assert provenance.code_of('a = "#1"  # one\n') == 'a = "#1"'


def test_the_commit_is_that_of_the_package_or_none(package, tmp_path):
    def git(*words):
        name = ["-c", "user.name=a", "-c", "user.email=a@b"]
        return subprocess.run(
            ["git", *name, *words], cwd=tmp_path, check=True, capture_output=True, text=True
        )

    assert provenance.commit() is None
    git("init", "-q")
    assert provenance.commit() is None  # the package is in a checkout, but not a part of it
    git("add", "package")
    git("commit", "-qm", "all")
    head = git("rev-parse", "HEAD").stdout.strip()
    assert provenance.commit() == head
    assert re.fullmatch("[0-9a-f]{40}", head)
    (package / "flow" / "minimize.py").write_text("pass\n")
    assert provenance.commit() == head + "+"
