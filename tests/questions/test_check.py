"""A claim against what is described: bounds, verdicts, and what code says."""

import math
import re
import textwrap
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpviz
from dpviz.accounting.pld.bounds import tight_epsilon, tight_epsilon_of_events
from dpviz.mechanisms import MECHANISMS, FixedSize, PersonRows, SampledGaussian
from dpviz.questions.answer import Answer, whole
from dpviz.questions.check.carried import carried
from dpviz.questions.check.described import described, renyi_above
from dpviz.questions.check.facts import CheckFacts
from dpviz.questions.check.fields import FURTHER, KINDS, steps_of
from dpviz.questions.check.question import CHECK, card
from dpviz.questions.guarantee.words import UNKNOWN
from dpviz.questions.layout import fields_of, of_texts
from dpviz.questions.pasted.form import filled
from dpviz.questions.pasted.texts import LONGEST
from tests.questions.asking import asked, asked_whole, linked, table


def verdict(answer: Answer[CheckFacts]) -> str:
    return answer.facts.verdict


# Programs whose ε is claimed: every quantity is a line of its own, so that each can be written otherwise.
PROGRAMS = table("programs")
GOOD, WORSE, KEYS, PLAIN, MISLEADING, REPEATED, WRAPPED, NEUTRAL = (
    PROGRAMS[table] for table in ("good", "worse", "keys", "plain", "misleading", "repeated", "wrapped", "neutral")
)
CLAIMED = 2.6  # holds for the good plan, and for none of the worse ones


@pytest.mark.parametrize(("query", "judged"), PROGRAMS["verdicts"].items())
def test_verdicts(query: str, judged: str) -> None:
    assert verdict(whole(linked(CHECK, query), CHECK.slow)) == judged


def test_the_lower_end_is_the_tight_intervals_at_steps_rounded_up() -> None:
    answer = asked_whole(CHECK, kclaim="2.3789")
    steps = steps_of(60_000, 256, 60.0)  # 14062.5
    assert (steps, steps_of(60_000, 250, 1.0), steps_of(10, 10, 1e-9)) == (14_063, 240, 1)
    low = float(np.asarray(tight_epsilon(SampledGaussian(1.1, 256 / 60_000), steps, 1e-5).lower))
    assert answer.facts.low == low > 2.3789
    assert verdict(answer) == "low"


HUGE = {"kepochs": "1000", "ksigma": "0.2", "kclaim": "8"}


@pytest.mark.parametrize(
    ("texts", "least"),
    [({"ksampler": "partition"}, 13_173.0), ({"ksampler": "fixed"}, 7_591.0), ({"kpersons": "5"}, 7_591.0),
     ({"ksampler": "partition", "kpersons": "5", "kadj": "unsaid"}, 13_173.0),
     ({"ksigma": "0.1", "kepochs": "100"}, 6_428.0)],
)  # fmt: skip
def test_a_claim_is_refuted_however_large_the_true_epsilon_is(texts: dict[str, str], least: float) -> None:
    answer = asked_whole(CHECK, **HUGE | texts)
    assert verdict(answer) == "low"
    assert least <= answer.facts.low <= answer.facts.high  # type: ignore[operator]  # no longer to come


def test_a_person_of_one_row_refutes_what_is_claimed_for_persons_of_more() -> None:
    """The lower end for five rows may be weaker than that for one, whose data a person may have as well."""
    one, five = (asked_whole(CHECK, **HUGE, kpersons=rows).facts.low for rows in ("1", "5"))
    assert five >= one > 7_000.0  # type: ignore[operator]


def test_the_lower_end_of_persons_counts_one_row_too() -> None:
    """With noise for which all rows together are harder to bound from below than one row, that one decides."""
    plan = {"size": 1000, "batch": 20, "epochs": 4.0, "sigma": 3.0, "sampler": "replacement", "replace": False}
    one, five = (described(rows=rows, **plan).below for rows in (1, 5))  # type: ignore[arg-type]
    assert set(one) < set(five)


def test_exact_ends_are_shown_where_they_are_large() -> None:
    facts = asked_whole(CHECK, **HUGE, ksampler="partition").facts
    assert facts.high == pytest.approx(facts.low, rel=1e-8)
    assert asked_whole(CHECK, **HUGE, ksampler="replacement").facts.huge


