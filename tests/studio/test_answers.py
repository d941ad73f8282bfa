"""Classes, answers and remarks, one action after another."""

import pytest

from phaselabel.studio.answers import Answers
from phaselabel.studio.project import Action


def after(*actions, n=6, classes=("a", "b", "c"), known=None, ids=None):
    """The state after some (kind, body), each checked as a request is."""
    done = []
    for number, (kind, body) in enumerate(actions):
        entry = Answers.replay(done, n, classes, known or {}, ids).checked(kind, body)
        done.append(Action(number, kind, entry, f"2026-01-01T00:00:{number:02}Z"))
    return Answers.replay(done, n, classes, known or {}, ids)


def test_a_merged_class_gives_its_answers_away():
    answers = after(
        ("answer", {"rows": [0, 1], "class": 1}), ("answer", {"rows": [2], "class": 2}),
        ("merge", {"class": 1, "into": 2}),
    )  # fmt: skip
    assert answers.names == {2: "b", 3: "c"}
    assert answers.known == {0: 2, 1: 2, 2: 2}


def test_a_deleted_class_takes_its_answers_with_it_and_its_number_is_not_used_again():
    answers = after(
        ("answer", {"rows": [0], "class": 3}), ("answer", {"rows": [1], "class": 1}),
        ("delete", {"class": 3}), ("answer", {"rows": [4], "name": "new"}),
    )  # fmt: skip
    assert answers.names == {1: "a", 2: "b", 4: "new"}
    assert answers.known == {1: 1, 4: 4}
    assert 0 not in answers.answered_at


def test_labels_of_the_source_follow_renamed_merged_and_deleted_classes():
    known = {0: "a", 1: "b", 2: "c"}
    answers = after(
        ("rename", {"class": 1, "name": "A"}), ("merge", {"class": 2, "into": 1}), ("delete", {"class": 3}),
        known=known,
    )  # fmt: skip
    assert answers.names == {1: "A"}
    assert answers.known == {0: 1, 1: 1}
    # What would be made again at the next opening: nothing.
    assert [name for name in "abc" if name not in answers.first_names] == []


def test_colours_are_chosen_or_differ():
    assert after(("recolour", {"class": 2, "color": "#ABCDEF"})).colors[2] == "#abcdef"
    many = after(classes=[f"class {k}" for k in range(60)])
    assert len(set(many.colors.values())) == 60


def test_flags_and_notes_stay_with_their_items():
    answers = after(
        ("answer", {"rows": [0, 1], "class": 1}), ("flag", {"rows": [0], "flag": "unsure"}),
        ("flag", {"rows": [1, 2], "flag": "rejected"}), ("note", {"rows": [3], "note": " look again "}),
    )  # fmt: skip
    assert answers.flags == {0: "unsure", 1: "rejected", 2: "rejected"}
    assert answers.known == {0: 1}
    assert answers.notes == {3: "look again"}
    assert answers.answered_at == {0: "2026-01-01T00:00:00Z"}
    again = after(
        ("flag", {"rows": [1], "flag": "rejected"}), ("answer", {"rows": [1], "class": 1}),
        ("note", {"rows": [1], "note": "x"}), ("note", {"rows": [1], "note": ""}),
    )  # fmt: skip
    assert again.flags == again.notes == {}


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("merge", {"class": 1, "into": 1}),
        ("merge", {"class": 1}),
        ("delete", {"class": 9}),
        ("recolour", {"class": 1, "color": "red"}),
        ("recolour", {"class": 1}),
        ("flag", {"rows": [0], "flag": "nice"}),
        ("flag", {"rows": [99], "flag": "unsure"}),
        ("note", {"rows": [0], "note": 3}),
        ("note", {"rows": [0], "note": "x" * 2001}),
    ],
)
def test_what_makes_no_sense_is_refused(kind, body):
    with pytest.raises(ValueError):
        after((kind, body))


def test_evidence_is_trusted_when_it_guesses_as_well_as_the_graph():
    def judged(*contest):
        answers = Answers(3)
        answers.contest = list(contest)
        return answers.trust_evidence

    assert not judged()
    assert not judged(*[(False, True)] * 4)
    assert judged(*[(True, True)] * 5)
    assert not judged(*[(True, True)] * 9, (True, False))
    assert judged(*[(True, False)] * 50, *[(False, True)] * 20)  # the latest count
    journal = {"rows": [0, 1], "class": 1, "by_graph": [1, 2], "by_evidence": [2, None]}
    state = Answers.replay([Action(0, "answer", journal)], 3, ["a", "b"], {})
    assert state.contest == [(True, False), (False, False)]
