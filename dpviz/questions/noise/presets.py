"""The settings of figures that draw ε against σ."""

from __future__ import annotations

from dpviz.questions.presets import BDP_SYNTHETIC, Preset, texts

_BDP = "Triastcyn & Faltings 2020"
_FIGURES = BDP_SYNTHETIC | texts("steps=1&target=1&noisecurves=moments.bayesian&noisefrom=0.55&noiseto=1.35")
_NOTE = (
    f"{_BDP}, App. B.2: one step, q = 0.001, δ = 1e-5, σ from 0.55 to 1.35, 50 vectors of 1000 Weibull(0.5) "
    "coordinates, all 1225 pairs. The paper prints curves at λ = 24, which the page Papers draws. Here each σ has its "
    "best λ. "
)

FIGURES = (
    Preset(
        key="bdpfig3",
        name="Bayesian DP, Fig. 3: clipping for both",
        values=_FIGURES | {"noiseq": "q01.q50.q99", "clip": "both"},
        note=_NOTE + "Clipped, Bayesian DP never needs more noise than DP. It does not near it as C shrinks, as the "
        "paper has it: clipped gradients keep their directions, and the median distance stays about 0.6 of 2C.",
    ),
    Preset(
        key="bdpfig4",
        name="Bayesian DP, Fig. 4: clipping for DP only",
        values=_FIGURES | {"noiseq": "q05.q50.q95", "clip": "dp"},
        note=_NOTE + "Unclipped, Bayesian DP needs more noise than DP where C is small beside the gradients.",
    ),
)
SGD = Preset(
    key="noisesgd",
    name="DP-SGD: ε = 2 for 10 000 steps",
    values=texts(
        "sigma=4&q=0.01&n=60000&steps=10000&delta=1e-5&noiseview=solve&noiseq=q50"
        "&noisecurves=strong.moments.renyi_classic.renyi_improved.closed_form.bayesian"
    ),
    note="The setting of Abadi et al. 2016, Fig. 2, asked the other way round: how much noise does each accountant "
    "demand for ε = 2?",
)
