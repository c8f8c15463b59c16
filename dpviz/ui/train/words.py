"""A run in words: the headline, the four figures, what must be said beside it."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

import numpy as np

from dpviz.accounting.bayesian.accountant import NAME as BAYESIAN
from dpviz.accounting.claims import DEMONSTRATION, SHORT, Claim
from dpviz.fields import numbers
from dpviz.questions.answer import Metric, Note
from dpviz.questions.guessing import alone
from dpviz.questions.tight_band import TightBand
from dpviz.questions.train.plan import PlannedCost
from dpviz.runs.claims import last_reading, why_unknown
from dpviz.runs.exchange.disputes import IMPORTED, dispute_words
from dpviz.runs.store.records import RunRecord
from dpviz.runs.views import Array, RunView
from dpviz.training.accounts.origins import beside, conditions_of_start
from dpviz.training.data.own.place import data_of, is_own
from dpviz.training.events import NOT_COVERED
from dpviz.training.methods import METHODS
from dpviz.training.models import RECORDED
from dpviz.training.settings import RunSettings
from dpviz.training.summary import below_majority

STATE_WORDS = {
    "queued": "Waiting",
    "running": "Running",
    "paused": "Paused",
    "restarted": "Restarted",
    "done": "Done",
    "stopped": "Stopped",
    "failed": "Failed",
    "lost": "Lost",
}
# What was asked of a run that has not done it yet.
COMING = {"pause": "<b>Pausing</b> at step", "stop": "<b>Stopping</b> at step", "kill": "<b>Stopping</b> at step"}
EMPTY: Array = np.empty(0)
LONG = 200  # characters of a reason that is no part of a sentence any more


@dataclass(frozen=True, eq=False)
class Look:
    """A run at one moment, with all that is said of it.

    Attributes:
        view: what was recorded.
        settings: of the run; None where it is not one of ours.
        plan: what its plan costs.
        tight: the tight interval so far, a reading as if its end were planned.
        claim: the ε that may be said if it ends here, or of a run that has ended.
        ahead: how many runs go before it while it waits.
    """

    view: RunView
    settings: RunSettings | None
    plan: PlannedCost | None
    tight: TightBand | None
    claim: Claim
    ahead: int = 0

    @property
    def record(self) -> RunRecord:
        return self.view.record

    @property
    def total(self) -> int:
        """The step after which the run ends whatever happens; what it has done where that is not known."""
        return self.settings.last_step if self.settings is not None else max(self.record.steps, 1)

    def last(self, name: str) -> float:
        """The last value of an evaluation's quantity; NaN where there is none."""
        values = self.view.evaluations.get(name, EMPTY)
        return float(values[-1]) if values.size else float("nan")


def share(value: float) -> str:
    """A share as a percentage with one decimal."""
    return f"{100 * value:.1f} %"


def headline(look: Look) -> str:
    """What the run has come to, as HTML."""
    record, view = look.record, look.view
    where = _where(look)
    if record.state == "queued" or not (view.started or view.final):
        return where
    headed = f"<b>{DEMONSTRATION}.</b> " if look.claim.demonstration else ""
    return f"{headed}{where}{_accuracy(look)}{_attacker(look)}"


def _where(look: Look) -> str:
    record, view = look.record, look.view
    reason = escape(record.reason) if len(record.reason) <= LONG else ""  # then it is said below
    step = f"<b>{numbers.steps(record.steps)} of {numbers.steps(look.total)}</b>"
    if record.state == "queued":
        before = f"{look.ahead} run{'s' if look.ahead != 1 else ''}" if look.ahead else "no other run"
        return f"<b>Waiting</b>: {before} before it{f' ({reason})' if reason else ''}."
    if record.state in ("running", "paused") and not view.started:
        return f"<b>Starting</b>: {escape(view.coming) or 'loading the data and trying the untrained network.'}"
    if record.state == "running":
        return f"{COMING.get(record.desired, 'Step')} {step}."
    if record.state == "paused":
        return f"<b>Paused</b> after step {step}."
    if record.state == "restarted":
        again = f" Step {step}." if view.started and record.restarts else ""
        return f"<b>Restarted</b>: {reason or 'its worker ended'}.{again}"
    after = f"after {numbers.steps(record.steps)} step{'s' * (record.steps != 1)}"
    ended = f"{STATE_WORDS[record.state]}</b> {after if record.steps else 'before its first step'}"
    seconds = view.final.get("seconds")
    ended += f" in {duration(float(seconds))}" if isinstance(seconds, (int, float)) else ""
    why = reason if record.state in ("failed", "lost") else ""
    if record.state in ("done", "stopped") and view.final.get("reason") not in (None, "plan", "stopped"):
        why = escape(str(view.final.get("text", ""))[:LONG])
    return f"<b>{ended}{f': {why}' if why else ''}{'' if why.endswith(('.', '!', '?')) else '.'}"


