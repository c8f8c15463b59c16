"""What settings, logs and printed statements say of batches, neighbours, persons and lengths, in many spellings."""

from typing import Any

import pytest

import dpviz
from dpviz.questions.pasted.form import filled

PLAN = {"noise_multiplier": 1.1, "batch_size": 256, "epochs": 15, "dataset_size": 60000, "delta": "1e-5"}
# A key and its value, as each style writes it.
STYLES = {
    "yaml": lambda pairs: "\n".join(f"{key}: {value}" for key, value in pairs),
    "toml": lambda pairs: "[dp]\n" + "\n".join(f"{key} = {quoted(value)}" for key, value in pairs),
    "json": lambda pairs: "{" + ", ".join(f'"{key}": {quoted(value)}' for key, value in pairs) + "}",
    "python": lambda pairs: f"config = dict({', '.join(f'{key}={python(value)}' for key, value in pairs)})",
    "argparse": lambda pairs: "\n".join(
        f"parser.add_argument('--{key.replace('_', '-')}', default={python(value)})" for key, value in pairs
    ),
    "command": lambda pairs: (
        "python train.py " + " ".join(f"--{key.replace('_', '-')} {value}" for key, value in pairs)
    ),
    "upper case": lambda pairs: "\n".join(f"{key.upper()} = {python(value)}" for key, value in pairs),
}


def quoted(value: object) -> str:
    plain = isinstance(value, int | float) or str(value) in ("true", "false", "null", "1e-5")
    return str(value) if plain else f'"{value}"'


def python(value: object) -> str:
    return {"true": "True", "false": "False", "null": "None"}.get(str(value), quoted(value))


def texts(style: str, *pairs: tuple[str, object]) -> dict[str, str]:
    """What the form is filled with."""
    return filled(STYLES[style]([*PLAN.items(), *pairs])).texts()


SAMPLERS = {
    ("sampler", "shuffle"): "shuffled",
    ("sampler", "RandomSampler"): "shuffled",
    ("sampling", "fixed_size"): "fixed",
    ("sampling", "fixed-size"): "fixed",
    ("sampling_method", "without_replacement"): "fixed",
    ("sampling_strategy", "with_replacement"): "replacement",
    ("batch_sampler", "sequential"): "partition",
    ("batching", "shuffled"): "shuffled",
    ("data_sampler", "POISSON"): "poisson",
    ("sampling", "poisson_sampling"): "poisson",
    ("sampler_type", "UniformWithReplacementSampler"): "poisson",
    ("sampling_scheme", "balls_in_bins"): "allocation",
    ("poisson", "false"): "shuffled",
    ("poisson_sampling", "true"): "poisson",
    ("use_poisson_sampling", "false"): "shuffled",
    ("shuffle", "true"): "shuffled",
    ("shuffled", "true"): "shuffled",
    ("shuffle", "false"): "partition",
    ("sampler", "null"): "unsaid",
    ("sampler", "weighted"): "unsaid",
    ("sampling", "random"): "unsaid",
    ("sampler", 3): "unsaid",
}
UNKNOWN = [("sampler", "weighted"), ("sampling", "random")]


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("pair", SAMPLERS, ids=str)
def test_a_sampler_is_read_in_every_style(style: str, pair: tuple[str, Any]) -> None:
    assert texts(style, pair)["ksampler"] == SAMPLERS[pair]


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("pair", UNKNOWN, ids=str)
def test_a_sampler_that_is_not_understood_is_named_and_blocks_the_verdict(style: str, pair: tuple[str, str]) -> None:
    text = STYLES[style]([*PLAN.items(), ("max_grad_norm", 1.0), pair])
    assert any(sentence.startswith("batches: line") and "not read" in sentence for sentence in filled(text).sentences)
    assert any("How batches are made is not clear" in gap for gap in dpviz.translate(text).gaps)
    answer: Any = dpviz.ask("check", code=text, claimed=50.0, adjacency="add_remove").answer
    assert answer.facts.verdict == "open"


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize(
    ("key", "value", "relation"),
    [("adjacency", "replace_one", "replace"), ("adjacency", "REPLACE-ONE", "replace"),
     ("neighbors", "bounded", "replace"), ("neighboring_relation", "substitute", "replace"),
     ("neighbouring_relation", "add_or_remove_one", "add_remove"),
     ("adjacency", "unbounded", "add_remove"), ("adjacency", "hamming", "unsaid"), ("adjacency", "null", "unsaid")],
)  # fmt: skip
def test_neighbours_are_read_in_every_style(style: str, key: str, value: str, relation: str) -> None:
    assert texts(style, (key, value))["kadj"] == relation


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize(
    "key", ["max_examples_per_user", "examples_per_user", "records_per_patient", "contribution_bound"]
)
def test_the_rows_of_a_person_are_read_in_every_style(style: str, key: str) -> None:
    assert texts(style, (key, 5))["kpersons"] == "5"
    text = STYLES[style]([*PLAN.items(), (key, 5)])
    expected = dpviz.epsilon("tight", mechanism=dpviz.PersonRows(1.1, 256 / 60000, 5), steps=3516, delta=1e-5)
    assert dpviz.translate(text).epsilon() == expected
    answer: Any = dpviz.ask("check", code=text, claimed=1.14).answer
    assert answer.facts.high == expected