def test_a_claim_that_the_text_lacks_is_not_drawn() -> None:
    answer = asked_whole(CHECK, kopen="kclaim")
    assert answer.plot.reference is None
    assert "claimed" not in {dot.key for dot in answer.plot.dots}
    assert "claimed" in {dot.key for dot in asked_whole(CHECK).plot.dots}


def test_every_sampler_can_be_chosen_and_has_its_own_fields() -> None:
    """All mechanisms of the catalogue but those of one number; links of before keep their meaning."""
    offered = {kind.kind for kind in MECHANISMS if kind.noise == "noise_multiplier"}
    assert {key if key != "poisson" else "gaussian" for key in KINDS} == offered - {"replace"}
    for key, kind in KINDS.items():
        groups = CHECK.groups(lambda field, key=key: key if field.key == "ksampler" else field.default)
        shown = {field.key for field in fields_of([item for items in groups.values() for item in items])}
        wanted = {field.key for name, field in FURTHER.items() if name in kind.parameters()}
        assert shown & {field.key for field in FURTHER.values()} == wanted
        assert "kpersons" in shown


@pytest.mark.parametrize("rows", ["1", "2"])
@pytest.mark.parametrize("replace", ["add_remove", "replace"])
@pytest.mark.parametrize("sampler", KINDS)
@pytest.mark.one_of(3)
def test_a_verdict_is_right_in_both_directions(sampler: str, replace: str, rows: str) -> None:
    texts = {"ksampler": sampler, "kadj": replace, "kpersons": rows, "n": "1000", "kbatch": "20", "kepochs": "4.5"}
    texts |= {"ksigma": "3", "klargest": "40", "kband": "5"}

    def judged(claim: float) -> str:
        return verdict(asked_whole(CHECK, **texts, kclaim=f"{claim:.12g}"))

    low, high = (getattr(asked_whole(CHECK, **texts).facts, end) for end in ("low", "high"))
    assert 0.0 < low <= high < math.inf
    assert judged(0.999 * low) == "low"
    assert judged(1.001 * high) == "consistent"
    if high > 1.01 * low:
        assert judged(math.sqrt(low * high)) == "between"
    if (sampler, rows) == ("poisson", "2") and replace == "add_remove":
        rate = {"mechanism": PersonRows(3.0, 0.02, 2), "steps": 225, "delta": 1e-5}
        assert low == dpviz.epsilon("tight", bound="lower", **rate)
    made = card(asked_whole(CHECK, **texts).facts)
    assert (made.losses.epsilon_lower, made.losses.epsilon) == (low, high)
    assert made.statements["privacy_loss"]["privacy_unit"] == ("one example" if rows == "1" else "one person")
    assert made.replies["rows"].answer == (UNKNOWN if rows == "1" else "yes")


@pytest.mark.parametrize("sampler", ["replacement", "allocation", "shuffled", "partition", "secret", "correlated"])
def test_a_replaced_example_costs_more_than_one_left_out(sampler: str) -> None:
    """Without noise that samples hide, exactly as much as σ/2."""
    plan = {"size": 1000, "batch": 20, "epochs": 4.0, "sampler": sampler, "largest_batch": 30, "decay": 0.9, "band": 5}
    replaced, left_out, halved = (
        float(np.asarray(tight_epsilon_of_events(described(sigma=s, replace=r, **plan).above, 1e-5).upper))  # type: ignore[arg-type]
        for s, r in ((3.0, True), (3.0, False), (1.5, False))
    )
    assert replaced > 1.5 * left_out
    if sampler in ("shuffled", "partition", "correlated"):
        assert replaced == pytest.approx(halved, rel=1e-9)


@pytest.mark.one_of(4)
@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("sigma", [0.8, 2.0, 10.0])
@pytest.mark.parametrize("sampler", KINDS)
def test_upper_bounds_lie_above_lower_ones(sampler: str, sigma: float, *, replace: bool) -> None:
    further = {"largest_batch": 30, "decay": 0.9, "band": 5}
    known = described(size=1000, batch=20, epochs=4.0, sigma=sigma, sampler=sampler, replace=replace, **further)
    low, high = (
        float(np.asarray(getattr(tight_epsilon_of_events(each, 1e-5), side)))
        for each, side in ((known.below[0], "lower"), (known.above, "upper"))
    )
    assert low <= high
    assert low <= renyi_above(known, 1e-5)


