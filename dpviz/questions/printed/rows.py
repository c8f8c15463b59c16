"""What papers trained, as settings of the Train page: one for each row of a table or figure that was trained; and what
was trained for this project.

What a paper leaves open is chosen here and said in the note; data that dpviz does not ship are asked for by the page.
"""

from __future__ import annotations

from urllib.parse import urlencode

from dpviz.questions.presets import Preset

_BDP, _SG, _FO = "Triastcyn & Faltings 2020", "Li et al. 2019", "Lécuyer 2021"
_BY_HAND = {"t_by": "sigma", "t_delta": "1e-5"}
_BAYESIAN = {"t_bdp": "1", "t_dmu": "1e-10", "t_bdef": "1"}
_MNIST = {"t_data": "mnist", "t_model": "cnn"}
_CIFAR = {"t_data": "cifar10", "t_model": "resnet"}
_DPVI = _BY_HAND | _BAYESIAN | {"t_model": "logistic", "t_method": "dpvi", "t_prior": "1", "t_lr": "5", "t_mom": "0"}
_DPVI_NOTE = "T, q and C are those of the scripts of Jälkö et al. 2017; these runs are recorded under Papers."
_OPEN_RATE = "The paper's network and step size are others: here the usual ones of this model."

# Li et al. 2019, Table 1: steps of 20 epochs are chosen here.
_SG_MNIST = _MNIST | {"t_lr": "0.1", "t_clip": "4", "t_batch": "245", "t_steps": "4898", "t_delta": "1e-5"}
_SG_SVHN = {"t_data": "svhn", "t_model": "cnn", "t_delta": "1e-6"}
_SG_SVHN |= {"t_lr": "0.1", "t_clip": "1", "t_batch": "271", "t_steps": "5406"}
_SG_STEPS = "η_t = 0.1 t^(−1/3), batch √N; the number of steps is not given: 20 epochs here. The network is smaller."
_SG_FEWER = "The paper has N = 604 388; this set has the 73 257 of the training part, so each step costs more."
_SG_PLAIN = {"t_method": "sgd", "t_lr": "0.1"}

# Lécuyer 2021, Fig. 1: 100 epochs of 98 steps; an adaptive run may go on to three times as many.
_FO_SAME = _CIFAR | {"t_by": "sigma", "t_sigma": "1", "t_batch": "512", "t_steps": "9800", "t_delta": "1e-6"}
_FO_ADAPTS = {"t_cnoise": "100", "t_cevery": "10", "t_margin": "50", "t_past": "replan", "t_most": "29400"}
_FO_NOTE = "CIFAR-10, σ = 1, batch 512, 100 epochs, δ = 1e-6; a small ResNet in place of ResNet9. Hours without a GPU."

# What is recorded here (`dpviz.experiments.reached`), whose settings were chosen for ε = 3.
_REACHED = {"t_by": "target", "t_eps": "3", "t_delta": "1e-5", "t_clip": "0.1", "t_decay": "0.1"}
_WHITENED = _REACHED | {"t_model": "whitened", "t_lr": "12", "t_mom": "0.8"}
_REACHED_NOTE = "Settings were chosen on a part of the training data; accuracies of recorded runs are under Papers."

