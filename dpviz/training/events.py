"""The events of a run: dicts of JSON values. All have "kind", "step" (steps done) and "time" (seconds since the start).

"started"     "settings", "examples" (N, of a run that protects persons their number), "test_examples", "classes",
              "majority" (share of the most frequent class among the public test labels), "sample_rate" (q of the first
              step), "plan":
              {"steps": T, "mechanisms": [[σ, q, count], …]}, "claim": what may be claimed wherever it ends
              (`dpviz.accounting.claims`), "device", "threads", "parameters" (those trained), "data" and "model" (in
              words), of data of one's own "data_mark" (`own.read.mark`), "noise_source" (in words), "fallback_layers",
              "unprotected": what in these events is measured on the training data and not covered by ε.
"step"        A stretch of steps: "first" (number of the first, from 1), "count", "mechanisms": [[σ, q, count], …],
              one a step, equal neighbours merged ([] for plain training); lists with one entry a step: "batch_size",
              "expected_batch_size", "loss" (mean over the batch's finite losses, None if it has none), "clipped" (share
              of the batch, None where nothing is clipped or the batch is empty), "non_finite", "learning_rate",
              "seconds". "epsilon": the readings of each live accountant and, if asked for, Bayesian.
              With followed examples (`accounts.followed`): "followed_lowest", "followed_median" and "followed_highest"
              of the ε of each, and "followed_shares": what they follow from, the length of each one's clipped gradient
              at each step, in 1024ths of C, rounded up.
              "reported_epsilon": of a watched run (`dpviz.watch`), what the program's own library said after each step.
              "distances": pair distances, or norms, of clipped gradients of each step
              (with Bayesian accounting; [] where too few examples: the worst case was charged), else None. "norms":
              {"step", "edges", "counts", "max_grad_norm"} of one step, or None: `counts[i]` gradients are between
              `edges[i]` and `edges[i + 1]`, the ends hold what is beyond. "noise": {"signal": ‖sum of clipped
              gradients‖, "noise": ‖noise on the sum‖} of the last step when single steps or slow motion were asked
              for, else None. "bayesian_text": what the Bayesian ε of its last step is and why, or "".
              Every ε, here and below, begins with what earlier runs spent on the same data (`origins`).
"evaluation"  "test_loss", "test_accuracy" (public test data), "posterior_accuracy" (of averaged predictions; None
              before the first sample), "samples", "train_loss", "train_accuracy" (a fixed part of the training data).
"count"       A private count of correct training predictions: "count", "accuracy" (count ÷ N), "rose", "blocked" (the
              policy would have lowered the budget of the coming steps, but the margin forbade it: a note says so when
              it begins), "mechanism": [σ, 1, 1], "epsilon" after it, and for the coming steps "noise_multiplier" and
              "batch_size".
"charged"     "through": a step, "mechanisms": all that will have been charged by then, counts included. What they cover
              may be released once `emit` returns: parameters that are handed to a program or written to a file. A run
              that comes to no end of its own has cost as much.
"continued"   After "started", of a run that goes on from a checkpoint, or begins again: "mechanisms": what it was
              charged for the steps that it keeps, those up to "step"; "covered": coming steps that are charged with
              them, as the rest of an epoch; "text". What was charged for steps that it takes again is one of the
              "origins" in the "settings" of "started".
"replanned"   "total_steps": the new T of the Bayesian accountant; "text".
"note"        "text": something to know; one may come before "started", when fixed features are computed first.
"notice"      "text": something to know that was measured on the training data, not covered by ε.
"progress"    Before "started", how far the computing of fixed features is: "text", "done", "total" and "left" (seconds,
              None before there is a pace).
"done"        The summary, with "text" in words.
"stopped"     Likewise, when the control said stop.
"failed"      Likewise, of everything up to there.

The summary: "state" ("done", "stopped", "failed"), "reason" ("plan", "target", "goal", "budget", "stopped",
"not finite", "memory", "error"), "text", "steps", "seconds", "mechanisms" (all charged, counts included, in order),
"epsilon"
(how each accountant reads what was charged, as if its end had been planned; with the tight one where there are few
different mechanisms), "claim": the one ε that may be said of the run (`dpviz.accounting.claims`), "tail_share" (of the
Bayesian bound: `BayesianAccount.tail_share`, or None), "bayesian_text": what that ε is and why, "test_accuracy",
"test_loss", "posterior_accuracy", "train_accuracy", "weights" (path or None).

The events hold every mechanism that was charged: `dpviz.runs.exchange.recheck` finds every recorded ε again.
"""

from typing import Any

from dpviz.training.covered import COVERED

Event = dict[str, Any]

# Of training; runs have others, of how they were held and imported.
KINDS = tuple(kind for kind in COVERED if kind not in ("control", "imported"))