def _accuracy(look: Look) -> str:
    accuracy, which = _right(look)
    if not np.isfinite(accuracy):
        return ""
    example = data_of(look.settings.data).example if look.settings is not None else "test examples"
    at = look.last("step")
    if look.record.over and at < look.record.steps:
        which += f", at step {numbers.steps(at)}"
    return f" <b>{share(accuracy)}</b> right on {example}{which}."


def _right(look: Look) -> tuple[float, str]:
    """The share of right answers on test data, and how they were given; NaN where there are none."""
    posterior = look.last("posterior_accuracy")
    return (posterior, ", posterior mean") if np.isfinite(posterior) else (look.last("test_accuracy"), "")


def _attacker(look: Look) -> str:
    if look.settings is not None and not look.settings.private:
        return " Nothing bounds what an attacker learns: this training is not private."
    if look.settings is None or not look.record.steps:
        return ""
    claim = look.claim.shown
    if not claim.holds:
        return f" No ε can be claimed: {escape(claim.reason)}."
    chance = numbers.probability(claim.guess, up=True)
    so_far = " so far" if not look.record.over else ""
    who = "With secret noise an attacker would guess" if look.claim.demonstration else "An attacker guesses"
    return (
        f" {who} right whether you took part at most <b>{chance}</b> of the "
        f"time{so_far} (<b>ε ≤ {numbers.epsilon(claim.epsilon, up=True)}</b> at δ = {numbers.delta(claim.delta)}, "
        f"{claim.name}{escape(beside(look.settings))}{alone(claim)})."
    )


