"""Runs any network one example at a time: what one example's output depends on is that example, by construction.

`torch.func.vmap` shows the network one example at a time and runs the operations for all of them at once. What would
look at other examples, or carry something of them out of the forward pass, does not run:

- a mean, a maximum or a sort over the first dimension is over one example;
- numbers taken out (`.item()`), branches on values and writes into buffers raise;
- buffers are copies, so that counters stay as they were; an assigned buffer or an attribute that keeps activations is
  taken away, and the network refused.

What Python code does beyond PyTorch's operations (a custom `autograd.Function` with a `vmap` rule of its own, printing)
is taken on trust.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from types import FunctionType, MethodType, ModuleType
from typing import Any

import torch
from torch import nn
from torch.func import vmap
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.overrides import TorchFunctionMode

Tensor = torch.Tensor

# What an error of PyTorch holds, and what the user may do about it.
_WAYS_OUT = (
    (".item()", "Numbers taken out of tensors differ between examples: keep them tensors."),
    ("control flow", "Branches on values differ between examples: use torch.where."),
    ("inplace arithmetic", "It writes what it knows of examples into a tensor of its own: take that away, or .eval()."),
    ("out=", "It writes into a tensor of its own: take that away, or .eval()."),
    ("running_mean", "Batch norm mixes examples: use group norm, or eval()."),
    ("saved tensor hooks", "Activation checkpointing runs layers again unseen: switch it off; chunks bound memory."),
    (
        "setup_context",
        "An autograd.Function needs a setup_context and generate_vmap_rule = True; without checkpointing.",
    ),
    ("register a hook", "Hooks on gradients hide what they change: take them away."),
    (
        "generate_vmap_rule",
        "Activation checkpointing (use_reentrant) and backward hooks hide what they run: take it off.",
    ),
    ("memory_format", "Set the layout of the data before the training, not in the forward pass."),
    ("dynamic shape", "Shapes that depend on values differ between examples: use masks."),
)
_RECURRENT = frozenset(f"{kind}{cell}" for kind in ("lstm", "gru", "rnn_tanh", "rnn_relu") for cell in ("", "_cell"))
_STANDARD = frozenset(vars(nn.Module()))


def each(network: nn.Module, function: Callable[..., tuple[Tensor, Tensor]], *batched: Any) -> tuple[Tensor, Tensor]:
    """`function` of every example of `batched`, which calls `network`.

    Raises:
        ValueError: for what cannot run so, with the module and the way out.
    """
    for name, module in network.named_modules():
        if module._backward_hooks or module._backward_pre_hooks:
            raise ValueError(
                f"Expected no backward hooks, found one on layer {name or 'network'!r}: they hide what they change of "
                "gradients. Take them away."
            )
    try:
        with ExitStack() as stack:
            # Fused attention has no rule for examples on a CPU; the fast path of nn.Transformer runs it.
            stack.enter_context(sdpa_kernel(SDPBackend.MATH))
            stack.enter_context(_no_fast_path())
            stack.enter_context(torch.autograd.graph.disable_saved_tensors_hooks("no saved tensor hooks"))
            stack.enter_context(_nothing_is_kept(network))
            stack.enter_context(_recurrent(network))
            answer: tuple[Tensor, Tensor] = vmap(function, randomness="different")(*batched)
            return answer
    except (RuntimeError, NotImplementedError) as error:
        raise ValueError(_refusal(network, error)) from error


def _refusal(network: nn.Module, error: Exception) -> str:
    text = str(error)
    way_out = next((way for holds, way in _WAYS_OUT if holds in text), "Take that away or replace it.")
    first = (text.strip() or type(error).__name__).splitlines()[0][:200].rstrip(". ")
    return f"Expected {_where(network, error)} to run on one example at a time, found: {first}. {way_out}"


def _where(network: nn.Module, error: Exception) -> str:
    """The innermost module of `network` in which `error` was raised, in words."""
    names = {id(module): name for name, module in network.named_modules()}
    trace, where = error.__traceback__, "the network or its loss"
    while trace is not None:
        module = trace.tb_frame.f_locals.get("self")
        if id(module) in names:
            where = f"layer {names[id(module)] or 'network'!r} ({type(module).__name__})"
        trace = trace.tb_next
    return where


@contextmanager
def _no_fast_path() -> Iterator[None]:
    before = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        yield
    finally:
        torch.backends.mha.set_fastpath_enabled(before)


@contextmanager
def _nothing_is_kept(network: nn.Module) -> Iterator[None]:
    """Buffers are copies meanwhile; what the forward pass left on a module is taken away and refused."""
    modules = list(network.named_modules())
    buffers = [(m._buffers, key, name, b) for name, m in modules for key, b in m._buffers.items() if b is not None]
    own = [(name, vars(m), dict(vars(m))) for name, m in modules]
    copies = [buffer.clone() for *_, buffer in buffers]
    for (table, key, *_), copy in zip(buffers, copies, strict=True):
        table[key] = copy
    kept = ""
    try:
        yield
    finally:
        for (table, key, name, buffer), copy in zip(buffers, copies, strict=True):
            if table[key] is not copy or copy._version:
                kept = kept or f"buffer {key!r} of layer {name or 'network'!r}"
            table[key] = buffer
        for name, attributes, before in own:
            for key in [key for key in attributes if key not in _STANDARD and _holds_examples(attributes[key])]:
                kept = kept or f"attribute {key!r} of layer {name or 'network'!r}"
                was = before.get(key)
                attributes.pop(key) if _holds_examples(was) or key not in before else attributes.update({key: was})
    if kept:
        raise ValueError(
            f"Expected the forward pass to keep nothing, found that it writes into {kept}: what it knows of examples "
            "would leave without noise. Take that away, or switch it off with .eval()."
        )


def _holds_examples(value: object, depth: int = 4) -> bool:
    """Whether a tensor that belongs to single examples is in `value`, in containers and objects too."""
    if isinstance(value, Tensor):
        return bool(torch._C._functorch.is_functorch_wrapped_tensor(value))
    if depth == 0 or value is None or isinstance(value, (nn.Module, type, ModuleType, FunctionType, MethodType)):
        return False
    inner: list[object] = []
    if isinstance(value, Mapping):
        inner = list(value.values())
    elif isinstance(value, (list, tuple, set, frozenset, deque)):
        inner = list(value)
    if hasattr(value, "__dict__"):
        inner += vars(value).values()
    return any(_holds_examples(one, depth - 1) for one in inner)


@contextmanager
def _recurrent(network: nn.Module) -> Iterator[None]:
    """LSTM, GRU and RNN in the operations that they are made of; GRU and RNN start from zeros of each example."""
    modules = [m for m in network.modules() if isinstance(m, (nn.RNNBase, nn.RNNCellBase))]
    replaced = [m for m in modules if isinstance(m, (nn.GRU, nn.RNN)) and "forward" not in vars(m)]
    for module in replaced:
        vars(module)["forward"] = _with_zeros(module)
    try:
        if modules:
            with _without_mkldnn(), _Decomposed():
                yield
        else:
            yield
    finally:
        for module in replaced:
            del vars(module)["forward"]
        for recurrent in modules:
            if isinstance(recurrent, nn.RNNBase):
                recurrent._init_flat_weights()  # a list of the weights beside them, which holds those of examples


@contextmanager
def _without_mkldnn() -> Iterator[None]:
    before = torch._C._get_mkldnn_enabled()
    torch._C._set_mkldnn_enabled(False)  # its own LSTM is one operation without a rule for examples
    try:
        yield
    finally:
        torch._C._set_mkldnn_enabled(before)


class _Decomposed(TorchFunctionMode):
    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", "")
        if name in _RECURRENT:
            operation = getattr(torch.ops.aten, name)
            func = (operation.default if name.endswith("_cell") else operation.input).decompose
        return func(*args, **(kwargs or {}))


def _with_zeros(module: nn.GRU | nn.RNN) -> Callable[..., Any]:
    forward: Any = module.forward

    def with_zeros(x: Any, start: Any = None) -> Any:
        if start is None and isinstance(x, Tensor):
            at = 0 if module.batch_first else 1
            layers = module.num_layers * (2 if module.bidirectional else 1)
            start = x.new_zeros(layers, *(() if x.ndim == 2 else (x.shape[at],)), module.hidden_size)
        return forward(x, start)

    return with_zeros
