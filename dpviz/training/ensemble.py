"""Teachers on disjoint parts of the shipped digits, their votes, and a student that learns from answers: NumPy alone.

Teachers and student are kernel ridge regression on pixels: K = exp(−|x − x′|²/(2w²)), one solved system, no chance in
it. Width and ridge were chosen by trial on the same digits, once, for all sizes: a demonstration claims no ε for that.

The 10,000 training digits are the private data, dealt out to the teachers in their order, so that a digit that is
replaced reaches one teacher. Of the 2,000 test digits the first 1,000, without labels, are the public queries, and on
the other 1,000 the student is tested.
"""

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dpviz.training.data.formats import mnist_subset
from dpviz.training.progress import advance, task
from dpviz.training.words import refusal

Pixels = npt.NDArray[np.float32]
Labels = npt.NDArray[np.int64]

QUERIES = 1000
CLASSES = 10
WIDTH, RIDGE = 6.0, 0.01


class Digits(NamedTuple):
    """Pixels (…, 784) in [0, 1], and labels, of the private digits, the queries and the student's test."""

    private: Pixels
    private_labels: Labels
    queries: Pixels
    query_labels: Labels
    test: Pixels
    test_labels: Labels


@lru_cache(maxsize=1)
def digits() -> Digits:
    """The shipped digits in their three parts."""
    whole = mnist_subset()
    private, public = (
        images.reshape(len(images), -1).astype(np.float32) / np.float32(255.0)
        for images in (whole.train_images, whole.test_images)
    )
    train_labels, labels = whole.train_labels.astype(np.int64), whole.test_labels.astype(np.int64)
    return Digits(private, train_labels, public[:QUERIES], labels[:QUERIES], public[QUERIES:], labels[QUERIES:])


def predicted(images: Pixels, labels: Labels, asked: Pixels) -> Labels:
    """What a model of these images and labels says of other images: (asked,)."""
    kernel = _kernel(images, images)
    kernel[np.diag_indices(len(images))] += np.float32(RIDGE)
    targets = np.eye(CLASSES, dtype=np.float32)[labels] - np.float32(1.0 / CLASSES)
    scores = _kernel(asked, images) @ np.linalg.solve(kernel, targets)
    return np.asarray(scores.argmax(axis=1), dtype=np.int64)


def _kernel(x: Pixels, y: Pixels) -> Pixels:
    apart = np.einsum("ij,ij->i", x, x)[:, None] + np.einsum("ij,ij->i", y, y) - 2.0 * (x @ y.T)
    return np.asarray(np.exp(apart / np.float32(-2.0 * WIDTH**2)), dtype=np.float32)


def teacher_answers(teachers: int) -> Labels:
    """What each teacher says of each query: (teachers, queries)."""
    data = digits()
    if not 1 <= teachers <= len(data.private):
        raise refusal("teachers", teachers=teachers, most=len(data.private))
    answers = []
    parts = np.array_split(np.arange(len(data.private)), teachers)
    with task("training", "teachers", teachers):
        for part in parts:
            answers.append(predicted(data.private[part], data.private_labels[part], data.queries))
            advance()
    return np.array(answers)


def counted(answers: Labels) -> Labels:
    """How many teachers voted for each class: (queries, classes)."""
    return np.asarray((answers[:, :, None] == np.arange(CLASSES)).sum(axis=0), dtype=np.int64)


def votes_text(votes: npt.ArrayLike) -> str:
    """Votes (queries, classes) in little room: queries with spaces between, counts with dots, and no digit for 0.

    >>> votes_text([[25, 0, 0], [1, 0, 24]])
    '25.. 1..24'
    """
    return " ".join(".".join(str(count or "") for count in query) for query in np.asarray(votes).tolist())


def votes_of(text: str) -> Labels:
    """From `votes_text`: (queries, classes)."""
    return np.array([[int(count or 0) for count in query.split(".")] for query in text.split(" ")], dtype=np.int64)


def measure(settings: dict[str, Any], seed: int) -> dict[str, Any]:
    """The votes of so many teachers; nothing here is drawn, so that all seeds give the same.

    Returns:
        "votes": as `votes_text` writes them; "teachers_right", "votes_right": the share of right answers of a teacher,
        in the mean, and of the most votes.
    """
    answers = teacher_answers(settings["teachers"])
    votes, labels = counted(answers), digits().query_labels
    return {
        "votes": votes_text(votes),
        "teachers_right": round(float((answers == labels).mean()), 4),
        "votes_right": round(float((votes.argmax(axis=1) == labels).mean()), 4),
    }


class StudentResult(NamedTuple):
    """A student.

    Attributes:
        answered: How many of the queries were answered.
        right: The share of those answers that are right; NaN where there are none.
        accuracy: The student's, on test digits; NaN where it got no answer.
    """

    answered: int
    right: float
    accuracy: float


def student(labels: Labels, answered: npt.NDArray[np.bool_]) -> StudentResult:
    """Learns from the answers to the first queries: `labels` and whether each was `answered`, (queries asked,)."""
    data = digits()
    if not answered.any():
        return StudentResult(0, float("nan"), float("nan"))
    asked = data.queries[: len(labels)][answered]
    predictions = predicted(asked, labels[answered], data.test)
    right = float((labels == data.query_labels[: len(labels)])[answered].mean())
    return StudentResult(int(answered.sum()), right, float((predictions == data.test_labels).mean()))
