"""The Attack page in words: the sentence on top, the figures below, formulas with today's numbers, assumptions."""

from __future__ import annotations

import math

import numpy as np

from dpviz.accounting.attack import attack_success
from dpviz.accounting.town import Played, guess_success
from dpviz.charts import numbers
from dpviz.ui.attack import success
from dpviz.ui.attack.curves import Found, Series, delta_kept
from dpviz.ui.frame import Figure, Remark

NOISES = {"laplace": "Laplace", "gaussian": "Gaussian"}


def sentence(found: Found) -> str:
    """The result in plain words, as HTML."""
    said: str = {
        "success": success.sentence,
        "roc": _roc_sentence,
        "town": _town_sentence,
        "releases": _releases_sentence,
        "residents": _residents_sentence,
    }[found.settings.view](found)
    return said


def _up(p: float) -> str:
    return numbers.probability(p, up=True)


def _roc_sentence(found: Found) -> str:
    s = found.settings
    if not math.isfinite(found.epsilon):
        return "No finite ε can be proven here: any attack may succeed. Add noise or take fewer steps."
    alone = float(attack_success(found.epsilon, delta=s.delta))
    source = "tight accountant" if found.has_tight else "Rényi divergences"
    return (
        f"After <b>{numbers.steps(s.steps)}</b> steps no attack is right more than <b>{_up(found.profile_success)}</b> "
        f"of the time at even odds (whole privacy curve, {source}); the single pair ε = "
        f"{numbers.epsilon(found.epsilon, up=True)}, δ = {numbers.delta(s.delta)} would allow <b>{_up(alone)}</b>."
    )


def _bound(found: Found) -> float:
    return float(attack_success(found.epsilon, delta=delta_kept(found.settings)))


def _promised(found: Found) -> str:
    return "ε and δ alone" if delta_kept(found.settings) else "ε alone"


def _promise(found: Found) -> str:
    assert found.settings.town is not None
    noise = NOISES[found.settings.town.noise]
    failure = f", δ = {numbers.delta(found.settings.delta)}" if delta_kept(found.settings) else ""
    return f"{noise} noise, <b>ε = {numbers.plain(found.epsilon)}</b>{failure}"


def _town_sentence(found: Found) -> str:
    assert found.outlier is not None
    assert found.resident is not None
    o, r = found.outlier, found.resident
    sure = "" if math.isnan(o.sure[-1]) else f", claims beyond the outlier's own mean <b>{_measured(o.sure[-1])}</b>"
    return (
        f"{_promise(found)}: about the outlier the attacker is right in <b>{_measured(o.accuracy[-1])}</b> of "
        f"{numbers.steps(o.releases)} releases{sure} ({_promised(found)} allows {_up(_bound(found))}, this noise "
        f"{_up(found.facts['best'])} of all guesses); about the resident in <b>{_measured(r.accuracy[-1])}</b>, where "
        "a coin is right in 50 %."
    )


def _measured(p: float) -> str:
    return f"{100 * p:.1f} %"


def _releases_sentence(found: Found) -> str:
    f = found.facts
    assert found.outlier is not None
    return (
        f"{_promise(found)}: the outlier moves the mean from <b>{numbers.plain(f['base'])}</b> to "
        f"<b>{numbers.plain(f['there'])}</b> thousand, the noise blurs it by {numbers.plain(f['scale'])}. Seeing the "
        f"released mean, the attacker is right in <b>{_measured(found.outlier.accuracy[-1])}</b> of the releases."
    )


def _residents_sentence(found: Found) -> str:
    assert found.settings.town is not None
    share = found.settings.town.share
    said = (
        f"{_promise(found)} for everybody, outlier included. The resident at quantile {numbers.plain(share)} loses "
        f"only <b>ε = {numbers.epsilon(found.facts['own'], up=True)}</b>, the richest resident "
        f"<b>{numbers.epsilon(found.facts['richest'], up=True)}</b>."
    )
    promised = _at(found.get("bayesian"), 0.01)
    if not math.isnan(promised):
        text = numbers.epsilon(promised, up=True)
        said += f" For 99 % of such people Bayesian DP estimates <b>ε ≈ {text}</b>, as printed and no bound."
    return said


def _at(series: Series | None, x: float) -> float:
    """The value at the grid's nearest x that leaves out no more than `x`: never too favourable."""
    if series is None:
        return math.nan
    at = int(np.searchsorted(series.x, x * (1 + 1e-12), side="right")) - 1
    return float(series.y[max(at, 0)])


