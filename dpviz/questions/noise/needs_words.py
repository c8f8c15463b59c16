"""Words of both questions about a target ε: how much noise each guarantee needs, or how much else it allows."""

from collections.abc import Iterator

from dpviz.accounting.meanings import DELTA_MU
from dpviz.accounting.methods import Tight
from dpviz.accounting.tuning import SCORE
from dpviz.fields import numbers
from dpviz.questions import LATER, Formula, Metric, Note, Words, kinds, setting
from dpviz.questions.methods import NAMES, method, without
from dpviz.questions.noise.curves import name_of
from dpviz.questions.noise.needs import ANY, Needs
from dpviz.questions.noise.reasons import reasons
from dpviz.questions.noise.settings import TARGET
from dpviz.questions.shared import LAW

FAMILIES = {"weibull": "Weibull", "lognormal": "log-normal", "halfnormal": "half-normal"}


def headline(f: Needs) -> str:
    answer = best_answer(f)
    if f.ask.tried > 1 and f.tunable and not f.tuned.why:
        runs = numbers.steps(f.ask.tried)
        mean = "" if f.ask.law == "fixed" else " on average"
        answer += f" For the best of {runs} runs{mean}: <b>{f.symbol} = {f.tuned_text}</b>."
    return answer


def best_answer(f: Needs) -> str:
    """The answer of the best method, DP's where there is one."""
    target = f"<b>{setting(TARGET, 'ε ≤', numbers.at_most(f.target))}</b>"
    given = ", ".join(f.given)
    key, tight = f.dp or f.bayesian, f.needs.get(Tight.name)
    if key is None and Tight.name in f.valid and tight is not None and tight.waits:
        return f"For {target} only the PLD accountant has an answer here, which is {LATER}."
    if key is None:
        axis = f" on this {f.symbol} axis" if f.axis else ""
        return f"No chosen method reaches {target} with {given}{axis}: the notes say why."
    exactly = f"; the PLD accountant needs {f.exactly}" if f.exactly else ""
    return f"To keep {target} with {given}, {what_is_enough(f, key)} ({guarantee(f, key)}){exactly}."


def what_is_enough(f: Needs, key: str) -> str:
    """Continues "To keep the target, …"."""
    text = f.text(key)
    if f.unknown == "steps":
        return f"you may take <b>{'any number of' if text == ANY else text} {f.ask.mechanism.step}s</b>"
    if f.unknown == "sample_rate":
        return f"you may use the sampling rate <b>{f.symbol} = {text}</b>"
    if f.unknown == "delta":
        return f"you may state <b>{f.symbol if f.dp else 'δ<sub>μ</sub>'} = {text}</b>"
    return "<b>no noise</b> is needed" if f.needs[key].value == 0 else f"noise <b>{f.symbol} = {text}</b> is enough"


def guarantee(f: Needs, key: str) -> str:
    """Which guarantee an answer has."""
    if f.dp:
        return NAMES[key]
    data = "of this distribution" if f.known else "like the sample"
    return f"Bayesian DP, for data {data}{'' if f.certified else '; an estimate, not a bound'}"


def metrics(f: Needs) -> Iterator[Metric]:
    if f.dp is not None:
        attack = "" if f.chance.curve is None else f"; best attack accuracy ≤ {f.chance.right}"
        yield Metric(f"DP: {f.symbol}", f.text(f.dp), f"{name_of(f.dp)}{attack}")
    if f.bayesian is not None:
        yield bayesian_metric(f, f.bayesian)
    if (tight := f.needs.get(Tight.name)) and (tight.waits or tight.value is not None):
        yield Metric(f"PLD: {f.symbol}", f.text(Tight.name), "what the mechanism needs")
    if f.here:
        key, epsilon = f.here
        name = f"ε at my {f.ask.mechanism.symbol} = {numbers.entered(f.noise)}"
        yield Metric(name, numbers.up(epsilon), name_of(key))
    else:
        yield f.chance.figure


