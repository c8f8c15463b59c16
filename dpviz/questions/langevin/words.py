"""Words shared by all questions about a sampler's steps: four numbers, notes, formulas and assumptions."""

from collections.abc import Iterator

from dpviz.fields import numbers
from dpviz.questions import Formula, Metric, Note
from dpviz.questions.langevin.chain import Chain
from dpviz.questions.langevin.facts import ChainFacts
from dpviz.questions.mechanism import PUBLIC_SIZE
from dpviz.questions.tight_band import tight_figure


def metrics(f: ChainFacts) -> Iterator[Metric]:
    classic = f"classic conversion: {numbers.up(f.classic_epsilon)}"
    yield Metric("Rényi DP, composed", f"ε ≤ {numbers.up(f.epsilon)}", classic)
    yield tight_figure(f.tight)
    yield largest_for_claim(f)
    yield noise_of_steps(f.chain)


def largest_for_claim(f: ChainFacts, models: str = "") -> Metric:
    """The largest first step size; `models` says which are released where that may be doubted."""
    name = f"Largest η₁ for the claim{models}"
    if not f.largest > 0:
        return Metric(name, "none proven", accountant(f.chain))
    constants = f"c² = {numbers.plain(f.allowed.c_squared[-1])}, λ = {f.allowed.order[-1] - 1:.0f}"
    return Metric(name, numbers.at_least(f.largest), f"{accountant(f.chain)}; {constants}")


def accountant(chain: Chain) -> str:
    """Whose the largest step sizes are."""
    return "moments accountant" if chain.conversion == "classic" else "Rényi DP, whole orders"


def noise_of_steps(chain: Chain) -> Metric:
    noise = f"{numbers.plain(chain.noise_at(1))} → {numbers.plain(chain.noise_at(chain.steps))}"
    return Metric("Noise multiplier σ, first → last", noise, f"q = {numbers.plain(chain.setting.sample_rate)}")


def notes(f: ChainFacts) -> Iterator[Note]:
    if f.chain.replace_one:
        yield Note(
            "Neighbours replace one example. The paper's conditions (1) and (2) are about adding or removing one.",
            "caution",
        )
    if f.chain.printed_noise:
        yield Note(
            "Algorithm 1 as printed adds noise of variance η/N, half of what its own diffusion and SGLD need. Such a "
            "chain has only about half of the posterior's variance, and costs more than one that samples the posterior."
        )
    yield from other_noise(f)
    if f.chain.sampler == "sgnht":
        yield Note(
            "The thermostat is post-processing: its friction depends only on momenta, which depend only on noisy "
            "gradients. So SGNHT costs the same as SGHMC with the β that sets its noise."
        )


def other_noise(f: ChainFacts) -> Iterator[Note]:
    """What the noise that was not chosen would cost and allow."""
    other = f.chain.with_other_noise
    if other is None:
        return
    text = (
        f"With noise of variance {other.variance} instead, releasing all models would cost "
        f"<b>ε ≤ {numbers.up(f.other)}</b> by Rényi DP"
    )
    if f.largest > 0:
        text += f"; the largest η₁ for the claim would be {numbers.at_least(f.other_largest)}"
    yield Note(f"{text}.")


def wang(f: ChainFacts) -> Iterator[Note]:
    """What the theorem of Wang et al. says of these steps."""
    chain, claim = f.chain, numbers.entered(f.chain.claim)
    if chain.momentum:
        yield Note("The theorem of Wang et al. is about SGLD: there is no such curve for samplers with momentum.")
    elif not chain.wang_holds:
        yield Note(
            f"The theorem of Wang et al. does not hold for ε = {claim}: it needs at least "
            f"{numbers.steps(chain.wang_steps)} steps at this sampling rate.",
            "caution",
        )
    else:
        yield Note(
            f"The step size of Wang et al. for ε = {claim} is {numbers.at_least(chain.wang_step_size)}. Composed, such "
            f"steps cost ε ≤ {numbers.up(chain.wang_cost)}."
        )


def formulas(f: ChainFacts, *, reading: str = "rederived", models: str = "") -> Iterator[Formula]:
    """The numbers behind every question.

    Args:
        reading: of conditions (1) and (2).
        models: which are released, where that may be doubted.
    """
    yield noise_of_a_step(f.chain)
    yield Formula(
        f"Composed (Rényi improved){models}",
        r"\varepsilon = \sum_t R_{\sigma_t}(\alpha) + \ln\frac{\alpha-1}{\alpha}"
        rf" - \frac{{\ln\delta + \ln\alpha}}{{\alpha-1}} = {numbers.tex_up(f.epsilon)}",
    )
    if f.largest > 0:
        yield third_condition(f)
    yield first_and_second_condition(f.chain, reading)
    if not f.chain.momentum:
        yield theorem_of_wang(f.chain)


