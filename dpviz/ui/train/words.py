"""A run in words: the headline, the four figures, what must be said beside the charts, and its settings in a line."""

import math
from collections.abc import Iterator
from html import escape

from dpviz.accounting.claims import DEMONSTRATION, SHORT, Claim
from dpviz.fields import numbers
from dpviz.questions.train.question import no_guess
from dpviz.questions.words import Metric, Note
from dpviz.runs.claims import why_unknown
from dpviz.runs.exchange.disputes import IMPORTED, dispute_words
from dpviz.runs.told.settings import SAMPLERS as TOLD_SAMPLERS
from dpviz.runs.told.settings import ToldSettings
from dpviz.training.accounts.claims import neighbours
from dpviz.training.accounts.followed import COLUMNS
from dpviz.training.accounts.origins import start_words
from dpviz.training.covered import NOT_COVERED
from dpviz.training.data.own.place import data_of
from dpviz.training.methods import METHODS
from dpviz.training.models import RECORDED
from dpviz.training.samplers import SAMPLERS
from dpviz.training.settings import RunSettings
from dpviz.ui.runs.fields import STATE_WORDS
from dpviz.ui.train.look import EMPTY, Look

TOLD_NOTE = (
    "This run's steps are as told by the program: dpviz saw neither its data nor its clipping nor its noise. Steps "
    "that were not told are not priced."
)
REPORTED_MORE = 1.05  # relative: with fewer orders a library's Rényi ε is a little larger
WORD_JOINER = "\u2060"  # an interval in one piece: a second line would push all below it down
MOST_TESTS = 4  # that are listed

# --- the headline -----------------------------------------------------------------------------------------------------


def headline(look: Look, waits: str = "") -> str:
    """What the run has come to, as HTML, with what it `waits` for."""
    return " ".join(_headline(look, waits))


def _headline(look: Look, waits: str) -> Iterator[str]:
    if look.begun and look.claim.demonstration:
        yield f"<b>{DEMONSTRATION}.</b>"
    yield _progress(look, waits)
    if waits and look.phase != "queued":
        yield escape(f"I{waits[1:]}" if waits.startswith("it ") else waits)
    if not look.begun:
        return
    if not math.isnan(look.accuracy):
        yield _accuracy(look)
    if look.plain:
        yield "This training is not private: nothing bounds what an attacker can learn."
    elif look.released and look.shown.holds:
        yield _bound(look)
    elif look.released:
        yield f"No ε can be claimed: {escape(look.shown.reason)}."


def _progress(look: Look, waits: str) -> str:
    """What it waits for, how far it is, or how it ended."""
    record, step = look.record, numbers.steps(look.record.steps)
    step += "" if look.open_end else f" of {numbers.steps(look.total)}"
    match look.phase:
        case "queued":
            return f"<b>Waiting</b>: {escape(waits.rstrip('.') or _before_it(look))}."
        case "starting":
            coming = look.view.coming or "loading the data and trying the untrained network."
            return f"<b>Starting</b>: {escape(coming)}"
        case "running":
            act = {"go": "Step", "pause": "<b>Pausing</b> at step"}.get(record.desired, "<b>Stopping</b> at step")
            return f"{act} <b>{step}</b>."
        case "paused":
            return f"<b>Paused</b> after step <b>{step}</b>."
        case "restarted":
            again = f" Step <b>{step}</b>." if look.view.started and record.restarts else ""
            return f"<b>Restarted</b>: {escape((look.reason or 'its worker ended').rstrip('.'))}.{again}"
        case _:
            return _end(look)


def _before_it(look: Look) -> str:
    """How many runs go before one that waits."""
    runs = f"{look.ahead or 'no'} other run{'s' * (look.ahead != 1)} ahead of it"
    return f"{runs} ({look.reason})" if look.reason else runs


def _end(look: Look) -> str:
    steps = look.record.steps
    text = f"<b>{STATE_WORDS[look.record.state]}</b> "
    text += f"after {numbers.steps(steps)} step{'s' * (steps != 1)}" if steps else "before its first step"
    if not math.isnan(look.took):
        text += f" in {duration(look.took)}"
    if look.why:
        text += f": {escape(look.why)}"
    return text if look.why.endswith((".", "!", "?")) else f"{text}."


