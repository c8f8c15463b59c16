"""Texts that people paste: both readers give the right ε, the same one, and no false claim passes."""

import ast
import json
from pathlib import Path
from typing import Any

import pytest

import dpviz
from dpviz.questions.asked import Asked
from dpviz.questions.pasted.bindings import Bindings
from dpviz.questions.pasted.form import filled
from dpviz.questions.pasted.names import MOST_WORK
from dpviz.questions.pasted.quantities import POISSON_NOT
from dpviz.questions.pasted.reader import read

TABLE = json.loads(Path(__file__).with_name("pasted_texts.json").read_text("utf-8"))
CASES = {case["name"]: case for case in TABLE["cases"]}


def checked(text: str, claimed: float) -> Asked:
    """The claim beside the text, with what the text leaves open said: Poisson batches, one example added or removed."""
    return dpviz.ask("check", code=text, claimed=claimed, **({} if "delta" in text else {"delta": 1e-5}))


def verdict(asked: Asked) -> str:
    answer: Any = asked.answer
    return str(answer.facts.verdict)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_both_readers_give_the_right_epsilon_and_no_false_claim_passes(case: dict[str, Any]) -> None:
    least, most, claimed = case["least"], case["most"], case["false_claim"] or 0.9 * case["least"]
    answer: Any = checked(case["text"], claimed).answer
    assert verdict(checked(case["text"], claimed)) != "consistent"
    blocked = bool(set(answer.given["unsettled"]) - {"kclaim", "clip"})
    if case.get("may_block") and blocked:
        return
    assert not blocked, answer.given["unsettled"]
    assert least <= answer.facts.high <= most
    plan = dpviz.translate(case["text"])
    assert plan.gaps == ()
    delta = plan.delta or 1e-5
    assert least <= plan.epsilon(delta) <= most
    assert answer.facts.high == pytest.approx(plan.epsilon(delta), rel=1e-6), "one text, one answer"


OPACUS = """\
n = {size}
delta = 1e-5
loader = DataLoader(data, batch_size={batch}, drop_last={drop_last})
model, optimizer, loader = PrivacyEngine().make_private(
    module=model, optimizer=optimizer, data_loader=loader, noise_multiplier={sigma}, max_grad_norm=1.0)
for epoch in range({epochs}):
    for x, y in loader:
        optimizer.zero_grad()
        loss(model(x), y).backward()
        optimizer.step()
report(target_epsilon={claimed})
"""


@pytest.mark.parametrize("case", TABLE["opacus"]["cases"], ids=str)
def test_opacus_samples_with_one_over_the_batches_of_its_loader(case: list[Any]) -> None:
    size, batch, epochs, sigma, drop_last, share = case
    batches = size // batch if drop_last else -(-size // batch)
    plan = {"noise_multiplier": sigma, "sample_rate": 1.0 / batches, "steps": epochs * batches, "delta": 1e-5}
    low, high = (float(dpviz.epsilon("tight", **plan, bound=bound)) for bound in ("lower", "upper"))
    claimed = share * (high if share > 1.0 else low)
    values = {"size": size, "batch": batch, "epochs": epochs, "sigma": sigma, "claimed": claimed}
    text = OPACUS.format(drop_last=drop_last, **values)
    asked = dpviz.ask("check", code=text, claimed=claimed, adjacency="add_remove")
    facts: Any = asked.answer.facts
    assert (facts.low, facts.high) == pytest.approx((low, high), rel=1e-9)
    assert verdict(asked) == ("consistent" if share > 1.0 else "low")
    assert dpviz.translate(text).epsilon() == pytest.approx(high, rel=1e-9)
    unread = dpviz.ask("check", code=text.replace(str(drop_last), "last"), claimed=claimed, adjacency="add_remove")
    assert verdict(unread) != ("low" if share > 1.0 else "consistent")


