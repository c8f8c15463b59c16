"""Settings of the question about PATE."""

from __future__ import annotations

from dpviz.experiments.teachers import TEACHERS
from dpviz.fields.field import Choice, Flag, Number, even_ticks, log_ticks

ENDS = ("less noise", "more noise, more privacy")

VOTES = Choice(
    key="pavotes",
    label="Votes",
    default="digits",
    options={"digits": "Recorded, on digits", "alike": "All queries alike"},
    help="Recorded: teachers trained on disjoint parts of the shipped digits, asked 1000 other digits. All queries "
    "alike: so many teachers agree on each query, and the others' votes are spread over the nine other classes.",
)
ENSEMBLE = Choice(
    key="paens",
    label="Teachers",
    default="100",
    options={str(each): str(each) for each in TEACHERS},
    help="How many teachers share the 10 000 private digits. More teachers hide one vote better, and know less each.",
)
CROWD = Number(
    key="pak",
    symbol="K",
    label="Teachers K",
    default=250.0,
    low=2.0,
    high=1e6,
    whole=True,
    ticks=tuple(float(round(t)) for t in log_ticks(10.0, 1e4, 8)),
    ends=("few, well taught", "many, one vote counts little"),
    example="250",
    help="How many teachers vote; each has its own part of the data. Papernot et al. 2017 have 250.",
)
AGREEMENT = Number(
    key="paagree",
    label="Share that agrees",
    default=0.9,
    low=0.1,
    high=1.0,
    ticks=even_ticks(0.1, 1.0, 0.01),
    ends=("at odds", "of one mind"),
    example="0.9",
    help="Share of the teachers that vote for the class with most votes, on every query.",
)
RELEASE = Choice(
    key="panoise",
    label="What is released",
    default="gnmax",
    options={"gnmax": "GNMax: Gaussian noise", "confident": "Confident-GNMax", "lnmax": "LNMax: Laplace noise"},
    tall=True,
    help="The class with most votes after noise on every count; Confident-GNMax answers only where many agree.",
)
VOTE_NOISE = Number(
    key="pasigma",
    symbol="σ",
    label="Noise on the votes σ",
    default=10.0,
    low=0.01,
    high=1e6,
    ticks=log_ticks(1.0, 200.0, 16),
    ends=ENDS,
    example="10 to 100",
    help="Standard deviation of the Gaussian noise on each class's count, in votes. Papernot et al. 2018 have 40 to "
    "100 for 250 to 5000 teachers.",
)
THRESHOLD = Number(
    key="pat",
    symbol="T",
    label="Threshold T",
    default=60.0,
    low=0.0,
    high=1e6,
    ticks=even_ticks(0.0, 250.0, 5.0),
    ends=("answers all", "answers where all agree"),
    example="60",
    help="Votes that the first class must have, after noise, for a query to be answered.",
)
CHECK_NOISE = Number(
    key="pasig1",
    symbol="σ₁",
    label="Noise on the check σ₁",
    default=30.0,
    low=0.01,
    high=1e6,
    ticks=log_ticks(1.0, 1000.0, 12),
    ends=ENDS,
    example="30 to 150",
    help="Standard deviation of the Gaussian noise that is added before the threshold, in votes.",
)
LAPLACE = Number(
    key="pab",
    symbol="b",
    label="Noise on the votes b",
    default=20.0,
    low=0.01,
    high=1e6,
    ticks=log_ticks(1.0, 200.0, 16),
    ends=ENDS,
    example="20",
    help="Scale of the Laplace noise on each class's count, in votes. Papernot et al. 2017 write it 1/γ and have 20.",
)
QUERIES = Number(
    key="paqueries",
    symbol="queries",
    label="Queries",
    default=1000.0,
    low=1.0,
    high=1e6,
    whole=True,
    ticks=tuple(float(round(t)) for t in log_ticks(10.0, 1e4, 12)),
    ends=("few", "many"),
    example="1000",
    help="Public inputs put to the teachers, whether or not they are answered.",
)
ONE_SIDED = Flag(
    key="paone",
    label="One direction, as in the papers",
    default=False,
    help="Papernot et al. bound how far a neighbour's answers are from these. Off: also how far these are from a "
    "neighbour's, which costs a little more.",
)
DRAW = Number(
    key="padraw",
    label="Draw",
    default=0.0,
    low=0.0,
    high=1e9,
    whole=True,
    example="0",
    help="Seed of the noise: of the student's labels, and of the ε that is published. In earnest it is secret.",
)
ORDER = Number(
    key="paalpha",
    symbol="α",
    label="Order published α",
    default=4.0,
    low=1.01,
    high=1000.0,
    ticks=log_ticks(1.5, 60.0, 12),
    ends=("for large ε", "for small ε"),
    example="3 to 10",
    help="The one order whose divergence is published, chosen without looking at the votes.",
)
SMOOTHNESS = Number(
    key="pabeta",
    label="Smoothness β, of its most",
    default=0.5,
    low=0.01,
    high=0.99,
    ticks=even_ticks(0.05, 0.95, 0.05),
    ends=("looks at far votes", "dear to publish"),
    example="0.5",
    help="β as a share of −½ ln(1 − 1/α), where publishing has no finite cost. What d teachers away could change "
    "counts e^(−βd).",
)
PUBLISHED_NOISE = Number(
    key="pasigss",
    symbol="σ_ss",
    label="Noise on what is published σ_ss",
    default=3.0,
    low=0.1,
    high=1000.0,
    ticks=log_ticks(0.5, 50.0, 12),
    ends=("dear to publish", "far above the votes' ε"),
    example="2 to 5",
    help="Standard deviation of the noise on the published divergence, in smooth sensitivities.",
)
