"""The faults that `planted_faults` plants, and the test that must see each."""

from __future__ import annotations

from typing import NamedTuple


class Fault(NamedTuple):
    """One edit that makes a private step, or its account, wrong.

    Attributes:
        name: What is wrong then.
        file: Where, from the root.
        old, new: The text, which occurs once, and what it becomes.
        test: The test that must fail, as pytest names it; several, a space between them, where one of them must.
    """

    name: str
    file: str
    old: str
    new: str
    test: str


_RELEASED = "tests/accounting/test_released.py"
_RUNS = "tests/training/test_released_only.py"
_FILTER = "tests/accounting/test_filter.py"
_STEPS = "tests/training/test_methods.py"
_VOTES = "tests/accounting/test_noisy_max.py"
_PATE = "tests/accounting/test_pate.py"
_ALONE = "tests/training/test_independence.py"
_SMOOTH = "tests/accounting/test_vote_sensitivity.py"

FAULTS = (
    Fault(
        "a policy and a goal get the true count",
        "dpviz/accounting/released.py",
        "Released(look() + noise, mechanism, _MAKER)",
        "Released(look(), mechanism, _MAKER)",
        f"{_RELEASED}::test_the_noise_is_the_mechanism_s",
    ),
    Fault(
        "each view of an example is clipped by itself",
        "dpviz/training/per_example.py",
        "products if views == 1 else products.grouped(views)",
        "products",
        "tests/training/test_views.py::test_the_mean_over_views_is_what_is_clipped",
    ),
    Fault(
        "a network that is not listed runs on whole batches",
        "dpviz/training/per_example.py",
        "x.ndim < 2 or not treats_rows_alone(self.network, modules)",
        "x.ndim < 2",
        f"{_ALONE}::test_what_mixes_a_batch_sees_one_example_alone",
    ),
    Fault(
        "a loss of one's own sees the batch",
        "dpviz/training/per_example.py",
        "if any(loss is listed for listed in LISTED_LOSSES):",
        "if True:",
        f"{_ALONE}::test_what_mixes_a_batch_sees_one_example_alone",
    ),
    Fault(
        "a hook on a listed layer is not seen",
        "dpviz/training/rowwise.py",
        "or any(own[hooks] for hooks in _HOOKS)",
        "",
        f"{_ALONE}::test_what_mixes_a_batch_sees_one_example_alone",
    ),
    Fault(
        "an attribute may keep activations",
        "dpviz/training/one_at_a_time.py",
        "key not in _STANDARD and _holds_examples(attributes[key])",
        "False",
        f"{_ALONE}::test_what_would_carry_examples_out_is_refused_and_leaves_nothing",
    ),
    Fault(
        "a buffer may be assigned in the forward pass",
        "dpviz/training/one_at_a_time.py",
        "if table[key] is not copy or copy._version:",
        "if False:",
        f"{_ALONE}::test_what_would_carry_examples_out_is_refused_and_leaves_nothing",
    ),
    Fault(
        "chunks of a training are as large as what is left of its batch",
        "dpviz/training/private.py",
        "usual_batch=usual_batch(batch, self.examples)",
        "usual_batch=None",
        f"{_ALONE}::test_trainings_fill_their_batches_up",
    ),
    Fault(
        "narrow layers round a row by its place",
        "dpviz/training/layers/linear.py",
        "NARROW = 16",
        "NARROW = 0",
        f"{_ALONE}::test_an_example_adds_the_same_digits_whatever_stands_beside_it",
    ),
    Fault(
        "a goal looks at the true count beside the released one",
        "dpviz/training/session.py",
        "        if self._counting.stopped:\n",
        "        if correct_predictions(self.network, self._x, self._y) >= self.examples * (\n"
        "            self.settings.target_accuracy or 2.0\n"
        "        ):\n",
        f"{_RUNS}::test_a_goal_hears_the_noise_and_not_the_count",
    ),
    Fault(
        "a policy takes any number",
        "dpviz/accounting/policies.py",
        "if not isinstance(count, Released):",
        "if False:",
        f"{_RELEASED}::test_policies_take_nothing_else",
    ),
    Fault(
        "anybody can make a released number",
        "dpviz/accounting/released.py",
        "if maker is not _MAKER:",
        "if False:",
        f"{_RELEASED}::test_nobody_else_makes_one",
    ),
    Fault(
        "a count is looked at although it was refused",
        "dpviz/accounting/released.py",
        "    account.reserve(mechanism)\n    noise = mechanism",
        "    look()\n    account.reserve(mechanism)\n    noise = mechanism",
        f"{_RELEASED}::test_what_is_refused_is_not_looked_at",
    ),
    Fault(
        "a count is not taken from the filter's budget",
        "dpviz/accounting/released.py",
        "    account.reserve(mechanism)\n",
        "",
        f"{_RUNS}::test_an_adaptive_run_keeps_its_promise_and_reserves_all_it_charges",
    ),
    Fault(
        "a count is not charged",
        "dpviz/accounting/released.py",
        "    account.count(mechanism)\n",
        "",
        f"{_RUNS}::test_an_adaptive_run_keeps_its_promise_and_reserves_all_it_charges",
    ),
    Fault(
        "a step is reserved at the start's noise, not the policy's",
        "dpviz/training/session.py",
        "coming = self.settings.with_(noise_multiplier=sigma, batch_size=batch_size)",
        "coming = self.settings.with_(batch_size=batch_size)",
        f"{_RUNS}::test_an_adaptive_run_keeps_its_promise_and_reserves_all_it_charges",
    ),
    Fault(
        "a step is not reserved at all",
        "dpviz/training/session.py",
        "            self.accounts.reserve(mechanism)\n        except",
        "            pass\n        except",
        f"{_RUNS}::test_an_adaptive_run_keeps_its_promise_and_reserves_all_it_charges",
    ),
    Fault(
        "the margin is asked at the start's noise",
        "dpviz/training/counting.py",
        "        sigma, batch_size = self.setting\n        epoch",
        "        sigma, batch_size = self._policy.start\n        epoch",
        "tests/training/test_counting.py::test_the_margin_is_asked_at_the_policy_s_own_noise",
    ),
    Fault(
        "a filter forgets what came before the last kind of step",
        "dpviz/accounting/additive.py",
        "self._before, self._last, self._count = self.total, mechanism, 0",
        "self._before, self._last, self._count = np.zeros_like(self.total), mechanism, 0",
        f"{_FILTER}::TestSound::test_nothing_that_was_spent_is_forgotten",
    ),
    Fault(
        "a filter lets a new kind of step start from nothing",
        "dpviz/accounting/additive.py",
        "            before = self.total\n",
        "            before = np.zeros_like(self.total)\n",
        f"{_FILTER}::TestSound::test_nothing_that_was_spent_is_forgotten",
    ),
    Fault(
        "an adaptive run has no budget",
        "dpviz/training/accounting.py",
        "limited = settings.adaptive or settings.filter_epsilon is not None",
        "limited = settings.filter_epsilon is not None",
        f"{_RUNS}::test_an_adaptive_run_keeps_its_promise_and_reserves_all_it_charges",
    ),
    Fault(
        "an adaptive run's filter reads whichever order is best at the end",
        "dpviz/accounting/one_order.py",
        "orders=[order], conversion=_CONVERSION)",
        "orders=_ALL.orders, conversion=_CONVERSION)",
        "tests/training/test_accounting.py::test_only_an_adaptive_budget_keeps_to_one_order",
    ),
    Fault(
        "a re-plan keeps old Bayesian costs",
        "dpviz/training/session.py",
        "self.accounts.bayesian.replan(total)",
        "self.accounts.bayesian.total_steps = total",
        f"{_RUNS}::test_a_new_plan_costs_what_it_would_have_cost_from_the_start",
    ),
    Fault(
        "half the noise in DP-SGD's step",
        "dpviz/training/methods/dp_sgd.py",
        "state.noise_multiplier * self.settings.max_grad_norm)",
        "0.5 * state.noise_multiplier * self.settings.max_grad_norm)",
        f"{_STEPS}::test_two_steps_of_dp_sgd_by_hand",
    ),
    Fault(
        "no noise for an empty batch",
        "dpviz/training/methods/dp_sgd.py",
        "state.noise_multiplier * self.settings.max_grad_norm)",
        "state.noise_multiplier * self.settings.max_grad_norm * min(batch.size, 1))",
        f"{_STEPS}::test_an_empty_batch_is_a_real_step",
    ),
    Fault(
        "sums divided by the real batch",
        "dpviz/training/methods/dp_sgd.py",
        "div_(batch.expected)",
        "div_(max(batch.size, 1))",
        f"{_STEPS}::test_two_steps_of_dp_sgd_by_hand",
    ),
    Fault(
        "a step's charge is forgotten",
        "dpviz/training/step_buffer.py",
        "            if self._accounts is not None and info.mechanism is not None:\n",
        "            if self._accounts is not None and info.mechanism is not None and step != 2:\n",
        f"{_RUNS}::test_an_adaptive_run_keeps_its_promise_and_reserves_all_it_charges",
    ),
    Fault(
        "batches twice as likely as what is charged",
        "dpviz/training/sampling.py",
        "chosen = poisson_indices(self._random, examples, rate)",
        "chosen = poisson_indices(self._random, examples, min(2.0 * rate, 1.0))",
        "tests/training/test_sampling.py::test_batches_are_as_likely_as_the_rate_they_report",
    ),
    Fault(
        "ln(1/δ) halved in the classic conversion",
        "dpviz/accounting/conversion.py",
        "return total - log_delta / s",
        "return total - 0.5 * log_delta / s",
        "tests/accounting/test_conversion.py::TestFormulas::test_against_high_precision",
    ),
    Fault(
        "ln(1/δ) halved in the improved conversion",
        "dpviz/accounting/conversion.py",
        "np.log1p(-1.0 / orders) - (log_delta + np.log(orders)) / s",
        "np.log1p(-1.0 / orders) - (0.5 * log_delta + np.log(orders)) / s",
        "tests/accounting/test_conversion.py::TestFormulas::test_against_high_precision",
    ),
    Fault(
        "amplification by q squared",
        "dpviz/mechanisms/log_moments.py",
        "    rate = _validate.sample_rate(sample_rate)\n",
        "    rate = _validate.sample_rate(sample_rate) ** 2\n",
        "tests/accounting/test_renyi.py::TestNumbersOfThePapers::test_moments",
    ),
    Fault(
        "an odometer that pays for no filter but the first",
        "dpviz/accounting/odometer.py",
        "filled + (log_odds + 2.0 * np.log(f)) / s",
        "filled + log_odds / s",
        "tests/accounting/test_odometer.py::TestNumbers::test_against_the_definition",
    ),
    Fault(
        "a ledger that forgets all but the last kind of step",
        "dpviz/accounting/ledger.py",
        "            self._sum.add(mechanism, whole)\n",
        "            self._sum = RunningSum(self._sum.accountant)\n            self._sum.add(mechanism, whole)\n",
        "tests/accounting/test_ledger.py::test_divergences_simply_add_up",
    ),
    Fault(
        "a vote that moves counts for one class alone",
        "dpviz/accounting/noisy_max.py",
        "SampledGaussian(self.noise_std / math.sqrt(2.0)), 1",
        "SampledGaussian(self.noise_std), 1",
        f"{_VOTES}::test_no_bound_lies_below_the_exact_divergence",
    ),
    Fault(
        "what votes cost holds in one direction alone",
        "dpviz/accounting/noisy_max.py",
        "_LEAD = 2.0",
        "_LEAD = 0.0",
        f"{_VOTES}::test_no_bound_lies_below_the_exact_divergence",
    ),
    Fault(
        "only the runner-up can overtake the class of most votes",
        "dpviz/accounting/noisy_max.py",
        "np.minimum(logsumexp(each, axis=1), 0.0)",
        "np.minimum(each.max(axis=1), 0.0)",
        f"{_VOTES}::test_the_chance_of_an_upset_is_bounded_here_and_at_every_neighbour",
    ),
    Fault(
        "an answer is charged by how likely it is",
        "dpviz/accounting/pate.py",
        "power * yes_too + power * answer",
        "power * yes_too + power * answer * np.exp(yes)",
        f"{_PATE}::test_a_checked_answer_never_costs_more_than_is_said",
    ),
    Fault(
        "the check before an answer is free",
        "dpviz/accounting/pate.py",
        "math.hypot(1.0 / mechanism.noise_multiplier, 1.0 / check)",
        "math.hypot(1.0 / mechanism.noise_multiplier, 0.0 * check)",
        f"{_PATE}::test_what_holds_for_all_votes_is_a_gaussian_of_sensitivity_root_2",
    ),
    Fault(
        "a teacher that changes its vote moves a lead by one",
        "dpviz/accounting/vote_sensitivity.py",
        "STEP = 2.0",
        "STEP = 1.0",
        f"{_SMOOTH}::test_no_change_of_a_teacher_within_any_distance_is_larger",
    ),
    Fault(
        "sensitivity is looked for at the votes alone, not at those of changed teachers",
        "dpviz/accounting/vote_sensitivity.py",
        "least = leads - d",
        "least = leads - 0 * d",
        f"{_SMOOTH}::test_no_change_of_a_teacher_within_any_distance_is_larger",
    ),
    Fault(
        "publishing an ε by its smooth sensitivity is free",
        "dpviz/accounting/pate_release.py",
        "+ queries * checks + release.cost",
        "+ queries * checks",
        "tests/accounting/test_pate_release.py::test_it_is_the_limit_and_the_cost_of_publishing",
    ),
    Fault(
        "noise that follows smooth sensitivity is taken for noise of one size",
        "dpviz/accounting/smooth_release.py",
        "(2.0 * self.noise**2 * (1.0 - apart))",
        "(2.0 * self.noise**2)",
        "tests/accounting/test_smooth_release.py::test_its_cost_is_the_largest_divergence_of_any_neighbours_and_is_reached",
    ),
    Fault(
        "PrivateTraining adds half of the noise",
        "dpviz/training/private.py",
        "0.0, self._mechanism.noise_multiplier * bound, generator",
        "0.0, 0.5 * self._mechanism.noise_multiplier * bound, generator",
        "tests/training/test_audit.py::test_an_attack_shows_no_more_than_is_claimed_and_sees_half_the_noise",
    ),
    Fault(
        "a third training on the same data forgets the first",
        "dpviz/training/earlier.py",
        "spent.mechanisms = merge_events((*spent.mechanisms, plan))",
        "spent.mechanisms = (plan,)",
        "tests/training/test_earlier.py::test_three_in_a_row_claim_what_they_cost_together",
    ),
    Fault(
        "a slice of data that were trained on counts as new",
        "dpviz/training/earlier.py",
        'return bool(alive) or bool(np.isin(self._examples, other._examples, kind="sort").any())',
        "return self == other",
        "tests/training/test_earlier.py::test_the_same_examples_in_other_clothes",
    ),
    Fault(
        "plain gradients in the momentum are not seen",
        "dpviz/training/binding.py",
        "changed = _changed(self._weights, _weights(self._network)) or _changed(self._memory, self._memory_now())",
        "changed = _changed(self._weights, _weights(self._network))",
        "tests/training/test_binding.py::test_the_next_step_is_refused_before_anything_is_drawn",
    ),
    Fault(
        "weights that were changed after the training keep its claim",
        "dpviz/training/private.py",
        "if step == self.done and (changed := self._binding.changed):",
        "if step > self.done and (changed := self._binding.changed):",
        "tests/training/test_binding.py::test_what_was_changed_after_a_step_has_no_claim",
    ),
    Fault(
        "a sampler's rows are not asked for",
        "dpviz/training/examples.py",
        "return Subset(loader.dataset, [int(row) for row in sampler.indices])",
        "return loader.dataset",
        "tests/training/test_private.py::test_rows_that_a_sampler_leaves_out_are_not_trained_on",
    ),
)