def test_the_fixed_size_bound_covers_a_step_in_both_directions() -> None:
    """One step, three records, batch 1, C = 1: gradients −1, 1, 1 against 1, 1, 1. δ by quadrature at any ε."""
    sigma = 1.5
    z = np.linspace(-20.0, 20.0, 200_001)

    def density(center: float) -> np.ndarray:
        return np.exp(-0.5 * ((z - center) / sigma) ** 2) / (sigma * math.sqrt(2.0 * math.pi))

    mixed, same = (density(-1.0) + 2.0 * density(1.0)) / 3.0, density(1.0)
    known = described(size=3, batch=1, epochs=1 / 3, sigma=sigma, sampler="fixed", replace=True)
    assert known.above == ((FixedSize(sigma, 3, 1), 1),)
    for delta in (0.2, 0.05, 1e-3):
        epsilon = renyi_above(known, delta)
        for p, q in ((mixed, same), (same, mixed)):
            reached = float(np.trapezoid(np.maximum(p - math.exp(epsilon) * q, 0.0), z))
            assert reached <= delta


def test_the_doubled_bound_is_above_the_symmetric_pairs_divergence() -> None:
    """A pair whose both directions have the worse profile h: E(P/Q)^α by ∫ over γ, at T = 1, α = 4."""
    sigma, rate, alpha = 1.0, 0.2, 4.0
    gamma = np.exp(np.linspace(0.0, 12.0, 1201))
    z = np.linspace(-15.0, 16.0, 40_001)
    base = np.exp(-0.5 * (z / sigma) ** 2) / (sigma * math.sqrt(2.0 * math.pi))
    ratio = 1.0 - rate + rate * np.exp((2.0 * z - 1.0) / (2.0 * sigma**2))
    h = np.array([np.trapezoid(np.maximum(base * ratio - g * base, 0.0), z) for g in gamma])
    whole = 1.0 + alpha * (alpha - 1.0) * np.trapezoid((gamma ** (alpha - 2.0) + gamma ** (-1.0 - alpha)) * h, gamma)
    single, fixed = (
        float(np.asarray(step.renyi()(np.array([alpha])))[0])
        for step in (SampledGaussian(sigma, rate), FixedSize(2.0 * sigma, 5, 1))
    )
    assert math.exp((alpha - 1.0) * single) < whole <= math.exp((alpha - 1.0) * fixed)


@pytest.mark.parametrize("code", PROGRAMS["read"].values(), ids=PROGRAMS["read"])
def test_what_libraries_write_is_read(code: dict[str, Any]) -> None:
    texts = filled(code["text"]).texts(code.get("entered", ()))
    assert {key: texts.get(key) for key in code["as"]} == code["as"]


def program(
    written: dict[str, str] | None = None, before: Sequence[str] = (), after: Sequence[str] = (), claim: float = CLAIMED
) -> str:
    """The good plan, where it is not written otherwise."""
    return "\n".join([*before, PROGRAMS["use"].format(**(GOOD | (written or {})), claim=claim), *after])


@cache
def least(quantity: str) -> float:
    """The lower end of ε where this quantity has its worse value."""
    plan = GOOD | ({quantity: WORSE[quantity]} if quantity else {})
    steps = steps_of(int(plan["n"]), int(plan["batch_size"]), plan["epochs"])
    training = SampledGaussian(plan["noise_multiplier"], plan["batch_size"] / plan["n"])
    return float(np.asarray(tight_epsilon(training, steps, plan["delta"]).lower))


@pytest.mark.parametrize("quantity", WORSE)
def test_the_claim_is_false_for_every_worse_plan(quantity: str) -> None:
    assert least("") < CLAIMED < least(quantity)


@given(data=st.data())
@settings(max_examples=80, deadline=None)
def test_an_honest_program_is_read_fully_and_judged(data: st.DataObject) -> None:
    before, written = [data.draw(st.sampled_from(NEUTRAL))], {}
    for quantity, value in GOOD.items():
        lines, expression = PLAIN[data.draw(st.sampled_from(sorted(PLAIN)), label=quantity)]
        names = {"q": quantity, "Q": quantity.upper(), "v": value}
        before.append(
            lines.format(**names).replace("value", f"value_of_{quantity[:2]}").replace("f(", f"f_{quantity}(")
        )
        written[quantity] = expression.format(**names)
    texts = filled(program(written, before)).texts()
    assert texts.pop("kopen") == ""
    assert {KEYS[quantity]: float(texts[KEYS[quantity]]) for quantity in GOOD} == pytest.approx(
        {KEYS[quantity]: value for quantity, value in GOOD.items()}, rel=1e-12
    )
    assert (texts["ksampler"], texts["kadj"], texts["kclaim"]) == ("poisson", "add_remove", "2.6")


