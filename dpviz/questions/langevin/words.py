"""Words shared by all questions about a sampler's steps: notes, formulas and assumptions."""

from collections.abc import Iterator

from dpviz.fields import numbers
from dpviz.questions import Formula, Metric, Note
from dpviz.questions.langevin.chain import Chain, SamplerPlan
from dpviz.questions.langevin.facts import SamplerFacts
from dpviz.questions.mechanism import PUBLIC_SIZE


def noise_of_steps(chain: Chain) -> Metric:
    noise = f"{numbers.plain(chain.noise_at(1))} → {numbers.plain(chain.noise_at(chain.steps))}"
    return Metric("Noise multiplier σ, first → last", noise, f"q = {numbers.plain(chain.setting.sample_rate)}")


def notes(chain: SamplerPlan) -> Iterator[Note]:
    """What must be said of the sampler, whatever is asked of it."""
    if chain.replace_one:
        yield Note(
            "Neighbours replace one example. The paper's conditions (1) and (2) are about adding or removing one.",
            "caution",
        )
    if chain.printed_noise:
        yield Note(
            "Algorithm 1 as printed adds noise of variance η/N, half of what its own diffusion and SGLD need. Such a "
            "chain has only about half of the posterior's variance, and costs more than one that samples the posterior."
        )
    if chain.sampler == "sgnht":
        yield Note(
            "The thermostat is post-processing: its friction depends only on momenta, which depend only on noisy "
            "gradients. So SGNHT costs the same as SGHMC with the β that sets its noise."
        )


def wang(chain: SamplerPlan) -> Iterator[Note]:
    """What the theorem of Wang et al. says of the sampler."""
    claim = numbers.entered(chain.claim)
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


def formulas(f: SamplerFacts, *, reading: str = "rederived") -> Iterator[Formula]:
    """The numbers behind the largest step sizes; `reading` is that of conditions (1) and (2)."""
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


def third_condition(f: SamplerFacts) -> Formula:
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


def first_and_second_condition(chain: SamplerPlan, reading: str) -> Formula:
    low, high = map(numbers.tex, chain.limits(reading))
    if reading == "printed":
        bounds = rf"q^2 N/(256 L^2) = {low} < \eta_t \le N/L^2 = {high}"
        return Formula("Conditions (2) and (1), as printed", bounds)
    return Formula("Conditions (2) and (1), re-derived", rf"256\,q^4 N/L^2 = {low} < \eta_t \le q^2 N/L^2 = {high}")


def theorem_of_wang(chain: SamplerPlan) -> Formula:
    two, norm = "" if chain.printed_noise else "2", "(2L)^2" if chain.replace_one else "L^2"
    size = r"\text{ does not hold: } T \text{ is too small}"
    if chain.wang_holds:
        size = f"= {numbers.tex_down(chain.wang_step_size)}"
    return Formula(
        "Wang, Fienberg, Smola 2015",
        rf"\eta < \frac{{{two}\varepsilon^2 N}}{{128 {norm} T \ln(2.5T/\delta)\ln(2/\delta)}} {size}"
        rf" \quad \text{{if }} T \ge \frac{{\varepsilon^2}}{{32 q^2 \ln(2/\delta)}} = {numbers.tex(chain.wang_steps)}",
    )


def assumptions(chain: SamplerPlan) -> str:
    return f"""
- **Who is protected:** one example, added or removed. Li, Chen, Liu, Carin 2019 *define* neighbours by replacing one
  example but use the moment bound for adding or removing one; so does this page. The switch under Options shows what
  replacing costs: then both examples join a batch, or neither does (Koskela, Jälkö, Honkela 2020).
- **Algorithm:** their Algorithm 1. Gradients are clipped to L, each example joins a batch independently with
  probability q = τ/N, and the noise has variance {chain.variance} in each coordinate. As printed, the variance is
  ηₜ/N; their own diffusion and SGLD (Welling, Teh 2011) need 2ηₜ/N to sample the posterior. Every iterate is published,
  or only the last one if that is chosen. The prior does not depend on the data.
{PUBLIC_SIZE.strip()}
- **Composed** curves bound the privacy loss of exactly these steps and do not depend on any theorem. Steps of nearly
  equal size are grouped, rounded to the safe side.
- **Largest step sizes** of the theorems come from the same composition with whole orders: the constants c₂ and c are
  those with which conditions (3) of Theorem 3 and of Theorem 4 are exact for that accountant. The PLD
  accountant's are the largest that its upper end of ε allows; between the points of its curve they may be larger.
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
