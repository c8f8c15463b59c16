"""Code that trains with exactly a plan's numbers, for each library; each defines `train` and says its own ε.

Poisson batches are drawn by q itself, not by a batch size, and sums are divided by the expected batch: what ε counts.
"""

from __future__ import annotations

from string import Template

from dpviz.questions.use.plan import CLIP, Plan

# Releases that the code was written for and run with.
RELEASES = {
    "dpviz": "dpviz.training.PrivateTraining",
    "opacus": "Opacus 1.6",
    "jax_privacy": "JAX Privacy 2.0",
    "tensorflow_privacy": "TensorFlow Privacy 0.9",
}

_NUMBERS = """
NOISE_MULTIPLIER = $sigma  # σ
SAMPLE_RATE = $rate  # q: each example joins each batch with this probability
STEPS = $steps  # T
MAX_GRAD_NORM = $clip  # C: σ counts in it, so that ε does not depend on it
DELTA = $delta
"""

_DPVIZ = '''"""DP-SGD with dpviz; the training says itself what may be claimed of it."""

import torch

from dpviz.training import PrivateTraining
$numbers

def train(network, data, learning_rate=0.1):
    """`data`: (x, y), or a dataset with a length. Trains `network` in place and returns what may be claimed."""
    examples = len(data[0]) if isinstance(data, tuple) else len(data)
    training = PrivateTraining(
        network,
        data,
        torch.optim.SGD(network.parameters(), lr=learning_rate),
        steps=STEPS,
        batch_size=int(SAMPLE_RATE * examples * (1 + 1e-12)),  # whole: q is what it was, or a little less
        noise_multiplier=NOISE_MULTIPLIER,
        max_grad_norm=MAX_GRAD_NORM,
        delta=DELTA,
    )
    for _ in training:
        pass
    return training.claim  # .epsilon, .delta, .accountant, .conditions
'''

_OPACUS = '''"""DP-SGD with Opacus: pip install opacus."""

from opacus import GradSampleModule
from opacus.accountants import RDPAccountant
from opacus.data_loader import DPDataLoader
from opacus.optimizers import DPOptimizer
from opacus.validators import ModuleValidator
from torch import nn, optim
$numbers

def train(network, dataset, learning_rate=0.1):
    """Returns the trained network and ε by Opacus's own Rényi accountant, which may differ in the last digits."""
    ModuleValidator.validate(network, strict=True)
    network = GradSampleModule(network).train()
    optimizer = DPOptimizer(
        optim.SGD(network.parameters(), lr=learning_rate),
        noise_multiplier=NOISE_MULTIPLIER,
        max_grad_norm=MAX_GRAD_NORM,
        expected_batch_size=SAMPLE_RATE * len(dataset),
    )
    accountant = RDPAccountant()
    optimizer.attach_step_hook(accountant.get_optimizer_hook_fn(sample_rate=SAMPLE_RATE))
    loader = DPDataLoader(dataset, sample_rate=SAMPLE_RATE)  # Poisson batches; an empty one is a step too
    loss, done = nn.CrossEntropyLoss(), 0
    while done < STEPS:
        for x, y in loader:
            optimizer.zero_grad()
            loss(network(x), y).backward()
            optimizer.step()
            done += 1
            if done == STEPS:
                break
    return network, accountant.get_epsilon(DELTA)
'''

_ACCOUNT = '''

def epsilon():
    """By dp-accounting's Rényi accountant, which may differ in the last digits."""
    step = dp_accounting.PoissonSampledDpEvent(SAMPLE_RATE, dp_accounting.GaussianDpEvent(NOISE_MULTIPLIER))
    accountant = dp_accounting.rdp.RdpAccountant()
    return accountant.compose(step, STEPS).get_epsilon(DELTA)
'''