HEAD = "n = 60000\nbatch_size = 256\nnoise_multiplier = 1.1\n"
TRAIN = "def train(loader):\n    for x, y in loader:\n        optimizer.step()\n"
# Loops, and the fewest and the most steps that they may stand for; an epoch has 234.375.
LOOPS = {
    "epochs of a loader": ("for i in range(60):\n    for x in loader:\n        optimizer.step()", 14063, 14063),
    "a range that starts at 1": (
        "for epoch in range(1, 61):\n    for x in loader:\n        optimizer.step()",
        14063,
        14063,
    ),
    "a range with a step": ("for i in range(0, 120, 2):\n    for x in loader:\n        optimizer.step()", 14063, 14063),
    "a resumed run": ("for epoch in range(40, 60):\n    for x in loader:\n        optimizer.step()", 4688, 14063),
    "trange": ("for i in trange(60):\n    for x in tqdm(loader):\n        optimizer.step()", 14063, 14063),
    "enumerate": (
        "for i, _ in enumerate(range(60)):\n    for j, x in enumerate(loader):\n        optimizer.step()",
        14063,
        14063,
    ),
    "zip": ("for i, x in zip(range(500), loader):\n    optimizer.step()", 500, 500),
    "a draw in each step": (
        "for i in range(500):\n    x, y = next(batches)\n    params = update(params, x, y)",
        500,
        500,
    ),
    "a test loop in each step": (
        "for i in range(500):\n    optimizer.step()\n    for x in test_loader:\n        score(model, x)",
        500,
        500,
    ),
    "a loop of a called function": (TRAIN + "for update in range(60):\n    train(loader)", 14063, 14063),
    "functions in a function": (
        TRAIN + "def run():\n    for i in range(60):\n        train(loader)\nrun()",
        14063,
        14063,
    ),
    "a function that cannot be seen": ("for i in range(60):\n    train_one(model, loader)", 60, 14063),
    "a comprehension": ("for step in range(60):\n    [update(x) for x in loader]", 60, 14063),
    "map": ("for batch in range(60):\n    list(map(update, loader))", 60, 14063),
    "three counted loops": (
        "for a in range(2):\n    for b in range(3):\n        for c in range(500):\n            optimizer.step()",
        3000,
        3000,
    ),
    "rounds of epochs": (
        "for r in range(10):\n    for e in range(6):\n        for x in loader:\n            optimizer.step()",
        14063,
        14063,
    ),
    "a generator in one comprehension": ("[optimizer.step() for epoch in range(60) for x in loader]", 14063, 14063),
    "an accountant beside the optimizer": (
        "for i in range(500):\n    optimizer.step()\n    acc.step(noise_multiplier=1.1, sample_rate=256 / 60000)",
        500,
        500,
    ),
    "names that multiply": ("num_rounds = 12\nlocal_steps = 5", 60, 60),
    "steps and epochs": ("epochs = 20\nsteps = 1000", 1000, 4688),
}


@pytest.mark.parametrize(("loop", "fewest", "most"), LOOPS.values(), ids=LOOPS)
def test_loops_give_the_steps_that_they_may_take(loop: str, fewest: int, most: int) -> None:
    answer: Any = dpviz.ask("check", code=HEAD + loop, claimed=0.01).answer
    assert not set(answer.given["unsettled"]) - {"delta", "kclaim", "clip"}
    assert (answer.facts.program.length.fewest, answer.facts.program.length.most) == (fewest, most)
    [(_, count)] = dpviz.translate(HEAD + loop).events
    assert count == most


# Texts whose length cannot be known: no verdict.
UNKNOWN = {
    "while": "while not done:\n    optimizer.step()",
    "a loop that nobody counts": "for x in forever():\n    optimizer.step()",
    "seeds": "for seed in range(5):\n    for x in loader:\n        optimizer.step()",
    "two trainings": "epochs = 3\nmodel.fit(x)\nmodel.fit(x)",
    "rounds of unknown work": "local_epochs = 5",
    "a history that is continued": "acc.history = [(1.1, 0.01, 500)]\nfor i in range(60):\n    optimizer.step()",
    "a step that may loop": "for i in range(60):\n    optimizer.step()\n    train_more(model, loader)",
    "two values": "epochs = 3\nepochs = 30",
}


@pytest.mark.parametrize("loop", UNKNOWN.values(), ids=UNKNOWN)
def test_a_length_that_is_not_known_gets_no_verdict(loop: str) -> None:
    asked = dpviz.ask("check", code=HEAD + "poisson_sampling = True\ndelta = 1e-5\nmax_grad_norm = 1\n" + loop,
                      claimed=1e9, adjacency="add_remove")  # fmt: skip
    assert verdict(asked) == "unsettled"
    assert dpviz.translate(HEAD + loop).gaps


