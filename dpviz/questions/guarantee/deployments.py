"""Cards of known deployments, as published; what their publishers do not say reads “not known”."""

from collections.abc import Mapping
from dataclasses import replace

from dpviz._remember import remembered
from dpviz.accounting.guarantee import Losses, losses_of_rho
from dpviz.questions.guarantee.card import Guarantee, Reply
from dpviz.questions.guarantee.words import YES

CONCENTRATED = "zero-concentrated DP (Bun, Steinke 2016), by its publisher; ε from ρ by dpviz, improved conversion"


def census_persons() -> Guarantee:
    return Guarantee(
        losses=replace(losses_of_rho(2.56, 1e-10), epsilon_published=17.14),
        statements={
            "deployment": {
                "name": "2020 Census, redistricting data (P.L. 94-171): tables of persons",
                "data_curators": "U.S. Census Bureau",
                "intended_use": "redistricting",
                "data_product_type": "summary statistics",
                "publication_date": "2021-08",
                "sources": "Abowd et al. 2022 (The 2020 Census Disclosure Avoidance System TopDown Algorithm): "
                "ρ = 2.63 in all, 2.56 of it for persons and 0.07 for housing units; ε = 17.14 and 2.47 at δ = 1e-10",
            },
            "release": {
                "description": "counts of persons by place and attributes",
                "release_type": "one release",
                "access_type": "not interactive",
                "unprotected_quantities": "state populations, housing units of each block, and occupied group "
                "quarters by type and block are published as they were counted",
            },
            "dp_flavor": {
                "name": "zero-concentrated DP",
                "data_domain": "edited records of everybody counted, missing values imputed",
            },
            "privacy_loss": {
                "privacy_unit": "one person's record",
                "privacy_unit_description": "data sets that differ in one person's record, replaced by any other",
            },
            "model": {"model_name": "central: the Census Bureau sees the data and adds the noise"},
            "accounting": {
                "accountant": CONCENTRATED,
                "composition": "ρ adds up over the queries at all levels of geography",
                "tuning": "settings were tuned on data of the 2010 Census",
            },
            "implementation": {
                "mechanisms": "TopDown algorithm: discrete Gaussian noise on queries (Canonne, Kamath, Steinke 2020), "
                "then optimisation",
            },
        },
        replies={
            "adjacency": Reply(YES, "one person's record, replaced (Abowd et al. 2022)"),
            "tuning": Reply(YES, "tuned on data of the 2010 Census (Abowd et al. 2022)"),
        },
    )


def gboard_spanish() -> Guarantee:
    return Guarantee(
        losses=replace(losses_of_rho(0.81, 1e-10), epsilon_published=8.9),
        statements={
            "deployment": {
                "name": "Gboard, next-word prediction for Spanish",
                "data_curators": "Google",
                "intended_use": "next-word prediction on the keyboard",
                "data_product_type": "machine learning model",
                "publication_date": "2022-02",
                "sources": "McMahan, Thakurta 2022 (Federated Learning with Formal Differential Privacy Guarantees, "
                "Google Research): ρ = 0.81; Xu, Zhang 2024 (Advances in private training for production on-device "
                "language models, Google Research): ε = 8.9 at δ = 1e-10",
            },
            "release": {"description": "a recurrent network, trained over 2000 rounds"},
            "dp_flavor": {
                "name": "zero-concentrated DP",
                "data_domain": "what was typed, in the training cache of each device",
            },
            "privacy_loss": {
                "privacy_unit": "one device with all its examples",
                "privacy_unit_description": "add or remove all training examples of one device",
            },
            "model": {
                "model_name": "central, with federated learning: raw data stay on devices, the server adds the noise",
            },
            "accounting": {
                "accountant": CONCENTRATED,
                "sampler": "none: a device takes part at most once every 24 hours",
            },
            "implementation": {"mechanisms": "DP-FTRL with tree aggregation (Kairouz et al. 2021)"},
        },
        replies={
            "adjacency": Reply(YES, "all examples of one device, added or removed (McMahan, Thakurta 2022)"),
        },
    )


def apple_emoji() -> Guarantee:
    return Guarantee(
        losses=Losses(epsilon=4.0, delta=0.0, epsilon_published=4.0),
        statements={
            "deployment": {
                "name": "Popular emojis",
                "data_curators": "Apple",
                "intended_use": "to learn which emojis are used most",
                "data_product_type": "summary statistics",
                "publication_date": "2017",
                "sources": "Apple Differential Privacy Team 2017 (Learning with Privacy at Scale): "
                "ε = 4 for one emoji event",
            },
            "release": {
                "description": "privatised records, and estimated frequencies of emojis",
                "release_type": "many releases: further events of the same person cost more, "
                "which this ε does not count",
            },
            "dp_flavor": {"name": "local DP, δ = 0", "data_domain": "events in which an emoji was typed"},
            "privacy_loss": {
                "privacy_unit": "one event: one emoji typed",
                "privacy_unit_description": "one event, replaced by any other",
            },
            "model": {"model_name": "local: noise is added on the device, and nobody else sees the data"},
            "accounting": {
                "accountant": "each record by itself, by its publisher",
                "composition": "records of one person are not added up",
            },
            "implementation": {
                "mechanisms": "count mean sketch: coordinates of a hashed vector are flipped at random",
            },
        },
        replies={
            "adjacency": Reply(YES, "one event, in the local model (Apple Differential Privacy Team 2017)"),
        },
    )


@remembered
def deployments() -> Mapping[str, Guarantee]:
    """The cards by their keys."""
    return {"census-persons": census_persons(), "gboard-spanish": gboard_spanish(), "apple-emoji": apple_emoji()}