@pytest.mark.parametrize("style", STYLES)
def test_one_example_of_a_person_is_what_is_counted_anyway(style: str) -> None:
    assert texts(style, ("max_examples_per_user", "null"))["kpersons"] == "1"
    assert texts(style, ("max_examples_per_user", 1))["kpersons"] == "1"
    assert "others" not in texts(style, ("privacy_unit", "example"))["kopen"]


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize(
    "pair", [("privacy_unit", "user"), ("dp_level", "document"), ("user_level", "true"), ("target_epsilon", 3)], ids=str
)
def test_another_unit_and_a_target_that_may_choose_the_noise_block_a_verdict(style: str, pair: tuple[str, Any]) -> None:
    assert "others" in texts(style, pair)["kopen"].split(".")
    text = STYLES[style]([*PLAN.items(), pair])
    assert any(pair[0] in gap for gap in dpviz.translate(text).gaps)


def test_a_report_of_a_target_is_no_second_way_to_choose_the_noise() -> None:
    text = "make_private(noise_multiplier=1.1)\nreport(target_epsilon=2.6)"
    assert "others" not in filled(text).texts()["kopen"]
    assert "others" in filled("train(noise_multiplier=1.1, target_epsilon=2.6)").texts()["kopen"]
    assert "others" not in filled("train(noise_multiplier=1.1, target_epsilon=None)").texts()["kopen"]


def test_two_samplers_are_no_answer() -> None:
    assert texts("yaml", ("sampler", "shuffle"), ("sampling", "poisson"))["ksampler"] == "unsaid"


CLIENTS = "num_clients: 3400\nclients_per_round: 50\nnum_rounds: 1500\nnoise_multiplier: 0.5\ndelta: 1e-4\n"


def test_clients_are_what_examples_are_elsewhere() -> None:
    expected = dpviz.epsilon("tight", noise_multiplier=0.5, sample_rate=50 / 3400, steps=1500, delta=1e-4)
    for text in (
        CLIENTS,
        CLIENTS + "batch_size: 20\nsamples_per_user: 30\n",
        CLIENTS.replace("_per_round", "_per_round"),
    ):
        assert dpviz.translate(text).epsilon() == expected
        assert any("A client is what" in said for said in dpviz.translate(text).assumptions)
        given = filled(text).texts()
        assert (given["n"], given["kbatch"]) == ("3400", "50")


STATEMENT = """\
DP-SGD performed over 401567 examples with 256 examples per iteration, noise
multiplier 1.1 for 11 epochs {micro} microbatching, and {bound} examples
per user.

Example-level DP with add-or-remove-one adjacency at delta = 1e-05 computed with
RDP accounting:
    Epsilon with each example occurring once per epoch:        45.573
    Epsilon assuming Poisson sampling (*):                      3.932
"""
USERS = """
User-level DP with add-or-remove-one adjacency at delta = 1e-05 computed using
RDP accounting and group privacy:
    Epsilon with each example occurring once per epoch:       812.100
    Epsilon assuming Poisson sampling (*):                     15.200
"""
UNBOUNDED = STATEMENT.format(micro="with", bound="no bound on number of")