def bayesian_metric(f: Needs, key: str) -> Metric:
    """Its best answer, and what that saves."""
    data = "for norms of this distribution" if f.known else "certified" if f.certified else "estimate, no bound"
    saved = f"; {f.saved} against {name_of(f.compared)}" if f.saved and f.compared else ""
    return Metric(f"Bayesian DP: {f.symbol}", f.text(key), f"weaker; {data}; clipped at {f.quantile(key)}{saved}")


def notes(f: Needs) -> Iterator[Note]:
    yield from f.problem
    if f.ask.tried > 1:
        yield Note(several_runs(f))
    yield from map(Note, without(f.ask.left))
    yield from map(Note, reasons(f))
    if f.dotted is not None:
        yield Note(dotted(f, f.dotted), "caution")
    if f.known and not f.problem:
        yield Note(known_distribution(f))
    if f.size and not f.problem:
        yield Note(f"Bayesian DP{sampled(f)}", "caution")


def several_runs(f: Needs) -> str:
    """What the number for the best of several runs rests on."""
    if not f.tunable:
        return "The best of several runs has no answer here: all numbers are those of one run."
    if f.tuned.why:
        return f"The best of several runs has no answer here: {f.tuned.why}"
    if f.ask.law == "fixed":
        return (
            "The number for the best of several runs adds up what all of them cost: how many there are is fixed in "
            f"advance. {SCORE} All other numbers are those of one run."
        )
    law = f"{LAW.options[f.ask.law]}, mean {numbers.steps(f.ask.tried)}"
    return (
        "The number for the best of several runs holds under three conditions. The number of runs is drawn at random "
        f"({law}), in advance and independently of the data, and kept secret. Only the best run is released. "
        f"{SCORE} All other numbers are those of one run."
    )


def dotted(f: Needs, names: list[str]) -> str:
    """What a dotted curve means, and the `names` of those that reach the target there."""
    meaning = (
        "Dotted: a single distance makes up more than half of the Bayesian estimate, and more samples may raise it."
    )
    if not names:
        return meaning
    clip = "set “Clip” to “Both”, or " if f.ask.clip == "dp" else ""
    return f"{meaning} The answer of {', '.join(names)} depends on this part: {clip}draw more samples."


def known_distribution(f: Needs) -> str:
    """What Bayesian DP rests on where the distribution of norms is known."""
    assert f.known is not None
    shape = "" if f.known.family == "halfnormal" else f" of shape {numbers.plain(f.known.shape)}"
    text = (
        f"Bayesian DP: the norms are {FAMILIES[f.known.family]}{shape}, a known distribution, so there is no sample "
        "and no γ. The guarantee is Definition 2 with the improved Rényi conversion: compare it with Rényi DP "
        "(improved)."
    )
    if f.over_median is None or f.bayesian is None:
        return text
    threshold, noise = map(numbers.plain, f.over_median)
    return (
        f"{text} With C at the {f.quantile(f.bayesian)} quantile, {threshold} × the median norm, the noise σC is "
        f"{noise} × the median norm: a higher quantile lowers σ but raises C."
    )


def sampled(f: Needs) -> str:
    """Continues "Bayesian DP" where it rests on a sample."""
    if not f.independent:
        return (
            ": pairs share gradients, so the distances are not independent and γ does not hold. Only the estimate as "
            "printed is drawn. Disjoint pairs give a bound."
        )
    if not f.certified:
        return " without clipping: there is no largest distance, so there is only the estimate as printed."
    if not f.axis:
        return ": the answers are certified, not those of the estimate as printed."
    drawn = ": solid is certified; dashed is the asymptotic estimate as printed, which is not a bound."
    if not f.unseen:
        return drawn
    return (
        f"{drawn} {f.unseen}: where the curve meets the target, most of the bound covers large distances that "
        f"{numbers.steps(f.size)} samples cannot rule out at γ. More samples would lower it."
    )


