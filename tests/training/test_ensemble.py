"""Teachers, their votes and a student: NumPy alone, and the same on every machine but for a vote or two."""

import subprocess
import sys

import numpy as np
import pytest

from dpviz.experiments.record import recorded
from dpviz.training import ensemble
from dpviz.training.ensemble import Digits, counted, digits, predicted, student, teacher_answers, votes_of, votes_text


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> Digits:
    """Five digits a teacher of 100."""
    whole = digits()
    small = whole._replace(private=whole.private[:500], private_labels=whole.private_labels[:500])
    monkeypatch.setattr(ensemble, "digits", lambda: small)
    return small


def test_parts_are_disjoint_and_the_student_is_tested_on_others() -> None:
    data = digits()
    assert [len(part) for part in (data.private, data.queries, data.test)] == [10_000, 1000, 1000]
    rows = {image.tobytes() for part in (data.private, data.queries, data.test) for image in part}
    assert len(rows) == 12_000


def test_a_record_moves_one_vote_of_a_query_at_most(few: Digits, monkeypatch: pytest.MonkeyPatch) -> None:
    """What all of the accounting rests on: a digit that is replaced reaches one teacher."""
    before = teacher_answers(100)
    images, labels = few.private.copy(), few.private_labels.copy()
    images[237], labels[237] = images[3], (labels[237] + 1) % 10
    monkeypatch.setattr(ensemble, "digits", lambda: few._replace(private=images, private_labels=labels))
    after = teacher_answers(100)
    assert np.flatnonzero((before != after).any(axis=1)).tolist() == [47]
    moved = counted(after) - counted(before)
    assert set(np.abs(moved).sum(axis=1)) == {0, 2}


def test_a_teacher_is_the_recorded_one() -> None:
    """One of 25 again: it voted as the record has it; and all votes are there."""
    data, votes = digits(), votes_of(recorded("teachers").of("25")[0].found["votes"])
    answers = predicted(data.private[:400], data.private_labels[:400], data.queries[:200])
    assert (votes[np.arange(200), answers] >= 1).mean() > 0.99
    assert 0.85 < (answers == data.query_labels[:200]).mean() < 0.95


@pytest.mark.parametrize("teachers", [25, 50, 100, 250])
def test_the_record_says_what_its_votes_say(teachers: int) -> None:
    found = recorded("teachers").of(str(teachers))[0].found
    votes, labels = votes_of(found["votes"]), digits().query_labels
    assert votes.shape == (1000, 10)
    assert (votes.sum(axis=1) == teachers).all()
    assert votes_text(votes) == found["votes"]
    assert (votes.argmax(axis=1) == labels).mean() == pytest.approx(found["votes_right"], abs=1e-4)
    assert votes[np.arange(1000), labels].mean() / teachers == pytest.approx(found["teachers_right"], abs=1e-4)


def test_a_student_learns_from_the_answers_it_got() -> None:
    labels = digits().query_labels[:300]
    some = np.arange(300) < 150
    whole, half = student(labels, np.ones(300, dtype=bool)), student(labels, some)
    assert (whole.answered, half.answered, whole.right) == (300, 150, 1.0)
    assert 0.6 < half.accuracy < whole.accuracy < 0.95
    assert student((labels + 1) % 10, some).accuracy < 0.1
    assert student(labels, np.zeros(300, dtype=bool)).answered == 0


def test_no_teacher_without_a_digit() -> None:
    with pytest.raises(ValueError, match=r"teachers=10001 in \[1, 10000\]"):
        teacher_answers(10_001)


def test_no_pytorch_is_loaded() -> None:
    script = "import sys, dpviz.training.ensemble as e; e.digits(); print('torch' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert (found.returncode, found.stdout.strip()) == (0, "False"), found.stderr
