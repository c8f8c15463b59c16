"""The Papers page: printed values recomputed, and figures of five papers."""

from dpviz.questions import printed
from dpviz.questions.page import Group, grouped
from dpviz.questions.papers import adaptive, adult, claims, pate, reached
from dpviz.questions.papers.abadi_clipping import CLIPPING
from dpviz.questions.papers.abadi_loss import LOSS
from dpviz.questions.papers.abadi_tail import TAIL
from dpviz.questions.papers.abadi_theorem1 import MAIN_THEOREM
from dpviz.questions.papers.bayesian_inference import INFERENCE
from dpviz.questions.papers.bayesian_noise import FIGURE_3
from dpviz.questions.papers.bayesian_panels import PANELS
from dpviz.questions.papers.bayesian_rare import RARE
from dpviz.questions.papers.bayesian_steps import FIGURE_1
from dpviz.questions.papers.bayesian_table1 import TABLE_1
from dpviz.questions.papers.bayesian_together import TOGETHER
from dpviz.questions.papers.bob import BOB
from dpviz.questions.papers.clipping_runs import CLIPPING_RUNS
from dpviz.questions.papers.sampled_figure1 import SAMPLED_FIGURE_1
from dpviz.questions.papers.sampled_theorem5 import THEOREM_5

PAPERS = grouped(
    "papers",
    Group("All papers", "", (claims.PRINTED_CLAIMS,)),
    Group("Bayesian DP", printed.PAPERS["bdp"].name, (FIGURE_1, FIGURE_3, PANELS, TABLE_1, INFERENCE, RARE, TOGETHER)),
    Group(
        "DP-SGD",
        printed.PAPERS["abadi"].name,
        (MAIN_THEOREM, LOSS, TAIL, CLIPPING, CLIPPING_RUNS, BOB, reached.REACHED_VIEW),
    ),
    Group("Sampled Gaussian", printed.PAPERS["sgm"].name, (SAMPLED_FIGURE_1, THEOREM_5)),
    Group("SG-MCMC", printed.PAPERS["sgmcmc"].name, (adult.ADULT_FIGURE, pate.PATE)),
    Group("Filters and odometers", printed.PAPERS["filters"].name, (adaptive.ADAPTIVE,)),
)