def formulas(f: Needs) -> Iterator[Formula]:
    best = r"\max" if f.unknown in ("steps", "sample_rate") else r"\min"
    symbol, noise, target = tex_symbol(f.symbol), tex_symbol(f.ask.mechanism.symbol), numbers.at_most(f.target)
    yield Formula(
        "every method",
        rf"{symbol}^* = {best}\{{\,{symbol} : \varepsilon({noise}, q, T, \delta) \le {target}\,\}}",
    )
    for key in f.needs:
        if key in f.ask.dp:
            epsilon, text = method(key, f.ask.amplification).formula, f.text(key).replace("−", "-")
            answer = rf"\varepsilon = {epsilon} \le {target}\ \Rightarrow\ {symbol} = \text{{{text}}}"
            yield Formula(name_of(key), answer)
    if f.known:
        yield Formula(
            "Bayesian DP",
            r"\varepsilon_\mu = \min_\alpha \frac{\ln \mathbb E_d A(\alpha, d)^T - \ln(\alpha\delta_\mu)} {\alpha - 1}"
            rf" + \ln\frac{{\alpha - 1}}{{\alpha}} \le {target},\quad \text{{noise}} = \sigma C",
        )
    if f.size:
        yield Formula(
            "Bayesian DP",
            r"\varepsilon_\mu = \min_\lambda \frac1\lambda\left(T\,\hat c(\lambda, T) - \ln(\delta_\mu - \gamma)\right)"
            rf" \le {target},\quad \text{{noise}} = \sigma \cdot \text{{sensitivity}}(C)",
        )


def tex_symbol(symbol: str) -> str:
    return {"σ": r"\sigma", "δ": r"\delta"}.get(symbol, symbol)


def assumptions(f: Needs) -> str:
    return f"""
{kinds.assumed(f.ask.mechanism).strip()}
- **Answers are rounded to the safe side:** noise and δ up, q and T down. Each one was checked with its accountant.
- **σ** is the standard deviation of the noise divided by C, also where an example is replaced; only for measured pairs
  of gradients it is divided by 2C. DP and Bayesian DP get the same noise at every clipping quantile.
- **Less noise for Bayesian DP** means a weaker guarantee. It holds for examples drawn like the sample, on average over
  them. Outliers have only what DP guarantees at that σ. **δ_μ:** {DELTA_MU} Its authors measure
  distances of pairs. With sampled batches, these do not bound the cost of adding one example, nor always that of
  replacing one; norms bound the cost of adding or removing one. *Certified* answers (solid) fail with probability at
  most γ, at every sample size and for every search. They assume independent draws, a C that is fixed in advance, and
  clipping that keeps distances below d_max. *As printed* (dashed) is the authors' estimate, which reaches the failure
  probability γ only as the sample grows.
- **A known distribution** of norms needs no sample and no γ. Its ε_μ is a sum that bounds the cost from above at all
  Rényi orders. It is never above Rényi DP (improved) at the same σ. A higher clipping quantile gives a larger C, and
  the noise is σC.
- **Clip: DP only** leaves the gradients of Bayesian DP unclipped under the same noise (Triastcyn & Faltings 2020,
  Fig. 4). With a heavy tail, the true cost may then be infinite.
- **The best attack** on this mechanism, at even odds, is right with probability (1 + δ(0))/2, by its whole privacy
  curve. From (ε, δ) alone follows only (exp(ε) + δ)/(1 + exp(ε)). P(A) =
  1/(1 + exp(−ε)), which the pointer tells, is what follows from ε alone (Triastcyn & Faltings 2020, Eq. 1).
- **The PLD accountant** shows what the mechanism itself needs. The difference to another method is
  what that method's proof costs.
"""


WORDS = Words(headline, metrics, notes, formulas, assumptions)