def judged(text: str, claimed: float) -> str:
    code = filled(text)
    answer: Any = dpviz.ask("check", code=text, claimed=claimed, unsettled=tuple(set(code.unsettled) - {"clip"})).answer
    return str(answer.facts.verdict)


def test_a_statement_with_microbatching_names_both_epsilons() -> None:
    code = filled(UNBOUNDED)
    said = next(sentence for sentence in code.sentences if "microbatch" in sentence)
    assert "line 2" in said
    assert "ε ≤ 43.15" in said
    assert "ε ≤ 16.79" in said
    assert (code.texts()["kclaim"], code.texts()["ksampler"], code.texts()["kadj"]) == (
        "45.573",
        "partition",
        "add_remove",
    )
    assert any("43.15" in gap and "16.79" in gap for gap in dpviz.translate(UNBOUNDED).gaps)


@pytest.mark.parametrize(
    ("claimed", "verdict"), [(43.2, "consistent"), (43.1, "unsettled"), (17.0, "unsettled"), (3.9, "unsettled")]
)
def test_there_is_no_verdict_below_what_microbatching_costs(claimed: float, verdict: str) -> None:
    assert judged(UNBOUNDED, claimed) == verdict


@pytest.mark.parametrize(("claimed", "verdict"), [(17.0, "consistent"), (16.0, "low"), (3.9, "low")])
def test_a_statement_without_microbatching_is_judged(claimed: float, verdict: str) -> None:
    assert judged(STATEMENT.format(micro="without", bound="no bound on number of"), claimed) == verdict


def test_a_statement_for_users_claims_the_epsilon_of_a_user() -> None:
    given = filled(STATEMENT.format(micro="without", bound="at most 5") + USERS).texts()
    assert (given["kpersons"], given["kclaim"], given["ksigma"]) == ("5", "812.1", "1.1")


@pytest.mark.parametrize(
    ("words", "steps"),
    [("steps = 3510", 3510), ("3510 steps", 3510), ("iterated over 3,510 steps", 3510), ("for 35.1 epochs", 3510),
     ("T = 3510 steps", 3510), ("after 3510 iterations", 3510)],
)  # fmt: skip
@pytest.mark.parametrize("rate", ["q = 0.01", "sampling rate = 1%", "sample_rate: 1.0 %", "sampling probability 1e-2"])
def test_a_log_says_numbers_before_their_words_and_rates_in_percent(words: str, steps: int, rate: str) -> None:
    plan = dpviz.translate(f"DP-SGD with {rate}, noise_multiplier = 1.1, {words}, delta = 1e-05")
    assert [(step.sample_rate, count) for step, count in plan.events] == [(0.01, steps)]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "words", ["evaluated every 100 steps", "warm-up of 100 steps", "100 steps per epoch", "last 100 steps"]
)
def test_counts_of_something_else_are_no_length(words: str) -> None:
    assert dpviz.translate(f"q = 0.01, noise_multiplier = 1.1, {words}, delta = 1e-05").events == ()


HISTORY = "'history', [(1.1, 0.004, 1410)]"


@pytest.mark.parametrize(
    "text",
    ["{{'model': OrderedDict([('w', tensor([[0.1, -0.2, 0.3]]))]), 'accountant': OrderedDict([({history})])}}",
     "{{'w': tensor([[0.1, 0.2, 0.3],\n  [0.4, 0.5, 0.6]], device='cuda:0', grad_fn=<AddBackward0>), {history_pair}}}",
     "OrderedDict([('w', Parameter containing:\ntensor([1., 2., 3.], requires_grad=True))])\n[(1.1, 0.004, 1410)]",
     "{{'step': tensor(1410., device='cuda:0'), 'w': array([[1., 2., 3.]], dtype=float32), {history_pair}}}"],
)  # fmt: skip
def test_rows_of_tensors_are_no_history(text: str) -> None:
    filled_in = text.format(history=HISTORY, history_pair="'history': [(1.1, 0.004, 1410)]")
    assert dpviz.translate(filled_in).events == ((dpviz.SampledGaussian(1.1, 0.004), 1410),)