def figures(found: Found) -> list[Figure]:
    """The four figures below the chart."""
    s = found.settings
    if s.view == "success":
        return success.figures(found)
    if s.view == "roc":
        return _roc_figures(found)
    if s.view == "residents":
        return _resident_figures(found)
    assert found.outlier is not None
    assert found.resident is not None
    assert s.town is not None
    o, r = found.outlier, found.resident
    sure = "–" if math.isnan(o.sure[-1]) else _measured(o.sure[-1])
    return [
        Figure("Best attack is right", f"≤ {_up(found.facts['best'])}", f"{_promised(found)}: {_up(_bound(found))}"),
        Figure("Outlier, all guesses", _measured(o.accuracy[-1]), _interval(o.accuracy_low[-1], o.accuracy_high[-1])),
        Figure("Outlier, sure claims", sure, _interval(o.sure_low[-1], o.sure_high[-1])),
        Figure(
            f"Resident at {numbers.plain(s.town.share)}",
            _measured(r.accuracy[-1]),
            _interval(r.accuracy_low[-1], r.accuracy_high[-1]),
        ),
    ]


def _interval(low: float, high: float) -> str:
    return f"99 % interval {100 * low:.1f} – {100 * high:.1f} %"


def _roc_figures(found: Found) -> list[Figure]:
    best = found.get("tight") or found.get("renyi")
    source = "tight" if found.has_tight else "Rényi"
    alone = float(attack_success(found.epsilon, delta=found.settings.delta))
    built = [
        Figure("Accuracy at even odds", f"≤ {_up(found.profile_success)}", f"whole privacy curve, {source}"),
        Figure("From one (ε, δ)", f"≤ {_up(alone)}", f"ε = {numbers.epsilon(found.epsilon, up=True)}, Rényi"),
    ]
    for rate in (0.01, 0.001):
        top = math.nan if best is None else float(np.interp(rate, best.x, best.y))
        shown = "–" if math.isnan(top) else f"≤ {_up(top)}"
        built.append(Figure(f"Found at FPR {numbers.plain(100 * rate)} %", shown, "true positive rate, at most"))
    return built


def _resident_figures(found: Found) -> list[Figure]:
    assert found.settings.town is not None
    promised = _at(found.get("bayesian"), 0.01)
    weak = "–" if math.isnan(promised) else f"≈ {numbers.epsilon(promised, up=True)}"
    return [
        Figure("ε for everybody", numbers.plain(found.epsilon), NOISES[found.settings.town.noise] + " noise"),
        Figure(
            f"Own ε at quantile {numbers.plain(found.settings.town.share)}",
            numbers.epsilon(found.facts["own"], up=True),
            "one who knows all could compute it",
        ),
        Figure("Own ε of the richest", numbers.epsilon(found.facts["richest"], up=True), "outlier apart"),
        Figure("Bayesian DP for 99 %", weak, "of people like these" if weak != "–" else "needs Gaussian noise"),
    ]


def remarks(found: Found) -> list[Remark]:
    """What must be said beside the chart."""
    s, built = found.settings, success.remarks(found) if found.settings.view == "success" else []
    if s.view == "roc":
        if found.problem:
            built.append(Remark(f"Tight region: {found.problem}", "note"))
        built.append(Remark("Every curve but “one step, no sampling” bounds all attacks: the lowest one says most."))
    if s.view == "town" and found.outlier is not None and found.resident is not None:
        built += _too_good(found, found.outlier, "the outlier")
        built += _too_good(found, found.resident, "the resident")
        if s.town is not None and s.town.noise == "laplace":
            built.append(
                Remark(
                    "Sure claims: made only when the mean is at or above what the outlier alone would make it. They "
                    "reach the bound, all guesses together do not: that is the paper's argument for equation 1."
                )
            )
    if s.view == "residents":
        built.append(
            Remark(
                "Own ε depends on incomes that are secret: it explains, it is no promise. Bayesian DP (λ ≤ 128) would "
                "be one; here it is the asymptotic estimate as printed, which is no bound."
            )
            if found.get("bayesian")
            else Remark("Bayesian DP's accountant is for Gaussian noise: choose it to see its promise.")
        )
        series = found.get("bayesian")
        if series is not None and np.isnan(series.y).any():
            built.append(
                Remark("Bayesian DP: where δ(1 − p) ≤ 2e-15 the estimator's own failure γ leaves nothing.", "note")
            )
    return built