def _accuracy(look: Look) -> str:
    text = f"Accuracy <b>{numbers.tenths(look.accuracy)}</b> on {look.tested_on}"
    if look.posterior:
        text += ", posterior mean"
    return f"{text}, at step {numbers.steps(look.tested)}."


def _bound(look: Look) -> str:
    """Its claim, and what an attacker can reach: before its end what may be said of the steps so far.

    Of a fixed plan an attacker learns no more than all of it would show, so the bound on guesses is from the first step
    on the least of what the odometer proves so far and of what bounds the whole plan.
    """
    shown, settings, goes_on = look.shown, look.settings, not look.record.over
    adjacency = SAMPLERS[settings.sampler if settings else "poisson"].kind.adjacency
    secret = (look.terms.neighbours if look.terms else adjacency).secret
    so_far = " so far" * (goes_on and (shown.covers == "any_end" or look.phase == "restarted"))
    others = escape(start_words(settings)) if settings is not None else ""
    return (
        f"{'With secret noise: ' * look.claim.demonstration}<b>ε ≤ {numbers.up(shown.epsilon)}</b>{so_far} at "
        f"δ = {numbers.delta(shown.delta)} ({shown.name}{others}). {no_guess(secret, shown, so_far=goes_on)}"
    )


# --- the four figures -------------------------------------------------------------------------------------------------


def figures(look: Look) -> list[Metric]:
    """The four figures below the charts; ε and accuracy, which small screens show, are the card of a finished run."""
    return [_claim(look), _test(look), _interval(look), _time(look)]


def _claim(look: Look) -> Metric:
    if look.plain:
        return Metric("Privacy loss", "∞", "not private")
    if not look.record.steps:
        return Metric("Claim", "–", "nothing has been released yet")
    claim = look.claim
    if not claim.holds:
        return Metric("Claim", "none", in_words(claim) if look.shown.holds else "see below")
    note = f"{claim.name}, {SHORT[claim.covers]}{', for one person' * (claim.unit == 'person')}"
    if look.record.over and look.settings is not None:
        note += f"; covers all {numbers.steps(look.record.steps)} steps and models, {neighbours(look.settings)}"
    if look.record.over and look.terms is not None:
        note += f"; covers {numbers.steps(look.record.steps)} told steps, {look.terms.neighbours.name}"
    if not math.isinf(look.reading):
        note += f"; Bayesian ε_μ ≤ {numbers.up(look.reading)}, {NOT_COVERED}"
    return Metric("Claim", f"ε ≤ {numbers.up(claim.epsilon)}", note)


def _interval(look: Look) -> Metric:
    """The PLD interval of the steps so far, of all of them once it is over."""
    name, goes_on = "PLD interval of ε", not look.record.over and not look.began_again
    whole = look.plan.tight if look.plan is not None and look.planned else None
    interval = look.tight if goes_on else look.interval
    if interval is None:
        return Metric(name, "–", "none yet" * goes_on)
    counts = ", without private counts" * bool(whole and look.plan and look.plan.claim.shown.counts)
    end, note = interval.x[-1], "if this end had been planned"
    if look.began_again:
        note = "of all attempts, as the claim"
    elif goes_on:
        note = f"if step {numbers.steps(int(end))} had been planned as its end"
        note += f"; whole plan: {whole.last}{counts}" if whole else ""
    elif whole:
        note = f"for the whole plan{counts}"
    elif end != look.record.steps:
        note = f"if the end had been planned at step {numbers.steps(int(end))}"
    return Metric(name, interval.last.replace(" – ", f"{WORD_JOINER}–{WORD_JOINER}"), note)


def _test(look: Look) -> Metric:
    if math.isnan(look.test):
        return Metric("Test accuracy", "–", "not measured yet")
    parts = [f"at step {numbers.steps(look.tested)}"]
    if not math.isnan(look.train):
        parts.append(f"train {numbers.tenths(look.train)}, {NOT_COVERED}")
    if look.majority is not None:
        parts.append(f"most frequent class: {numbers.tenths(look.majority)}")
    return Metric("Test accuracy", numbers.tenths(look.test), "; ".join(parts))