def noise_of_a_step(chain: Chain) -> Formula:
    """σ₁; below the root stands the variance ÷ (η/N), nothing where that is 1."""
    heat = number = "" if chain.printed_noise else r"\sqrt{2}"
    if chain.momentum:
        heat, number = r"\sqrt{2\beta}", rf"\sqrt{{2 \cdot {numbers.tex(chain.friction)}}}"
    product = rf"{numbers.tex(chain.step_size)} \cdot {numbers.tex(chain.n)}"
    return Formula(
        "Noise of a step, in units of the gradient norm L",
        rf"\sigma_1 = \frac{{\tau {heat}}}{{L\sqrt{{\eta_1 N}}}} ="
        rf" \frac{{{numbers.tex(chain.batch_size)} {number}}}{{{numbers.tex(chain.clip)} \sqrt{{{product}}}}} ="
        rf" {numbers.tex(chain.noise_at(1))}",
    )


def third_condition(f: ChainFacts) -> Formula:
    """Condition (3) of Theorem 3 or, for a fixed step size, Theorem 4."""
    name, power, length = "Theorem 4", "", "T"
    if f.chain.exponent:
        name, power, length = "Theorem 3, condition (3)", "t^{-1/3}", "T^{2/3}"
    return Formula(
        name,
        rf"\eta_t < \frac{{\varepsilon^2 N {power}}}{{c^2 L^2 {length} \ln(1/\delta)}} ="
        rf" {numbers.tex_down(f.largest)}\,{power}, \quad c^2 = {numbers.tex(f.allowed.c_squared[-1])},"
        rf" \quad c_1 > {numbers.tex(f.allowed.c1[-1])}",
    )


def first_and_second_condition(chain: Chain, reading: str) -> Formula:
    low, high = map(numbers.tex, chain.limits(reading))
    if reading == "printed":
        bounds = rf"q^2 N/(256 L^2) = {low} < \eta_t \le N/L^2 = {high}"
        return Formula("Conditions (2) and (1), as printed", bounds)
    return Formula("Conditions (2) and (1), re-derived", rf"256\,q^4 N/L^2 = {low} < \eta_t \le q^2 N/L^2 = {high}")


def theorem_of_wang(chain: Chain) -> Formula:
    two, norm = "" if chain.printed_noise else "2", "(2L)^2" if chain.replace_one else "L^2"
    size = r"\text{ does not hold: } T \text{ is too small}"
    if chain.wang_holds:
        size = f"= {numbers.tex_down(chain.wang_step_size)}"
    return Formula(
        "Wang, Fienberg, Smola 2015",
        rf"\eta < \frac{{{two}\varepsilon^2 N}}{{128 {norm} T \ln(2.5T/\delta)\ln(2/\delta)}} {size}"
        rf" \quad \text{{if }} T \ge \frac{{\varepsilon^2}}{{32 q^2 \ln(2/\delta)}} = {numbers.tex(chain.wang_steps)}",
    )


def assumptions(f: ChainFacts) -> str:
    return f"""
- **Who is protected:** one example, added or removed. Li, Chen, Liu, Carin 2019 *define* neighbours by replacing one
  example but use the moment bound for adding or removing one; so does this page. The switch under Options shows what
  replacing costs: then both examples join a batch, or neither does (Koskela, Jälkö, Honkela 2020).
- **Algorithm:** their Algorithm 1. Gradients are clipped to L, each example joins a batch independently with
  probability q = τ/N, and the noise has variance {f.chain.variance} in each coordinate. As printed, the variance is
  ηₜ/N; their own diffusion and SGLD (Welling, Teh 2011) need 2ηₜ/N to sample the posterior. Every iterate is published,
  or only the last one if that is chosen. The prior does not depend on the data.
{PUBLIC_SIZE.strip()}
- **Composed** curves bound the privacy loss of exactly these steps and do not depend on any theorem. Steps of nearly
  equal size are grouped, rounded to the safe side.
- **Largest step sizes** come from the same composition with whole orders: the constants c₂ and c are those with which
  conditions (3) of Theorem 3 and of Theorem 4 are exact for that accountant.
- **The paper's claims:** its Table 1 states ε = 0.10 for MNIST and 0.12 for SVHN. Composed, the MNIST steps cost
  ε = 0.2 to 0.7 by the PLD accountant (for one to a hundred epochs; the number is not stated) and 1.3 to
  1.5 by Rényi bounds, which are loose for few steps with little noise. The SVHN claim holds. So default step sizes
  give an ε of about 0.1 to 0.7, not 0.10.
- **Last model only** (Chourasia, Ye, Shokri 2021; Altschuler, Talwar 2022; here with explicit constants): only the
  model after the last step is released. Each example's loss is convex and β-smooth with gradients no longer than L,
  so that clipping changes nothing; the prior is flat or normal; step size fixed, no momentum. A batch too large for β
  is possible: its probability is taken from δ.
- **Errors** are the paper's bounds on the mean squared error, up to an unknown constant.
"""
