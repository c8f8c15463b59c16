"""My run: what is entered on one page is there on every other, whatever each calls it."""

import pytest

from dpviz.questions import kinds
from dpviz.questions.catalogue import PAGES
from dpviz.questions.check import fields as claim
from dpviz.questions.check.question import CHECK
from dpviz.questions.mechanism import SIGMA, STEPS
from tests.ui.driver import controls, enter, go_to, group, open_app, open_part, press, put, set_to

THERE = next(page for page in PAGES if CHECK in page.questions)
FORM = f"{THERE.view}=check"
PARTS = ["Claim", "Described", "From code"]
RUN = "sigma=1.1&n=60000&q=256/60000&steps=60&mech=shuffled&batches=234&persons=5&tried=40"


def chosen(at, label):  # type: ignore[no-untyped-def]
    return group(at, label).value


def to(at, place):  # type: ignore[no-untyped-def]
    """Go there as the navigation does: its link says nothing."""
    at.query_params.clear()
    go_to(at, place).run()
    assert not at.exception


def form(at):  # type: ignore[no-untyped-def]
    """What the form of a claim shows: σ, N, batch, epochs, rows and how batches are made."""
    at.session_state[f"value.{THERE.view}"] = "check"
    to(at, THERE.key)
    open_part(at, f"{THERE.key}.group", PARTS, "Claim")
    told = {key: controls(at)[key]["text"] for key in ("ksigma", "n", "kbatch", "kepochs")}
    open_part(at, f"{THERE.key}.group", PARTS, "Described")
    return {
        **told,
        "rows": controls(at).get("kpersons", {"text": "1"})["text"],
        "sampler": chosen(at, claim.SAMPLER.label),
    }


def test_what_is_entered_on_compose_is_on_every_page_that_has_it() -> None:
    at = open_app("compose", "curves=tight&mech=gaussian&persons=1&tried=1")
    for field, text in {"sigma": "1.1", "batch": "256", "epochs": "60", "persons": "5", "tried": "40"}.items():
        enter(at, field, text)
    at.selectbox(key="slider.mech").select("shuffled").run()
    at.session_state["value.aview"] = "roc"
    for place in ("noise", "attack", "budget"):
        to(at, place)
        told = {key: one["text"] for key, one in controls(at).items()}
        expected = {"sigma": "1.1", "batches": "234", "steps": "60", "persons": "5", "tried": "40"}
        assert place == "budget" or told.items() >= {"batches": "234", "steps": "60"}.items()
        assert all(told[key] == text for key, text in expected.items() if key in told)
    expected = {"ksigma": "1.1", "n": "60000", "kbatch": "256", "kepochs": "60", "rows": "5", "sampler": "shuffled"}
    assert form(at) == expected


def test_what_is_entered_in_the_form_of_a_claim_is_on_compose() -> None:
    at = open_app(THERE.key, f"{FORM}&mech=gaussian&kpersons=1&persons=1")
    for field, text in {"ksigma": "1.1", "n": "50000", "kbatch": "256", "kepochs": "60"}.items():
        enter(at, field, text)
    open_part(at, f"{THERE.key}.group", PARTS, "Described")
    enter(at, "kpersons", "5")
    group(at, claim.SAMPLER.label).select("shuffled").run()
    to(at, "compose")
    told = {key: one["text"] for key, one in controls(at).items()}
    assert chosen(at, kinds.KIND.label) == "shuffled"
    found = [told[key] for key in ("sigma", "n", "batches", "steps", "persons")]
    assert found == ["1.1", "50000", "195", "60", "5"]
    group(at, kinds.KIND.label).select("gaussian").run()
    told = {key: one["text"] for key, one in controls(at).items()}
    assert (told["batch"], told["epochs"]) == ("256", "60"), "and comes back"
    assert set_to(at, STEPS) == 11719


def test_a_batch_beyond_the_data_is_refused_in_the_form_and_nothing_changes() -> None:
    at = open_app(THERE.key, FORM)
    enter(at, "kbatch", "70000")
    assert "more than the data set's 60000" in controls(at)["kbatch"]["wrong"]
    enter(at, "kbatch", "256")
    assert (controls(at)["kbatch"]["wrong"], controls(at)["kepochs"]["text"]) == ("", "100")


@pytest.mark.parametrize(
    ("sampler", "adjacency", "mechanism"),
    [
        ("poisson", "add_remove", "gaussian"),
        ("poisson", "replace", "replace"),
        ("shuffled", "replace", "shuffled"),
        ("fixed", "unsaid", "fixed"),
        ("unsaid", "replace", "gaussian"),
        ("unsaid", "unsaid", "gaussian"),
    ],
)
@pytest.mark.parametrize("first", [0, 1])
def test_sampler_and_neighbours_of_a_claim_hold_in_either_order(
    sampler: str, adjacency: str, mechanism: str, first: int
) -> None:
    """A claim about replaced examples never becomes one about added ones, whichever is said first."""
    at = open_app(THERE.key, FORM)
    open_part(at, f"{THERE.key}.group", PARTS, "Described")
    choices = [(claim.SAMPLER, sampler), (claim.ADJACENCY, adjacency)]
    for field, option in choices[first:] + choices[:first]:
        group(at, field.label).select(option).run()
    assert not at.exception
    assert (chosen(at, claim.SAMPLER.label), chosen(at, claim.ADJACENCY.label)) == (sampler, adjacency)
    assert sampler == "unsaid" or set_to(at, kinds.KIND) == mechanism


def test_a_link_to_a_claim_says_it_by_the_runs_own_names_and_old_names_are_read() -> None:
    at = open_app(THERE.key, f"{FORM}&n=60000&ksigma=1.1&kbatch=256&kepochs=60&ksampler=shuffled&kpersons=5&kclaim=3")
    assert form(at)["sampler"] == "shuffled"
    to(at, "compose")
    assert set_to(at, SIGMA) == 1.1
    assert (set_to(at, STEPS), set_to(at, kinds.BATCHES), set_to(at, kinds.ROWS)) == (60, 234, 5)


def test_a_preset_replaces_the_run_on_every_page_and_undo_brings_it_back() -> None:
    at = open_app("compose", RUN)
    before = form(at)
    to(at, "compose")
    at.selectbox(key="preset").select("abadi2").run()
    put(at, "history.steps", {"entry": {"steps": [[1e12, -1]]}})
    assert form(at) == before
    to(at, "compose")
    at.selectbox(key="preset").select("abadi2").run()
    after = form(at)
    assert (after["ksigma"], after["kbatch"], after["sampler"], after["rows"]) == ("4", "600", "poisson", "1")


def test_a_text_settles_nothing_by_what_the_run_starts_with() -> None:
    """The run's own defaults are nobody's entry."""
    at = open_app(THERE.key, FORM)
    open_part(at, f"{THERE.key}.group", PARTS, "From code")
    at.text_area(key="snippet").set_value("make_private(noise_multiplier=1.3)").run()
    press(at, "Fill the form")
    assert {"kbatch", "kepochs"} <= {*at.session_state["value.kopen"]}
    to(at, "compose")
    enter(at, "batch", "256")
    assert "kbatch" not in at.session_state["value.kopen"], "an entry on another page settles it too"
    assert "kepochs" in at.session_state["value.kopen"]