def _time(look: Look) -> Metric:
    if math.isnan(look.seconds):
        return Metric("Time per step", "–")
    value = f"{1000 * look.seconds:.0f} ms" if look.seconds < 1 else f"{look.seconds:.2f} s"
    done = f"{numbers.steps(look.record.steps)} steps" if math.isnan(look.left) else f"about {duration(look.left)} left"
    return Metric("Time per step", value, f"{done}; {NOT_COVERED}")


# --- notes ------------------------------------------------------------------------------------------------------------


def notes(look: Look) -> list[Note]:
    """What must be said beside the charts, the most pressing first. What a run waits for stands in its headline."""
    disputes = dispute_words(look.view.disputes) if look.view.disputes else ""
    problems = (look.long_reason, disputes)
    return [*(Note(text, "problem") for text in problems if text), *_cautions(look), *_of_the_claim(look)]


def _cautions(look: Look) -> Iterator[Note]:
    record = look.record
    if record.imported:
        yield Note(f"{IMPORTED} {look.view.checksums}".strip(), "caution")
        if look.own_data:
            yield Note(
                "This app does not know the data of this run. It takes the number of examples, on which ε depends, "
                "from the file.",
                "caution",
            )
    if look.terms is not None:
        yield Note(TOLD_NOTE, "caution")
        yield from _reported(look)
    elif look.settings is None:
        unknown = why_unknown(record).rstrip(".")
        why = f" ({unknown})" if unknown else ""
        yield Note(f"This run's settings are from another version{why}: only the readable part is shown.", "caution")
    if record.restarts and record.state != "restarted" and not look.view.continued:
        text = f"Its worker ended, so the run started again at step 1. Attempt {record.attempt} is shown."
        yield Note(text, "caution")
    for condition in look.conditions:
        yield Note(f"The claim holds on condition that {condition}.", "caution")
    if look.batch is not None:
        yield Note(_last_step(look, look.batch))
    for step, text in look.view.notes[-2:]:
        if text == record.reason:  # in the headline
            continue
        yield Note(f"Step {numbers.steps(step)}: {text}", "caution")
    if look.warning:
        yield Note(look.warning, "caution")


def _reported(look: Look) -> Iterator[Note]:
    """What the program's own library says, beside the same steps here."""
    step, theirs, ours = look.reported
    if math.isnan(theirs):
        return
    text = f"The program's library reports ε = {numbers.plain(theirs)} after step {numbers.steps(step)}; "
    text += f"Rényi DP of the told steps gives ε ≤ {numbers.up(ours)}"
    if theirs > REPORTED_MORE * ours:
        yield Note(f"{text}. The library counts more: perhaps not all steps were told.", "caution")
    else:
        yield Note(f"{text}.")


def _last_step(look: Look, batch: float) -> str:
    """The last batch, its clipped sum and the noise."""
    rows = "persons" if look.settings is not None and look.settings.by_person else "examples"
    text = f"Step {numbers.steps(look.record.steps)} drew {batch:.0f} {rows}"
    if not math.isnan(look.clipped):
        text += f"; {numbers.tenths(look.clipped)} of their gradients were clipped to C"
    text += (
        f". The clipped sum has norm {numbers.plain(look.signal)}; the added noise has norm {numbers.plain(look.noise)}"
    )
    if look.signal > 0:
        text += f", {numbers.plain(look.noise / look.signal, digits=2)} times as much"
    return f"{text}. These numbers are {NOT_COVERED}."


def _of_the_claim(look: Look) -> Iterator[Note]:
    claim, shown = look.claim, look.shown
    if look.released and look.record.over and not claim.holds:
        yield Note(f"No ε is claimed: {in_words(claim)}.")
    elif look.released and look.record.over and not (claim.covers == "plan" and look.planned_end):
        yield Note(
            f"The claim ε ≤ {numbers.up(claim.epsilon)} ({claim.name}): {claim.coverage}. The curves show the run as "
            "if its end had been planned."
        )
    of_examples = [float(value) for name in COLUMNS for value in look.view.steps.get(name, EMPTY)[-1:]]
    if of_examples and not math.isnan(of_examples[0]):
        lowest, median, highest = map(numbers.up, of_examples)
        count = "" if look.settings is None else f"{look.settings.followed:,} "
        yield Note(
            f"By their own gradients, the {count}followed examples have lost ε ≤ {lowest} to {highest} each, in the "
            f"median {median} (Feldman and Zrnic 2021): what a filter of that size for each example, set before the "
            "first step, would have allowed. These numbers depend on the examples themselves: they are not private, "
            f"{NOT_COVERED}, and must not be published."
        )
    elif unfollowed := why_unfollowed(look):
        yield Note(unfollowed)
    if look.view.bayesian_text:
        also = f" The bound ε ≤ {numbers.up(shown.epsilon)} of DP ({shown.name}) also bounds Bayesian DP."
        yield Note(f"{look.view.bayesian_text}{also * look.bounded}")
    elif look.bayesian:
        delta = numbers.delta(look.bayesian_delta)
        yield Note(f"Bayesian DP gives ε_μ ≤ {numbers.up(look.reading)} at δ_μ = {delta}, {NOT_COVERED}.")