def _too_good(found: Found, played: Played, who: str) -> list[Remark]:
    """Measured significantly above the bound: chance, once in 200 plays where the attack is as good as the bound."""
    beats = played.accuracy_low[-1] > _bound(found)
    sure = who == "the outlier" and played.sure_low[-1] > found.facts["sure_bound"]
    if not (beats or sure):
        return []
    return [
        Remark(f"Measured above the bound for {who}: chance does this in 1 of 200 plays; try another seed.", "note")
    ]


def formulas(found: Found) -> list[tuple[str, str]]:
    """(name, LaTeX) with today's numbers."""
    s, e = found.settings, found.epsilon
    if s.view == "success":
        return success.formulas(found)
    if s.view == "roc":
        mu = 1.0 / s.sigma
        return [
            (
                "Region of one (ε, δ) (Kairouz, Oh, Viswanath 2015)",
                r"\mathrm{TPR} \le \min\left(e^{\varepsilon}\,\mathrm{FPR}+\delta,\ "
                rf"1-e^{{-\varepsilon}}(1-\delta-\mathrm{{FPR}})\right),\quad \varepsilon = {_tex(e)}",
            ),
            (
                "Gaussian mechanism, exact (Dong, Roth, Su 2022)",
                rf"\mathrm{{TPR}} = \Phi\left(\Phi^{{-1}}(\mathrm{{FPR}}) + \tfrac1\sigma\right),"
                rf"\quad \tfrac1\sigma = {mu:.4g}",
            ),
            (
                "Whole privacy curve",
                r"\mathrm{TPR} \le \min_{\varepsilon}\ \mathrm{region}(\varepsilon, \delta(\varepsilon)),\quad "
                rf"P(A) \le \tfrac{{1+\delta(0)}}2 = {found.profile_success:.6g}",
            ),
        ]
    assert s.town is not None
    if s.view == "residents":
        return [
            (
                "Percentiles (Triastcyn & Faltings 2020, §4.4.1)",
                r"\Pr_x\left[\Delta(\varepsilon_\mu, x) > \frac{\delta_\mu}{1-p}\right] \le 1-p,\quad "
                rf"\delta_\mu = \delta\,(1-p),\ \delta = {numbers.delta(s.delta)}",
            )
        ]
    exact = float(guess_success(1.0, mechanism=s.town.noise, epsilon=e, delta=s.delta))
    law = r"1-\tfrac12 e^{-\varepsilon/2}" if s.town.noise == "laplace" else r"\Phi\left(\tfrac1{2\sigma}\right)"
    return [
        ("All guesses about the outlier, exact", rf"{law} = {exact:.6g}"),
        (
            "Claims beyond the outlier's mean (Triastcyn & Faltings 2020, §3, r = ½)",
            r"\frac{r}{r + (r-\delta)e^{-\varepsilon}} \ \text{at most}"
            + rf" = {found.facts.get('sure_bound', _bound(found)):.6g}",
        ),
    ]


def _tex(value: float) -> str:
    return f"{value:.4g}" if math.isfinite(value) else r"\infty"


ASSUMPTIONS = """
- **The attacker** knows everything but one bit: whether the target took part. Every other record, the mechanism
  and its noise law are known; only the noise itself is not. Bounds hold for *any* attack on what was released.
- **Right guesses and belief** are two quantities. The share of right guesses can always reach the larger of prior and
  1 − prior without any data; belief is what one output may make of the prior. At even odds and δ = 0 they have one
  bound, 1/(1 + e^−ε): the P(A) of Triastcyn & Faltings 2020, Eq. 1.
- **δ:** some outputs may prove that you took part. What is said of beliefs holds but for outputs of a small
  probability, which is named; what is said of right guesses holds for all of them together.
- **One (ε, δ) alone** allows more than the mechanism behind it: the best attack on a known mechanism follows from its
  whole privacy curve, (1 + δ(0))/2 at even odds.
- **ROC:** each curve bounds the true positive rate at each false positive rate, for adding and for removing an
  example. “Whole privacy curve” intersects the regions of many (ε, δ(ε)), each with δ from above.
- **The town:** incomes are log-normal (median 30 thousand, spread 0.6), drawn from the seed; one income more is
  the outlier's. Released: (sum of incomes, each counted up to the outlier's, + noise) ÷ the public number of
  residents.
- **The attack** is Bayes-optimal: "in" when the release is likelier with the target than without. Intervals are
  Clopper and Pearson's, 99 %. All ε of a curve share one set of coins and noises.
- **Own ε** is what the release costs one person, given their income; it is not a promise, for it depends on
  secrets.
- **Bayesian DP** holds for people drawn like the residents, not for the outlier; γ = 1e-15.
"""
