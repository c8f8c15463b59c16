"""My run: what is entered on one page is there on every other, whatever each calls it."""

import pytest

from dpviz.questions import kinds, my_run
from dpviz.questions.catalogue import PAGES, QUESTIONS
from dpviz.questions.check import fields as claim
from dpviz.questions.check.question import CHECK
from dpviz.questions.layout import of_texts
from dpviz.questions.mechanism import SIGMA, SIZE, STEPS
from tests.ui.driver import components, controls, enter, go_to, group, open_app, open_part, press, put, said, set_to

pytestmark = pytest.mark.usefixtures("without_slow_parts")

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
    for field, text in {
        "sigma": "1.1",
        "q": "256 of 60000",
        "steps": "60 epochs",
        "persons": "5",
        "tried": "40",
    }.items():
        enter(at, field, text)
    at.selectbox(key="slider.mech").select("shuffled").run()
    at.session_state["value.aview"] = "roc"
    for place in ("noise", "attack", "budget"):
        to(at, place)
        if place == "noise":
            open_part(at, "noise.group", ["Ask", "Mechanism", "Show"], "Mechanism")
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
    below = [controls(at)[field]["why"] for field in ("q", "steps")]
    assert below == ["256 of 50\u202f000", "60 epochs"], "and comes back"
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


def test_replaced_examples_stay_replaced_when_batches_become_poisson_again() -> None:
    at = open_app(THERE.key, f"{FORM}&mech=shuffled&kadj=replace")
    open_part(at, f"{THERE.key}.group", PARTS, "Described")
    group(at, claim.SAMPLER.label).select("poisson").run()
    assert set_to(at, kinds.KIND) == "replace"


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
    enter(at, "q", "256 of 60000")
    assert "kbatch" not in at.session_state["value.kopen"], "an entry on another page settles it too"
    assert "kepochs" in at.session_state["value.kopen"]


# --- the strip --------------------------------------------------------------------------------------------------------


def strip(at):  # type: ignore[no-untyped-def]
    """The run in words, and what is said of parts that are not used."""
    (told,) = components(at, "dpviz.strip")
    words = " · ".join(one["text"] for one in told["run"]["phrases"] if one["text"])
    return words.replace("\u202f", " "), told["run"]["unused"]


SHUFFLED = "σ 1.1 · 256 of 60 000 · 60 epochs · shuffled in every epoch · 5 rows a person · best of 40 · δ 1e-5"


@pytest.mark.parametrize(
    ("place", "query", "unused"),
    [
        ("compose", "curves=tight", ""),
        ("noise", "noiseview=solve", ""),
        ("attack", "aview=roc", "not used here: runs tried"),
        ("attack", "aview=success", "not used here: noise, batch, length, sampler, rows, runs tried"),
        ("budget", "bview=stop", "not used here: runs tried"),
        (THERE.key, FORM, ""),
        ("papers", "", "not used here"),
        ("runs", "", "not used here"),
        ("train", "", "not used here"),
    ],
)
def test_every_page_says_the_run_and_what_of_it_it_cannot_use(place: str, query: str, unused: str) -> None:
    at = open_app(place, f"{RUN}&{query}" if query else RUN)
    assert strip(at) == (SHUFFLED, unused)


@pytest.mark.parametrize("key", ["langevin_clip", "langevin_size", "compose"])
def test_the_strip_says_the_data_set_that_the_page_computes_with(key: str) -> None:
    """Langevin starts at the N of its paper; the strip is drawn before anything of the page has been read."""
    place = next(page for page in PAGES if QUESTIONS[key] in page.questions)
    at = open_app(place.key, f"{place.view}={QUESTIONS[key].asked_as}")
    (size,) = [field for field in QUESTIONS[key].fields if field.key == SIZE.key]
    assert f" of {size.show(size.default)} ·".replace("\u202f", " ") in strip(at)[0]


def test_the_open_strip_shows_the_page_s_own_data_set() -> None:
    at = put(open_app("langevin", "lview=clip"), "strip", {"open": True})
    assert controls(at)["n"]["text"] == "50000"


def test_a_page_that_counts_t_otherwise_warns() -> None:
    """Sixty epochs of shuffled batches are no sixty Poisson steps, whose ε is far smaller."""
    for place, query, warns in (("orders", RUN, True), ("orders", "", False), ("compose", RUN, False)):
        at = open_app(place, query)
        assert any("not that of your run" in text for text in said(at, "caution")) == warns


def test_a_page_without_shuffled_batches_reads_the_epochs_as_steps_when_asked() -> None:
    """T then means the same: 60 epochs of 256 of 60 000 are 14 063 Poisson steps."""
    at = open_app("orders", RUN)
    press(at, "Read 60 epochs as 14\u202f063 Poisson steps")
    assert (set_to(at, kinds.KIND), set_to(at, STEPS), set_to(at, SIGMA)) == ("gaussian", 14063.0, 1.1)
    assert not any("not that of your run" in text for text in said(at, "caution"))
    assert "60 epochs · Poisson" in strip(at)[0]
    assert [one.label for one in open_app("langevin", RUN).button if one.label.startswith("Read ")] == []


def test_the_strip_is_hidden_on_a_bare_page() -> None:
    for query in ("present=1", "embed=true"):
        assert not components(open_app("compose", f"curves=moments&{query}"), "dpviz.strip")


