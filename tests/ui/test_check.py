"""The Check page: a form filled from code, and the guarantee card of the settings at hand."""

from dpviz.questions.budget.blocks import Block
from dpviz.questions.check.fields import BATCH, EPOCHS, UNSETTLED
from dpviz.questions.mechanism import RATE, SIGMA, SIZE, STEPS
from tests.ui.driver import go_to, html_of, open_app, open_part, press, put, said, set_to


def test_code_fills_the_form_and_says_what_it_understood() -> None:
    at = open_app("check")
    open_part(at, "check.group", ["Claim", "Described", "From code"], "From code")
    at.text_area(key="snippet").set_value("batch_size = 512\nmake_private(noise_multiplier=1.3)").run()
    press(at, "Fill the form")
    filled = {"batch": 512.0, "sigma": 1.3}
    assert {"batch": set_to(at, RATE) * 60_000, "sigma": set_to(at, SIGMA)} == filled
    assert any("batch = 512 (line 1)" in block.proto.body for block in at.get("html"))
    assert BATCH.key not in at.session_state["value.kopen"]
    assert EPOCHS.key in at.session_state["value.kopen"]
    put(at, f"entry.{EPOCHS.key}", {"entry": {"text": "60", "n": 1.0}})
    assert EPOCHS.key not in at.session_state["value.kopen"], "an entered value settles it, though it stays the same"
    at.text_area(key="snippet").set_value("<b>for").run()
    press(at, "Fill the form")
    assert any("No number of a private training" in text for text in said(at, "problem"))
    assert {"batch": set_to(at, RATE) * 60_000, "sigma": set_to(at, SIGMA)} == filled, "nothing is lost"


def test_what_an_earlier_code_filled_in_counts_no_longer_where_a_later_one_is_silent() -> None:
    at = open_app("check")
    open_part(at, "check.group", ["Claim", "Described", "From code"], "From code")
    for epochs in ("epochs = 45\n", ""):
        at.text_area(key="snippet").set_value(f"batch_size = 512\n{epochs}make_private(noise_multiplier=1.3)").run()
        press(at, "Fill the form")
        assert (EPOCHS.key in at.session_state["value.kopen"]) is not bool(epochs)


def test_a_plan_goes_to_its_card_with_its_settings_and_those_of_the_session() -> None:
    at = open_app("compose", "sigma=3&q=0.02&steps=100&n=5000&delta=1e-6")
    put(at, "compose.details", "Use it")
    press(at, "Guarantee card of these settings")
    go_to(at, "check").run()
    assert "δ = 1e-6" in said(at, "headline")[0]
    assert (set_to(at, SIGMA), set_to(at, RATE), set_to(at, STEPS), set_to(at, SIZE)) == (3.0, 0.02, 100.0, 5000.0)


def test_what_is_typed_into_the_card_is_on_it_as_it_stands() -> None:
    at = open_app("check", "kview=guarantee&sigma=3&steps=10&gwhy=a<script>")
    open_part(at, "check.group", ["Card", "Mechanism", "Pitfalls", "About"], "About")
    (who,) = [one for one in at.text_input if one.label == "Who holds the data"]
    who.set_value("  The city ").run()
    assert not at.exception
    put(at, "check.details", "Use it")
    card = "\n".join(block.value for block in at.markdown)
    assert "| Who holds the data | The city |" in card
    assert "| Intended use | a\\<script> |" in card


def test_only_what_the_code_leaves_open_is_asked_for() -> None:
    at = open_app("check", "kopen=n.kclaim")
    open_part(at, "check.group", ["Claim", "Described", "From code"], "From code")
    (pills,) = [group for group in at.button_group if group.label == UNSETTLED.label]
    assert len(pills.options) == 2
    pills.set_value(["n"]).run()
    assert at.session_state["value.kopen"] == ("n",)
    (pills,) = [group for group in at.button_group if group.label == UNSETTLED.label]
    pills.set_value([]).run()
    assert not [group for group in at.button_group if group.label == UNSETTLED.label]


def test_a_pasted_history_is_translated_and_spent_on_budget() -> None:
    at = open_app("check", "kview=translate")
    assert at.text_area(key="snippet").label == "Paste code", "in sight at first"
    at.text_area(key="snippet").set_value("[(1.1, 0.01, 3000), (0.9, 0.01, 500)]\ndelta = 1e-6").run()
    press(at, "Fill the form")
    blocks = (Block(1.1, 0.01, 3000), Block(0.9, 0.01, 500))
    assert at.session_state["value.kcounted"] == blocks
    assert "σ = 0.9" in said(at, "headline")[0]
    assert "at δ = 1e-6" in " ".join(said(at, "headline")[0].split())
    put(at, "check.details", "Use it")
    press(at, "Spend these steps block by block")
    go_to(at, "budget").run()
    assert at.session_state["value.bblocks"] == blocks
    assert not said(at, "caution")
    put(at, "budget.details", "Use it")
    press(at, "Read the blocks from a program or a history")
    go_to(at, "check").run()
    assert "What does this program train with?" in html_of(at)
