"""Lectures: five papers, each in a few stops of a minute. The one list that the app and the folder of pages go by."""

from dpviz.questions.lectures import bayesian, filters, langevin, moments, sampled
from dpviz.questions.lectures.lecture import Lecture

LECTURES: dict[str, Lecture] = {
    one.key: one for one in (bayesian.LECTURE, moments.LECTURE, langevin.LECTURE, sampled.LECTURE, filters.LECTURE)
}