def test_the_strip_follows_entries_presets_and_undo_and_sets_what_the_page_has() -> None:
    at = open_app("compose", "curves=moments")
    start = strip(at)
    assert start == ("σ 4 · 600 of 60 000 · 100 epochs · Poisson · δ 1e-5", "")
    put(at, "strip", {"open": True})
    put(at, "strip.sigma", {"entry": {"text": "1,1", "n": 1e12}})
    assert controls(at)["sigma"]["text"] == "1.1"
    assert strip(at)[0].startswith("σ 1.1 ·")
    put(at, "strip.sigma", {"entry": {"text": "-1", "n": 2e12}})
    assert "must be between" in controls(at)["sigma"]["wrong"]
    assert strip(at)[0].startswith("σ 1.1 ·")
    at.selectbox(key="strip.mech").select("shuffled").run()
    assert "600 of 60 000 · 100 epochs · shuffled" in strip(at)[0]
    at.selectbox(key="preset").select("abadi2").run()
    assert strip(at)[0] == "σ 4 · 600 of 60 000 · 400 epochs · Poisson · δ 1e-5"
    put(at, "history.steps", {"entry": {"steps": [[3e12, -1]]}})
    assert strip(at)[0].startswith("σ 1.1 · 600 of 60 000 · 100 epochs · shuffled")


@pytest.mark.parametrize("sent", [None, 3, {"open": "yes"}, {"go": "nowhere"}, {"open": [1], "go": {}}])
def test_what_a_stranger_sends_opens_nothing_and_leads_nowhere(sent: object) -> None:
    at = open_app("compose", "curves=moments")
    put(at, "strip", sent)
    assert not components(at, "dpviz.strip")[0]["open"]
    assert {one["field"] for one in components(at, "dpviz.number")} == {*controls(at)}


def test_each_question_about_the_run_is_one_that_a_page_answers_with_it() -> None:
    for way in my_run.NEXT.values():
        page = next(page for page in PAGES if page.key == way.page)
        at = open_app(way.page, "&".join([RUN, *(f"{key}={text}" for key, text in way.texts.items())]))
        assert page.question(of_texts(way.texts)).key == way.key
        assert not way.opens or way.opens in QUESTIONS[way.key].more
        here = {one["name"]: one["here"] for one in components(at, "dpviz.strip")[0]["next"]}
        assert here == {one.name: one.key == way.key and not one.opens for one in my_run.NEXT.values()}
        assert strip(at)[0] == SHUFFLED


@pytest.mark.parametrize(("law", "words"), [("fixed", "best of 40"), ("geometric", "best of 40 on average")])
def test_a_fixed_number_of_runs_is_told_from_an_average(law: str, words: str) -> None:
    assert words in [phrase.text for phrase in my_run.phrases(of_texts({"tried": "40", "trylaw": law}))]


def changed(at):  # type: ignore[no-untyped-def]
    """What the strip says that another mechanism did to the run."""
    (told,) = components(at, "dpviz.strip")
    return told["run"]["change"].replace("\u202f", " ")


KEPT = "Kept: σ 1.1, 256 of 60 000, 60 epochs, 5 rows a person, best of 40, δ 1e-5."


def test_another_mechanism_says_what_it_keeps_drops_and_brings_and_undo_brings_the_old_one_back() -> None:
    at = open_app("compose", f"{RUN}&curves=tight")
    assert changed(at) == ""
    at.selectbox(key="slider.mech").select("correlated").run()
    assert changed(at) == f"{KEPT} New: κ 0.9 (default). T now counts runs: 1. Undo brings back what was."
    at.selectbox(key="slider.mech").select("truncated").run()
    assert changed(at) == (
        f"{KEPT} Dropped: κ 0.9. New: B 800 (default). T now counts steps: 14 063. Undo brings back what was."
    )
    put(at, "history.steps", {"entry": {"steps": [[1e12, -1]]}})
    assert (set_to(at, kinds.KIND), changed(at)[: len(KEPT)]) == ("correlated", KEPT)
    put(at, "history.steps", {"entry": {"steps": [[2e12, -1]]}})
    assert (strip(at)[0], changed(at)) == (SHUFFLED, "")


def test_what_another_mechanism_did_is_said_until_the_next_change_and_not_of_a_preset() -> None:
    at = open_app("compose", f"{RUN}&curves=tight")
    put(at, "strip", {"open": True})
    at.selectbox(key="strip.mech").select("gaussian").run()
    assert changed(at) == f"{KEPT} T now counts steps: 14 063. Undo brings back what was."
    enter(at, "sigma", "2")
    assert changed(at) == ""
    at.selectbox(key="strip.mech").select("laplace").run()
    assert "Dropped: σ 2. New: b 4 (default)." in changed(at)
    at.selectbox(key="preset").select("abadi2").run()
    assert (set_to(at, kinds.KIND), changed(at)) == ("gaussian", "")


def test_the_form_of_a_claim_says_what_another_sampler_did_to_the_run() -> None:
    at = open_app(THERE.key, f"{FORM}&{RUN}")
    open_part(at, f"{THERE.key}.group", PARTS, "Described")
    group(at, claim.SAMPLER.label).select("truncated").run()
    assert changed(at) == f"{KEPT} New: B 800 (default). T now counts steps: 14 063. Undo brings back what was."


@pytest.mark.parametrize(
    ("query", "kind", "words"),
    [
        ("mech=fixed&n=100&drawn=800&steps=10", "gaussian", "Changed: 800 of 100 → 1 of 100, 10 steps → 0.1 epochs."),
        ("mech=secret&batches=100000&passes=1e6&steps=1e12", "gaussian", " runs of 1e6 epochs → 1e7 epochs. T now"),
    ],
)
def test_a_run_that_another_mechanism_cannot_keep_is_no_error(query: str, kind: str, words: str) -> None:
    at = open_app("papers", query)
    put(at, "strip", {"open": True})
    at.selectbox(key="strip.mech").select(kind).run()
    assert not at.exception
    assert words in changed(at)