def duration(seconds: float) -> str:
    """ "0.4 s", "42 s", "3 min 20 s"."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    if seconds < 99.5:
        return f"{seconds:.0f} s"
    return f"{int(seconds + 0.5) // 60} min {int(seconds + 0.5) % 60} s"


def figures(look: Look) -> list[Metric]:
    """The four figures below the charts."""
    return [_bound_figure(look), _tight_figure(look), _accuracy_figure(look), _time_figure(look)]


def _bound_figure(look: Look) -> Metric:
    claim = look.claim
    if look.settings is not None and not look.settings.private:
        return Metric("Privacy loss", "∞", "not private")
    if not look.record.steps:
        return Metric("Claim", "–", "nothing was released yet")
    if claim.demonstration and claim.shown.holds:
        return Metric("Claim", "none", in_words(claim))
    if not claim.holds:
        return Metric("Claim", "none", "see below")
    reading = last_reading(look.view, BAYESIAN)
    bayesian = f"; Bayesian ε_μ ≤ {numbers.epsilon(reading, up=True)}, {NOT_COVERED}" if np.isfinite(reading) else ""
    return Metric(
        "Claim", f"ε ≤ {numbers.epsilon(claim.epsilon, up=True)}", f"{claim.name}, {SHORT[claim.covers]}{bayesian}"
    )


def _tight_figure(look: Look) -> Metric:
    interval, note = look.tight, "had this end been planned"
    if look.plan is not None and as_planned(look):
        interval, note = look.plan.tight, "of the whole plan"
        if interval is not None and look.plan.claim.shown.counts:
            note += ", without its counts"
    elif interval is not None and int(interval.x[-1]) != look.record.steps:
        note = f"had the end been planned at step {numbers.steps(int(interval.x[-1]))}"
    if interval is None:
        return Metric("Tight interval of ε", "–", "")
    # In one piece (word joiners): a second line would push all below it down.
    return Metric("Tight interval of ε", interval.last.replace(" – ", "\u2060–\u2060"), note)


def _accuracy_figure(look: Look) -> Metric:
    test, train = look.last("test_accuracy"), look.last("train_accuracy")
    if not np.isfinite(test):
        return Metric("Test accuracy", "–", "not measured yet")
    details = [f"train {share(train)}, {NOT_COVERED}"] if np.isfinite(train) else []
    if (majority := look.view.started.get("majority")) is not None:
        details.append(f"always the most frequent class: {share(majority)}")
    return Metric("Test accuracy", share(test), "; ".join(details))


def _time_figure(look: Look) -> Metric:
    seconds = look.view.steps.get("seconds", EMPTY)
    if not seconds.size:
        return Metric("Time a step", "–", "")
    mean = float(np.nanmean(seconds[-20:]))
    shown = f"{1000 * mean:.0f} ms" if mean < 1 else f"{mean:.2f} s"
    left = look.total - look.record.steps
    if look.record.over or left <= 0:
        return Metric("Time a step", shown, f"{numbers.steps(look.record.steps)} steps; {NOT_COVERED}")
    return Metric("Time a step", shown, f"about {duration(mean * left)} left; {NOT_COVERED}")


def notes(look: Look, problem: str) -> list[Note]:
    """What must be said beside the charts, the most pressing first."""
    record, view = look.record, look.view
    remarks = []
    if len(record.reason) > LONG and record.over:
        remarks.append(Note(record.reason, "problem"))
    if problem:
        remarks.append(Note(problem, "problem"))
    if view.disputes:
        remarks.append(Note(dispute_words(view.disputes), "problem"))
    if record.imported:
        remarks.append(Note(f"{IMPORTED} {view.checksums}".strip(), "caution"))
    if record.imported and look.settings is not None and is_own(look.settings.data):
        remarks.append(
            Note(
                "Its data are someone's own and unknown here: how many examples there were, on which ε rests, is as "
                "the file says.",
                "caution",
            )
        )
    if look.settings is None:
        why = f" ({why_unknown(record).rstrip('.')})" if why_unknown(record) else ""
        remarks.append(
            Note(f"This run's settings are not those of this version{why}: what can be read is shown.", "caution")
        )
    if record.restarts and record.state != "restarted":
        remarks.append(
            Note(f"Its worker ended and it ran again from step 1: attempt {record.attempt} is shown.", "caution")
        )
    if look.settings is not None and look.settings.private:
        remarks += [Note(f"On condition that {text}.", "caution") for text in conditions_of_start(look.settings)]
    if view.noise and view.noise.get("step") == record.steps:
        remarks.append(Note(_one_step(look)))
    for step, text in view.notes[-2:]:
        remarks.append(Note(f"Step {numbers.steps(step)}: {text}", "caution"))
    if look.last("step") > 0 and (warning := below_majority(_right(look)[0], view.started.get("majority"))):
        remarks.append(Note(warning, "caution"))
    remarks += [Note(text) for text in (_claimed(look), _bayesian_beside(look)) if text]
    return remarks


def as_planned(look: Look) -> bool:
    """Whether the run keeps, or kept to its end, to mechanisms that were fixed ahead."""
    settings = look.settings
    if settings is None or settings.adaptive or settings.past_plan != "stop":
        return False
    return not look.record.over or look.view.final.get("reason") == "plan"


def _claimed(look: Look) -> str:
    """What the claim covers, where that is not simply the plan."""
    claim = look.claim
    if look.settings is None or not look.settings.private or not look.record.steps or not look.record.over:
        return ""
    if not claim.holds:
        return f"No ε is claimed: {in_words(claim) if claim.demonstration else claim.reason}."
    if claim.covers == "plan" and look.view.final.get("reason") == "plan":
        return ""
    return (
        f"The claim ε ≤ {numbers.epsilon(claim.epsilon, up=True)} ({claim.name}): {claim.coverage}. The curves read "
        "the run as if its end had been planned."
    )


def _bayesian_beside(look: Look) -> str:
    """What the Bayesian ε is and why it lies where it does; of runs recorded without such a line at which δ_μ."""
    settings, reading = look.settings, last_reading(look.view, BAYESIAN)
    if settings is None or not settings.bayesian or not np.isfinite(reading):
        return look.view.bayesian_text
    if look.view.bayesian_text:
        claim = look.claim.shown
        known = claim.holds and settings.bayesian_distances == "norms" and claim.delta <= settings.bayesian_delta
        bounded = f" The ε ≤ {numbers.epsilon(claim.epsilon, up=True)} of DP ({claim.name}) bounds Bayesian DP too."
        return look.view.bayesian_text + bounded * (known and claim.epsilon < reading)
    epsilon, delta = numbers.epsilon(reading, up=True), numbers.delta(settings.bayesian_delta)
    return f"Bayesian DP reads ε_μ ≤ {epsilon} at δ_μ = {delta}, {NOT_COVERED}."


def in_words(claim: Claim) -> str:
    """A claim in a few words, wherever there is little room."""
    shown = claim.shown
    if not shown.holds:
        return shown.reason
    bound = f"ε ≤ {numbers.epsilon(shown.epsilon, up=True)} ({shown.name}, {SHORT[shown.covers]})"
    return f"its noise can be replayed; with secret noise {bound}" if claim.demonstration else bound


def _one_step(look: Look) -> str:
    """What the last watched step did: for lectures."""
    steps, noise = look.view.steps, look.view.noise
    drawn, clipped = (steps.get(name, EMPTY) for name in ("batch_size", "clipped"))
    if not drawn.size:
        return ""
    signal, added = float(noise.get("signal", np.nan)), float(noise.get("noise", np.nan))
    cut = (
        f"; {share(float(clipped[-1]))} of their gradients were shortened to C"
        if np.isfinite(clipped[-1:]).all()
        else ""
    )
    ratio = f", {numbers.plain(added / signal, digits=2)} times as long" if signal > 0 else ""
    return (
        f"Step {numbers.steps(look.record.steps)} drew {drawn[-1]:.0f} examples{cut}. The clipped sum has length "
        f"{numbers.plain(signal)}; the noise added to it {numbers.plain(added)}{ratio}. All this is {NOT_COVERED}."
    )


def setting_line(look: Look) -> str:
    """Data, model, device, noise source, assumption: what the numbers speak of, in one quiet line."""
    s, started = look.settings, look.view.started
    if s is None:
        return ""
    known = data_of(s.data)
    whole = s.trained == RunSettings.trained
    count = (known.parameters.get(s.model) if whole else None) or started.get("parameters")
    which = "parameters" if whole else "parameters of the last layer"
    model = RECORDED[s.model].title + (f", {numbers.steps(count)} {which}" if count else "")
    views = [f"{s.views} views of an image"] if s.views > 1 else []
    parts = [METHODS[s.method].label, *views, f"{model} on {known.title}"]
    if started:
        threads = started.get("threads", 1)
        parts.append(f"{started.get('device', '?')}, {threads} thread{'s' * (threads != 1)}")
        parts.append(f"noise: {started.get('noise_source', '?')}")
    if s.private:
        parts.append(
            f"C = {numbers.plain(s.max_grad_norm)}, δ = {numbers.delta(s.delta)}, Poisson sampling, add/remove one"
        )
    return " · ".join(parts)


def evaluation_steps(look: Look) -> str:
    """After which steps the model was tested, which the time it takes may decide; "" before the first test."""
    steps = look.view.evaluations.get("step", EMPTY)
    if not steps.size:
        return ""
    shown = [numbers.steps(step) for step in steps[-4:]]
    earlier = f"{steps.size} times, the last ones " if steps.size > len(shown) else ""
    return f"tested {earlier}after step{'s' * (len(shown) > 1)} {', '.join(shown)}"