_JAX = '''"""DP-SGD with JAX Privacy: pip install jax-privacy."""

import secrets

import dp_accounting
import jax
import jax_privacy
import numpy as np
import optax
from jax_privacy import batch_selection, noise_addition
$numbers

def train(loss, parameters, x, y, learning_rate=0.1):
    """`loss(parameters, x, y)`: of a batch, its mean. Returns the trained parameters and ε."""
    expected = SAMPLE_RATE * len(x)
    gradient = jax_privacy.clipped_grad(
        loss, l2_clip_norm=MAX_GRAD_NORM, normalize_by=expected, batch_argnums=(1, 2)
    )
    sensitivity = gradient.sensitivity(dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE)  # C ÷ expected
    key = jax.random.key(secrets.randbits(63), impl="threefry2x32")
    privatizer = noise_addition.gaussian_privatizer(stddev=NOISE_MULTIPLIER * sensitivity, prng_key=key)
    optimizer = optax.sgd(learning_rate)
    noise_state, state = privatizer.init(parameters), optimizer.init(parameters)

    @jax.jit
    def step(parameters, noise_state, state, x, y, padding):
        clipped = gradient(parameters, x, y, is_padding_example=padding)
        noisy, noise_state = privatizer.update(clipped, noise_state)
        updates, state = optimizer.update(noisy, state, parameters)
        return optax.apply_updates(parameters, updates), noise_state, state

    batches = batch_selection.CyclicPoissonSampling(sampling_prob=SAMPLE_RATE, iterations=STEPS)
    for chosen in batches.batch_iterator(len(x)):
        chosen = np.append(chosen, -1)  # never empty; padded, so that few sizes are compiled
        chosen = batch_selection.pad_to_multiple_of(chosen, 32)
        parameters, noise_state, state = step(parameters, noise_state, state, x[chosen], y[chosen], chosen == -1)
    return parameters, epsilon()
'''

_TENSORFLOW = '''"""DP-SGD with TensorFlow Privacy: pip install tensorflow-privacy "tensorflow<2.16"."""

import dp_accounting
import numpy as np
import tensorflow as tf
import tensorflow_privacy
$numbers

def train(network, x, y, learning_rate=0.1):
    """`network`: a Keras model from features to logits; trained in place. Returns ε.

    Keras draws batches of a fixed size, whose ε is another one: here they are Poisson, and the sum is the library's.
    """
    query = tensorflow_privacy.GaussianSumQuery(MAX_GRAD_NORM, NOISE_MULTIPLIER * MAX_GRAD_NORM)
    state = query.initial_global_state()
    parameters = query.derive_sample_params(state)
    optimizer = tf.keras.optimizers.SGD(learning_rate)
    loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    weights = network.trainable_variables
    random, expected = np.random.default_rng(), SAMPLE_RATE * len(x)

    def clipped(example):
        features, label = example
        with tf.GradientTape() as tape:
            value = loss(label[None], network(features[None], training=True))
        return query.preprocess_record(parameters, tape.gradient(value, weights))

    for _ in range(STEPS):
        total = query.initial_sample_state(weights)
        chosen = np.flatnonzero(random.random(len(x)) < SAMPLE_RATE)  # an empty batch is a step too
        if chosen.size:
            records = tf.vectorized_map(clipped, (tf.gather(x, chosen), tf.gather(y, chosen)))
            total = [tf.reduce_sum(record, axis=0) for record in records]
        noisy, state, _ = query.get_noised_result(total, state)
        optimizer.apply_gradients(zip([sum_ / expected for sum_ in noisy], weights))
    return epsilon()
'''

_TEMPLATES = {
    "dpviz": _DPVIZ,
    "opacus": _OPACUS,
    "jax_privacy": _JAX + _ACCOUNT,
    "tensorflow_privacy": _TENSORFLOW + _ACCOUNT,
}


def snippets(plan: Plan) -> dict[str, str]:
    """Library → Python source."""
    told = Template(_NUMBERS).substitute(
        sigma=repr(plan.noise_multiplier), rate=repr(plan.sample_rate), steps=f"{plan.steps:_}", clip=repr(CLIP),
        delta=repr(plan.delta),
    )  # fmt: skip
    return {name: Template(text).substitute(numbers=told) for name, text in _TEMPLATES.items()}