ROWS: tuple[Preset, ...] = (
    Preset(
        "trbdpmnist", "BDP, Table 1: MNIST, 96 %",
        _MNIST | _BY_HAND | _BAYESIAN | {"t_sigma": "0.1", "t_batch": "1024", "t_steps": "2930", "t_clip": "1"},
        note=f"{_BDP}, App. B.1: σ = 0.1, C = 1, batch 1024, about 50 epochs. Such noise promises nothing by DP. "
        f"{_OPEN_RATE}",
    ),
    Preset(
        "trbdpcifar", "BDP, Table 1: CIFAR-10, 73 %",
        _CIFAR | _BY_HAND | _BAYESIAN | {"t_sigma": "0.8", "t_batch": "512", "t_steps": "4300", "t_clip": "1"},
        note=f"{_BDP}, App. B.1: σ = 0.8, C = 1, batch 512; the number of steps is not given, 44 epochs here cost the "
        f"printed ε = 8.0. {_OPEN_RATE}",
    ),
    Preset(
        "trbdpabalone", "BDP, Table 1: Abalone, 76 %",
        _DPVI | {"t_data": "abalone", "t_sigma": "1.39", "t_batch": "157", "t_steps": "1000", "t_clip": "0.25"},
        note=f"{_BDP}: variational inference; σ for the printed ε = 7.6 by the moments accountant. {_DPVI_NOTE}",
    ),
    Preset(
        "trbdpadult", "BDP, Table 1: Adult, 81 %",
        _DPVI | {"t_data": "adult", "t_sigma": "2.56", "t_batch": "163", "t_steps": "2000", "t_clip": "0.375"},
        note=f"{_BDP}: variational inference; σ for the printed ε = 0.5 by the moments accountant. {_DPVI_NOTE}",
    ),
    Preset(
        "trsgmnistplain", "SG-MCMC, Table 1: MNIST, no privacy, 99.23 %", _SG_MNIST | _SG_PLAIN,
        note=f"{_SG}: plain training. {_SG_STEPS}",
    ),
    Preset(
        "trsgmnistsgld", "SG-MCMC, Table 1: MNIST, DP-SGLD, 99.12 %", _SG_MNIST | {"t_method": "dp_sgld"},
        note=f"{_SG}: L = 4, {_SG_STEPS}",
    ),
    Preset(
        "trsgmnistsghmc", "SG-MCMC, Table 1: MNIST, DP-SGHMC, 99.28 %", _SG_MNIST | {"t_method": "dp_sghmc"},
        note=f"{_SG}: L = 4, {_SG_STEPS} Nor is the friction given: 0.1 here.",
    ),
    Preset(
        "trsgsvhnplain", "SG-MCMC, Table 1: SVHN, no privacy, 92.80 %", _SG_SVHN | _SG_PLAIN,
        note=f"{_SG}: plain training. {_SG_STEPS} {_SG_FEWER}",
    ),
    Preset(
        "trsgsvhnsgld", "SG-MCMC, Table 1: SVHN, DP-SGLD, 92.14 %", _SG_SVHN | {"t_method": "dp_sgld"},
        note=f"{_SG}: L = 1, {_SG_STEPS} {_SG_FEWER}",
    ),
    Preset(
        "trsgsvhnsghmc", "SG-MCMC, Table 1: SVHN, DP-SGHMC, 92.84 %", _SG_SVHN | {"t_method": "dp_sghmc"},
        note=f"{_SG}: L = 1, {_SG_STEPS} {_SG_FEWER} Nor is the friction given: 0.1 here.",
    ),
    Preset(
        "trsgfig3", "SG-MCMC, Fig. 3: Adult, DP-SGLD",
        {"t_data": "adult", "t_model": "logistic", "t_method": "dp_sgld", "t_prior": "1", "t_delta": "1e-5"}
        | {"t_lr": "0.1", "t_clip": "1", "t_batch": "180", "t_steps": "3618"},
        note=f"{_SG}, §4.2: Bayesian logistic regression on Adult; L = 1, batch √N. Step size and number of steps are "
        "not given: η_t = 0.1 t^(−1/3), 20 epochs here.",
    ),
    Preset(
        "trfofixed", "Filters, Fig. 1: baseline, 54.58 %", _FO_SAME,
        note=f"{_FO}, §5.1: {_FO_NOTE}",
    ),
    Preset(
        "trfobatch", "Filters, Fig. 1: adaptive batch, 55.56 %",
        _FO_SAME | _FO_ADAPTS | {"t_policy": "adaptive_batch"},
        note=f"{_FO}, §5.1: {_FO_NOTE} It runs until the budget of the baseline is used up.",
    ),
    Preset(
        "trfonoise", "Filters, Fig. 1: adaptive noise, 57.22 %",
        _FO_SAME | _FO_ADAPTS | {"t_policy": "adaptive_noise"},
        note=f"{_FO}, §5.1: {_FO_NOTE} It runs until the budget of the baseline is used up.",
    ),
    Preset(
        "trreached", "Recorded here: digits at ε = 3, whitened features",
        _WHITENED | {"t_data": "mnist-10k", "t_batch": "3000", "t_steps": "60"}, note=_REACHED_NOTE,
    ),
    Preset(
        "trreachedmnist", "Recorded here: all of MNIST at ε = 3, whitened features",
        _WHITENED | {"t_data": "mnist", "t_batch": "6000", "t_steps": "400"}, note=_REACHED_NOTE,
    ),
    Preset(
        "trreachedcifar", "Recorded here: CIFAR-10 at ε = 3, scattering features",
        _REACHED | {"t_data": "cifar10", "t_model": "scattering", "t_batch": "4500", "t_steps": "200", "t_lr": "6"},
        note=_REACHED_NOTE,
    ),
)  # fmt: skip
BY_KEY = {row.key: row for row in ROWS}


def train(key: str) -> str:
    """The link that opens the Train page with this row's settings."""
    return f"train?{urlencode(BY_KEY[key].values)}"