def test_a_verdict_holds_for_both_readings_only() -> None:
    text = HEAD + "poisson_sampling = True\ndelta = 1e-5\nmax_grad_norm = 1\nfor i in range(60):\n    train_one(loader)"
    verdicts = {claim: verdict(dpviz.ask("check", code=text, claimed=claim, adjacency="add_remove"))
                for claim in (0.1, 1.0, 2.6)}  # fmt: skip
    assert verdicts == {0.1: "low", 1.0: "between", 2.6: "consistent"}
    understood = dpviz.ask("check", code=text, claimed=1.0).understood
    assert any("60 epochs (line 7) or 60 steps (line 7)" in sentence for sentence in understood)


def test_what_a_call_gives_itself_stands_in_the_place_of_the_texts_value() -> None:
    text = HEAD + "epochs = 60\ndelta = 1e-5\nmax_grad_norm = 1\nclaimed_epsilon = 9"
    asked = dpviz.ask("check", code=text, claimed=2.4, sampler="poisson", adjacency="add_remove")
    assert verdict(asked) == "consistent"
    assert asked.answer.given["claimed"] == 2.4
    assert "N = 60 000 (line 1)" in asked.understood[0].replace("\u202f", " ").replace("\u00a0", " ").replace(",", " ")
    assert dpviz.ask("check", **{**asked.answer.given, "code": text}).headline == asked.headline


def test_an_event_is_composed_as_often_as_its_loops_run() -> None:
    event = "event = PoissonSampledDpEvent(0.01, GaussianDpEvent(1.1))\n"
    texts_of = {
        "acc.compose(event, 3510)": 3510, "for i in range(3510):\n    acc.compose(event)": 3510,
        "acc.compose(event)\nacc.compose(event, count=9)": 10, "print(epsilon(event))": 1,
    }  # fmt: skip
    for text, steps in texts_of.items():
        assert dpviz.translate(event + text).events == ((dpviz.SampledGaussian(1.1, 0.01), steps),)
    with pytest.raises(ValueError, match="how often this event is composed"):
        dpviz.translate(event + "while True:\n    acc.compose(event)")


def test_every_evaluation_counts_in_one_budget_of_work() -> None:
    lines = [f"n{i} = n{i + 1}\n" * 2 for i in range(40)]
    tree = ast.parse("".join(lines) + "f(**n0)\nsigma = n0\nprint(n0.sigma)\n")
    bindings = Bindings(tree)
    assert bindings.readings("sigma")
    assert bindings.work <= MOST_WORK + 2 * len(lines)
    assert read("sigma = 1.1\n" + "".join(lines) + "f(**n0)").opaque


@pytest.mark.parametrize("word", sorted(filter(None, POISSON_NOT)))
def test_a_poisson_loader_with_a_sampler_of_its_own_is_not_read_as_poisson(word: str) -> None:
    plain = "CyclicPoissonSampling(sampling_prob=0.01, iterations=10)\nsigma = 1.1"
    assert filled(plain).texts()["ksampler"] == "poisson"
    other = filled(plain.replace("iterations=10", f"iterations=10, {word}=256"))
    assert other.texts()["ksampler"] == "unsaid"
    assert any("line 1 not read" in sentence for sentence in other.sentences)


def test_names_that_a_variable_sets_leave_all_open() -> None:
    lines = "for key, value in overrides.items():\n    setattr(config, key, value)\n"
    for text, opened in ((HEAD, False), (HEAD + lines, True), (HEAD + "setattr(config, 'lr', 1)", False)):
        assert ("unread" in filled(text).unsettled) is opened


def test_added_batches_are_poisson_samples_or_one_larger_batch() -> None:
    text = HEAD.replace("256", "32") + "accumulation_steps = 8\nepochs = 60\n"
    values = {"code": text, "claimed": 1.0, "adjacency": "add_remove"}
    independent, fixed = (dpviz.ask("check", sampler=sampler, **values).answer for sampler in ("poisson", "fixed"))
    steps = independent.facts.program.length.most
    assert steps == fixed.facts.program.length.most == 14063
    exact = dpviz.epsilon("tight", mechanism=dpviz.PersonRows(1.1, 32 / 60000, 8), steps=steps, delta=1e-5)
    assert independent.facts.high == pytest.approx(exact, rel=1e-9)
    whole = dpviz.ask("check", size=60000, batch=256, epochs=60, noise_multiplier=1.1, sampler="fixed", claimed=1.0)
    assert fixed.facts.high == whole.answer.facts.high
