"""Questions of a guarantee card in words: entries, numbers, ways to make batches, and pitfalls.

Groups and names of entries are those of the registry of deployments (Nanayakkara, Ghazi, Vadhan 2025); pitfalls are
after Ponomareva et al. 2023 and NIST SP 800-226.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from dpviz.accounting.claims import rounded_down, rounded_up

YES, NO, UNKNOWN = ANSWERS = ("yes", "no", "not known")
DIGITS = 6  # of a number, in texts and in JSON
BY_AUTHOR = "stated by the author of this card; dpviz did not check it"
NO_EPSILON = "no finite one is proven"
SOURCES = (
    "Pitfalls after Ponomareva et al. 2023 and NIST SP 800-226 (2025); groups as in the registry of deployments "
    "(Nanayakkara, Ghazi, Vadhan 2025). “Not known” means that nobody stated it and nothing shows it. It does not mean "
    "“yes”."
)

GROUPS = {
    "deployment": "Deployment",
    "release": "Release",
    "dp_flavor": "DP flavour",
    "privacy_loss": "Unit and privacy loss",
    "model": "Model of trust",
    "accounting": "Accounting",
    "implementation": "Implementation",
}
ENTRIES: Mapping[str, Mapping[str, str]] = {
    "deployment": {
        "name": "Name",
        "data_curators": "Who holds the data",
        "intended_use": "Intended use",
        "data_product_type": "Kind of product",
        "publication_date": "Published",
        "sources": "Sources",
    },
    "release": {
        "description": "What is released",
        "release_type": "How often",
        "access_type": "Access",
        "unprotected_quantities": "Not covered by ε",
    },
    "dp_flavor": {"name": "Definition", "data_domain": "Data"},
    "privacy_loss": {"privacy_unit": "Unit of protection", "privacy_unit_description": "Neighbouring data sets"},
    "model": {"model_name": "Who is trusted", "actors": "Actors"},
    "accounting": {
        "accountant": "Accountant",
        "version": "Version",
        "sampler": "Sampler as accounted",
        "composition": "Composition",
        "covers": "What ε covers",
        "tuning": "Tuning",
    },
    "implementation": {
        "mechanisms": "Mechanism",
        "sampler_as_run": "Sampler as run",
        "size": "N",
        "pre_processing_eda_hyperparameter_tuning": "Preprocessing and choice of settings",
        "assumptions": "Assumptions",
    },
}

# How batches are made: what a mechanism accounts for, and what a program may do.
SAMPLERS = {
    "poisson": "Poisson: each example joins each batch independently",
    "truncated": "Poisson, cut to a largest batch",
    "fixed": "fixed size, a new draw at each step, without replacement",
    "replacement": "fixed size, drawn with replacement",
    "allocation": "each example joins one random batch in every epoch",
    "shuffled": "shuffled anew in every epoch",
    "partition": "the same batches in every epoch, in any order, which may be known",
    "cyclic": "the same batches in the same order in every epoch, which may be known",
    "secret": "the same batches in every epoch, cut once at random and kept secret",
}


def entered_up(value: float, digits: int) -> float:
    """Up, but for what floating point adds: δ of a pair that holds, for which a larger δ keeps ε."""
    return rounded_up(value * (1.0 - 1e-12), digits)


class LossWords(NamedTuple):
    """How a card writes a number of the privacy loss.

    Attributes:
        name: what it is.
        before, after: what stands around it.
        rounding: what keeps a bound a bound; none where the number is not one.
    """

    name: str
    before: str = ""
    after: str = ""
    rounding: Callable[[float, int], float] = lambda value, digits: value

    def rounded(self, value: float) -> float:
        return self.rounding(value, DIGITS)

    def written(self, value: float) -> str:
        return f"{self.before}{short(self.rounded(value))}{self.after}"


LOSSES = {
    "epsilon": LossWords("ε", "≤ ", rounding=rounded_up),
    "delta": LossWords("δ", rounding=entered_up),
    "epsilon_lower": LossWords("True ε", "≥ ", rounding=rounded_down),
    "epsilon_published": LossWords("ε as published"),
    "rho": LossWords("ρ of concentrated DP"),
    "mu": LossWords("μ of Gaussian DP, for every δ above this one", "≤ ", rounding=rounded_up),
    "mu_regret": LossWords("Regret of μ", "≤ ", rounding=rounded_up),
    "attack_accuracy": LossWords("Best attack accuracy", "at most ", " (chance: 0.5)", rounded_up),
}


def short(value: float) -> str:
    return f"{value:.{DIGITS}g}".replace("e-0", "e-")


class Pitfall(NamedTuple):
    """What may be wrong with a guarantee.

    Attributes:
        name: for a list.
        question: of an auditor, to be answered by one of ANSWERS.
    """

    name: str
    question: str


PITFALLS = {
    "adjacency": Pitfall("Unit and adjacency", "Are the unit of protection and the neighbouring data sets stated?"),
    "sampler": Pitfall("Sampler as run", "Is the sampler as run the sampler that was accounted for?"),
    "clipping": Pitfall(
        "Clipping",
        "Is what each unit adds clipped before the sum, with no layer that mixes examples (batch normalisation)?",
    ),
    "scale": Pitfall("Noise scale", "Is the noise right for gradient accumulation and for several devices?"),
    "delta": Pitfall("δ below 1/N", "Is δ below 1/N?"),
    "preprocessing": Pitfall(
        "Preprocessing",
        "Are statistics used in preprocessing (normalisation, vocabulary, choice of features) public or counted?",
    ),
    "tuning": Pitfall("Tuning", "Is tuning on the private data counted, or was there none?"),
    "stopping": Pitfall(
        "Stopping", "Are the end and the choice of a checkpoint counted, or made without unreleased results?"
    ),
    "metrics": Pitfall("Training metrics", "Are metrics measured on the training data kept back, or counted?"),
    "models": Pitfall("Several models", "Is everything that was made from the same data added up?"),
    "pretraining": Pitfall("Pre-training", "Are public data for pre-training apart from the private data?"),
    "rows": Pitfall(
        "Rows of a person",
        "Is what one person adds bounded by the unit (the unit is a person, or each has one row)?",
    ),
    "noise": Pitfall("Source of noise", "Does the noise come from a cryptographically secure source?"),
}