@pytest.mark.parametrize(("claimed", "judged"), [(CLAIMED, "consistent"), (2.0, "low")])
def test_a_plain_program_is_judged(claimed: float, judged: str) -> None:
    texts = filled(program(claim=claimed)).texts()
    assert verdict(asked_whole(CHECK, **texts)) == judged


def not_consistent(code: str, *, flat: bool = True) -> None:
    """The verdict on a false claim, no `flat` one at all; the slow bounds are only computed where they matter."""
    texts = filled(code).texts()
    if not texts["kopen"] and "unsaid" not in (texts["ksampler"], texts["kadj"]):
        assert flat, code
        assert verdict(asked_whole(CHECK, **texts)) == "low", code


@given(data=st.data())
@settings(max_examples=200, deadline=None)
def test_no_misleading_program_makes_a_false_claim_consistent(data: st.DataObject) -> None:
    quantity = data.draw(st.sampled_from(sorted(WORSE)))
    before, written, after = [], {}, []
    for way in data.draw(st.lists(st.sampled_from(sorted(MISLEADING)), min_size=1, max_size=2, unique=True)):
        names = {"q": quantity, "v": GOOD[quantity], "w": WORSE[quantity]}
        first, expression, last = (part.format(**names) for part in MISLEADING[way])
        before, written[quantity], after = [*before, first], expression, [*after, last]
        before.append(data.draw(st.sampled_from(NEUTRAL)))
    not_consistent(program(written, before, after))


@pytest.mark.parametrize("way", REPEATED)
@pytest.mark.parametrize("indented", [False, True])
def test_what_is_done_again_blocks_a_verdict(way: str, *, indented: bool) -> None:
    line = REPEATED[way].format(s=1.1, e=60)
    line = f"def again():\n{textwrap.indent(line, '    ')}\nagain()" if indented else line
    not_consistent(program(after=[line]))


@pytest.mark.parametrize("wrapping", WRAPPED)
def test_a_training_that_is_repeated_blocks_a_verdict(wrapping: str) -> None:
    not_consistent(wrapping.format(inside=textwrap.indent(program(), "    ")))


@pytest.mark.parametrize(("old", "new"), PROGRAMS["places"])
def test_a_program_that_differs_in_one_place_has_no_flat_verdict(old: str, new: str) -> None:
    assert old in program()
    not_consistent(program().replace(old, new), flat=False)


def test_a_conflict_says_its_lines_and_what_settles_it() -> None:
    code = filled("make_private(noise_multiplier=5.0)\nbatch_size = 64\nmake_private(noise_multiplier=0.6)")
    assert any(sentence.startswith("σ: 5 (line 1), 0.6 (line 3). Enter") for sentence in code.sentences)
    assert any(sentence.startswith("several private engines: lines 1, 3.") for sentence in code.sentences)
    said = CHECK.headline(asked(CHECK, **code.texts()))
    assert said.startswith("The claim <b>cannot be")
    assert "cannot be checked yet</b>: the code does not determine N, σ, epochs, δ, claimed ε" in said