def why_unfollowed(look: Look) -> str:
    """Why no example has an ε of its own, of a run that measured gradients; empty where none was asked for."""
    if look.terms is not None and look.terms.max_grad_norm is not None:
        return (
            "No example has an ε of its own here: the program tells the norms of each step's batch, and such an ε "
            "needs those of the same examples at every step, in the batch or not (Feldman and Zrnic 2021)."
        )
    if look.record.imported and look.record.steps and look.settings is not None and look.settings.followed:
        return (
            f"The file does not hold the gradient norms of the {look.settings.followed:,} followed examples at all "
            "steps, so none of them has an ε of its own here."
        )
    return ""


# --- its settings -----------------------------------------------------------------------------------------------------


def setting_line(look: Look) -> str:
    """Data, model, device, noise source, assumption, and when the model was tested, in one quiet line.

    What the numbers speak of; the time that a test takes may decide after which steps it is made.
    """
    parts = [] if look.settings is None else [*_trained(look, look.settings)]
    parts += [] if look.terms is None else [*_told(look.terms)]
    return " · ".join([*parts, *([_tested(look.tests)] if look.tests else [])])


def _trained(look: Look, settings: RunSettings) -> Iterator[str]:
    yield METHODS[settings.method].label
    if settings.views > 1:
        yield f"{settings.views} views of an image"
    model = RECORDED[settings.model].title
    if look.parameters:
        model += f", {numbers.steps(look.parameters)} parameters{' of the last layer' * (settings.trained != 'all')}"
    yield f"{model} on {data_of(settings.data).title}"
    if started := look.view.started:
        threads = started.get("threads", 1)
        yield f"{started.get('device', '?')}, {threads} thread{'s' * (threads != 1)}"
        yield f"noise: {started.get('noise_source', '?')}"
    if settings.private:
        yield (
            f"C = {numbers.plain(settings.max_grad_norm)}, δ = {numbers.delta(settings.delta)}, "
            f"{SAMPLERS[settings.sampler].label} batches, {neighbours(settings)}"
        )


def _told(terms: ToldSettings) -> Iterator[str]:
    yield "told by a program"
    yield f"N = {numbers.steps(terms.examples)}, δ = {numbers.delta(terms.delta)}, {terms.neighbours.name}"
    yield TOLD_SAMPLERS[terms.sampler].assumption
    if terms.before:
        yield f"goes on: {numbers.steps(terms.steps_before)} steps before its first one count in every ε"


def _tested(steps: list[float]) -> str:
    """After which steps."""
    often = f"{len(steps)} times, the last ones " if len(steps) > MOST_TESTS else ""
    listed = ", ".join(map(numbers.steps, steps[-MOST_TESTS:]))
    return f"tested {often}after step{'s' * (len(steps) > 1)} {listed}"


# --- parts ------------------------------------------------------------------------------------------------------------


def duration(seconds: float) -> str:
    """ "0.4 s", "42 s", "3 min 20 s"."""
    if seconds < 99.5:
        return f"{seconds:.{int(seconds < 9.95)}f} s"
    return f"{int(seconds + 0.5) // 60} min {int(seconds + 0.5) % 60} s"


def in_words(claim: Claim) -> str:
    """A claim in a few words, wherever there is little room."""
    shown = claim.shown
    if not shown.holds:
        return shown.reason
    whose = ", for one person" * (shown.unit == "person")
    bound = f"ε ≤ {numbers.up(shown.epsilon)} ({shown.name}, {SHORT[shown.covers]}{whose})"
    return f"its noise can be replayed; with secret noise {bound}" if claim.demonstration else bound
