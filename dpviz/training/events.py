"""The events of a run: dicts of JSON values. All have "kind", "step" (steps done) and "time" (seconds since the start).

"started"     "settings", "examples" (N), "test_examples", "classes", "majority" (share of the
              most frequent class among the public test labels), "sample_rate" (q of the first step), "plan":
              {"steps": T, "mechanisms": [[σ, q, count], …]}, "claim": what may be claimed wherever it ends
              (`dpviz.accounting.claims`), "device", "threads", "parameters" (those trained), "data" and "model" (in
              words), of data of one's own "data_mark" (`own.read.mark`), "noise_source" (in words), "fallback_layers",
              "unprotected": what in these events is measured on the training data and not covered by ε.
"step"        A stretch of steps: "first" (number of the first, from 1), "count", "mechanisms": [[σ, q, count], …],
              one a step, equal neighbours merged ([] for plain training); lists with one entry a step: "batch_size",
              "expected_batch_size", "loss" (mean over the batch's finite losses, None if it has none), "clipped" (share
              of the batch, None where nothing is clipped or the batch is empty), "non_finite", "learning_rate",
              "seconds". "epsilon": {"moments", "renyi", "odometer" and, if asked for, "bayesian": a list each}.
              "distances": pair distances, or norms, of clipped gradients of each step
              (with Bayesian accounting; [] where too few examples: the worst case was charged), else None. "norms":
              {"step", "edges", "counts", "max_grad_norm"} of one step, or None: `counts[i]` gradients are between
              `edges[i]` and `edges[i + 1]`, the ends hold what is beyond. "noise": {"signal": ‖sum of clipped
              gradients‖, "noise": ‖noise on the sum‖} of the last step when single steps or slow motion were asked
              for, else None. Every ε, here and below, begins with what earlier runs spent on the same data (`origins`).
"evaluation"  "test_loss", "test_accuracy" (public test data), "posterior_accuracy" (of averaged predictions; None
              before the first sample), "samples", "train_loss", "train_accuracy" (a fixed part of the training data).
"count"       A private count of correct training predictions: "count", "accuracy" (count ÷ N), "rose", "blocked" (the
              policy would have lowered the budget of the coming steps, but the margin forbade it: a note says so when
              it begins), "mechanism": [σ, 1, 1], "epsilon" after it, and for the coming steps "noise_multiplier" and
              "batch_size".
"replanned"   "total_steps": the new T of the Bayesian accountant; "text".
"note"        "text": something to know; one may come before "started", when fixed features are computed first.
"progress"    Before "started", how far the computing of fixed features is: "text", "done", "total" and "left" (seconds,
              None before there is a pace).
"done"        The summary, with "text" in words.
"stopped"     Likewise, when the control said stop.
"failed"      Likewise, of everything up to there.

The summary: "state" ("done", "stopped", "failed"), "reason" ("plan", "target", "goal", "budget", "stopped",
"not finite", "error"), "text", "steps", "seconds", "mechanisms" (all charged, counts included, in order), "epsilon"
(how each accountant reads what was charged, as if its end had been planned; with "tight" where there are few different
mechanisms), "claim": the one ε that may be said of the run (`dpviz.accounting.claims`), "tail_share" (of the Bayesian
bound: `BayesianAccount.tail_share`, or None), "bayesian_text": what must be said of that bound, "test_accuracy",
"test_loss", "posterior_accuracy", "train_accuracy", "weights" (path or None).

The events hold every mechanism that was charged: `accounting.recompute` finds every recorded ε again.
"""

from __future__ import annotations

from typing import Any

Event = dict[str, Any]

KINDS = ("started", "step", "evaluation", "count", "replanned", "note", "progress", "done", "stopped", "failed")

UNPROTECTED = (
    "Loss, share clipped, gradient norms, pair distances, real batch sizes, counts of non-finite examples and accuracy "
    "on training data are shown as they are: they are not covered by ε. Noise is drawn in floating point, whose "
    "granularity no ε here accounts for."
)

DECLARED = (
    "Scaling, sizes and classes of these data are declared public by the owner: no ε here covers what they give away, "
    "nor the test examples, which are looked at without noise."
)

PUBLIC_SIZE = (
    "N, the number of training examples, is treated as public: q = batch ÷ N, the division of sums by the expected "
    "batch, the length of an epoch and the noise of the Langevin methods are set from it, while adding or removing an "
    "example changes it by one. No ε here covers what N itself gives away."
)