@pytest.mark.parametrize(
    ("text", "said"), [*PROGRAMS["refused"], ("x" * (LONGEST + 1), "20,001 characters"),
                       ("a = " + "-" * 5000 + "1", "not valid Python|No number"),
                       ("batch_size = " + "1+" * 5000 + "1", "not valid Python|No number|nested too deeply")]
)  # fmt: skip
def test_what_cannot_be_read_is_said(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        filled(text)


def test_code_is_never_run_and_illegal_values_are_left_out(tmp_path: object) -> None:
    code = filled(f"open({str(tmp_path)!r} + '/x', 'w'); delta = 2; epochs = 3")
    assert not list(tmp_path.iterdir())  # type: ignore[attr-defined]
    assert code.texts()["kepochs"] == "3"
    assert "delta" not in code.texts()
    assert "delta" in code.unsettled
    assert re.search(r"δ: 2 \(line 1\)\. .*must be", "\n".join(code.sentences))


@pytest.mark.parametrize(
    ("texts", "epsilon", "adjacency"),
    [({}, True, "yes"), ({"ksampler": "unsaid"}, False, "yes"), ({"kadj": "unsaid"}, False, "no"),
     ({"kopen": "clip"}, False, "yes"), ({"ksampler": "partition"}, True, "yes")],
)  # fmt: skip
def test_the_card_of_a_claim_bounds_only_what_is_described(
    texts: dict[str, str], epsilon: bool, adjacency: str
) -> None:
    answer = asked_whole(CHECK, **texts)
    made = card(answer.facts)
    assert made.losses.epsilon == (answer.facts.high if epsilon else None)
    assert made.losses.epsilon_published == answer.given["claimed"]
    assert made.replies["adjacency"].answer == adjacency
    assert {made.replies[name].answer for name in ("sampler", "clipping", "tuning", "noise")} == {UNKNOWN}
    assert made.markdown() in {block.source for block in CHECK.more["Use it"](answer)}  # type: ignore[union-attr]


# --- the best of several runs -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("sampler", ["poisson", "shuffled"])
def test_a_fixed_number_of_runs_costs_at_most_what_all_cost_and_at_least_what_one_costs(sampler: str) -> None:
    one, best = (asked_whole(CHECK, ksampler=sampler, tried=runs, trylaw="fixed").facts for runs in ("1", "40"))
    ((step, count),) = one.program.training.above
    all_of_them = float(np.asarray(tight_epsilon_of_events([(step, 40 * count)], 1e-5).upper))
    assert best.low == one.low
    assert one.high < best.high <= all_of_them
    assert one.renyi < best.renyi


@pytest.mark.parametrize("law", ["geometric", "negative_binomial", "poisson"])
def test_a_random_number_of_runs_costs_what_the_library_says(law: Any) -> None:
    one, best = (asked_whole(CHECK, tried=runs, trylaw=law).facts for runs in ("1", "2"))
    plan: dict[str, Any] = {"noise_multiplier": 1.1, "sample_rate": 256 / 60_000, "steps": 14_063, "delta": 1e-5}
    assert best.high == dpviz.tuned_epsilon(**plan, runs=2, law=law)
    assert best.renyi == dpviz.tuned_epsilon(**plan, runs=2, law=law, method="renyi")
    if law == "poisson":  # without a run, with a chance of e^-2, nothing is shown
        assert best.low == pytest.approx(one.low, rel=0.05)
        assert best.low < one.low
    else:
        assert best.low == one.low


def test_a_claim_for_one_run_is_not_consistent_with_the_best_of_40() -> None:
    assert verdict(asked_whole(CHECK, kclaim="3")) == "consistent"
    best = asked_whole(CHECK, kclaim="3", tried="40")
    assert verdict(best) == "between"
    assert "all of them cost" in str({row[0]: row[2] for row in CHECK.below(best)[0].rows}["Runs tried"])  # type: ignore[union-attr]
    assert card(best.facts).replies["tuning"].answer == "yes"
    assert "40, fixed in advance" in card(best.facts).replies["tuning"].why


def test_counted_steps_have_no_random_number_of_runs() -> None:
    with pytest.raises(ValueError, match="choose a fixed number"):
        asked(CHECK, kcounted="1.1x0.01x100~1.3x0.01x100", tried="4", trylaw="geometric")


@pytest.mark.parametrize("name", ["n_trials", "num_trials", "best_of", "runs_tried"])
def test_a_text_says_how_many_runs_there_were(name: str) -> None:
    given = filled(f"noise_multiplier = 1.1\n{name} = 40").texts()
    assert (given["tried"], given["trylaw"]) == ("40", "fixed")
    assert filled("noise_multiplier = 1.1").texts()["tried"] == "1", "those of an earlier text do not stay"
    assert filled("noise_multiplier = 1.1").texts({"tried"}).get("tried") is None, "what a person entered does"
    assert "tried" in filled(f"noise_multiplier = 1.1\n{name} = 40\n{name} = 20").unsettled


def test_a_checked_claim_says_its_epsilon_and_its_batches_to_other_questions() -> None:
    assert carried(of_texts({"kclaim": "3", "ksampler": "shuffled"})) == {"target": "3", "grun": "shuffled"}
    assert carried(of_texts({"kopen": "kclaim", "ksampler": "unsaid"})) == {"grun": "unknown"}, "nobody claims it"
    assert carried(of_texts({"kclaim": "1e9"}))["target"] == "1000000", "the largest target"
