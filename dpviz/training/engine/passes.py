"""One forward and backward pass through any network, one example at a time, which leaves per-example products.

`torch.func.vmap` shows the network one example at a time and runs the operations for all of them at once: what one
example's output depends on is that example, by construction. What would look at other examples, or carry something of
them out of the forward pass, does not run:

- a mean, a maximum or a sort over the first dimension is over one example;
- numbers taken out (`.item()`), branches on values and writes into buffers raise;
- buffers are copies, so that counters stay as they were; an assigned buffer or an attribute that keeps activations is
  taken away, and the network refused.

What Python code does beyond PyTorch's operations (a custom `autograd.Function` with a `vmap` rule of its own, printing)
is taken on trust. Chains of the usual layers (`is_rowwise`) see the whole batch: it takes half the time.

Each layer with a form runs as one autograd function for all examples, whose backward pass returns only the gradient
towards the layer's input and hands (input, output gradient) over; no weight gradient is ever formed by autograd, and
none flows towards the data (Bu, Wang, Zha, Karypis 2022, "book-keeping").
"""

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from types import FunctionType, MethodType, ModuleType
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch._functorch.pyfunctorch import temporarily_pop_interpreter_stack
from torch.autograd.function import once_differentiable
from torch.func import functional_call, vmap
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.modules.module import _has_any_global_hook
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from dpviz.training.engine.accepted import refuse_half
from dpviz.training.engine.inputs import Inputs, arguments, each
from dpviz.training.engine.layers import Layer, Projection
from dpviz.training.engine.products import Dense, Products
from dpviz.training.networks.residual import Residual
from dpviz.training.words import Refusal, refusal, way_out

Loss = Callable[[Tensor, Tensor], Tensor]
Output = Callable[[Any], Any]

_RECURRENT = frozenset(f"{kind}{cell}" for kind in ("lstm", "gru", "rnn_tanh", "rnn_relu") for cell in ("", "_cell"))
_STANDARD = frozenset(vars(nn.Module()))
# Each of these treats the rows of a batch one by one, and writes nothing down.
_ACTIVATIONS = (nn.ReLU, nn.LeakyReLU, nn.ELU, nn.GELU, nn.SiLU, nn.Softplus, nn.Tanh, nn.Sigmoid)
_ROWWISE = (nn.Linear, nn.Identity, nn.GroupNorm, *_ACTIVATIONS)
# (b, c, h, w) alone: of fewer dimensions they take b for channels.
_OF_IMAGES = (nn.Conv2d, nn.MaxPool2d, nn.AvgPool2d, nn.AdaptiveAvgPool2d)
_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


class ElementwiseSizes(TorchDispatchMode):  # type: ignore[no-untyped-call]  # PyTorch gives it no types
    """Notes how many numbers elementwise operations return meanwhile, in `sizes`; not copies, which round nothing."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.sizes: set[int] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        returned = func(*args, **(kwargs or {}))
        if torch.Tag.pointwise in func.tags and func is not torch.ops.aten.clone.default:
            self.sizes.update(part.numel() for part in tree_leaves(returned) if isinstance(part, Tensor))
        return returned


_is_hooked: Callable[[], bool] = _has_any_global_hook  # PyTorch gives it no types


def is_rowwise(network: nn.Module, ndim: int) -> bool:
    """Whether no row of a batch of so many dimensions sees another there: chains of known parts, nothing hooked on."""
    own = [vars(module) for module in network.modules()]
    changed = any(not kept.keys().isdisjoint(("forward", "weight", "bias")) for kept in own)
    hooked = _is_hooked() or any(kept[hooks] for kept in own for hooks in _HOOKS)
    chain = type(network) is nn.Sequential and ndim > 1
    return chain and not changed and not hooked and all(_is_part(part, ndim) for part in network.children())


def _is_part(module: nn.Module, ndim: int) -> bool:
    """Whether a module is of a known kind, with all that it is made of; of exact types, for others may do more."""
    kind = type(module)
    if kind in (nn.Sequential, Residual):
        return all(_is_part(part, ndim) for part in module.children())
    if isinstance(module, nn.Flatten):
        return kind is nn.Flatten and (module.start_dim, module.end_dim) == (1, -1)
    return kind in _ROWWISE + _OF_IMAGES * (ndim == 4)


def tensor_of(returned: Any) -> Tensor:
    """The tensor that a network returns, or the logits in what it returns: `.logits`, or the entry of that name."""
    if isinstance(returned, Tensor):
        return returned
    logits = returned.get("logits") if isinstance(returned, Mapping) else getattr(returned, "logits", None)
    if not isinstance(logits, Tensor):
        raise refusal("one tensor", kind=type(returned).__name__)
    return logits


def _loss_of_each(loss: Loss, outputs: Tensor, targets: Tensor) -> Tensor:
    """The loss of each of these examples, (b,): of single numbers in more dimensions these numbers."""
    losses, examples = _losses(loss, outputs, targets), targets.shape[:1]
    if losses.ndim > 1 and losses.numel() == examples.numel():
        losses = losses.reshape(-1)
    if losses.ndim > 1:
        raise refusal("several losses", shape=("b", *losses.shape[1:]))
    if losses.shape != examples:
        raise refusal("a loss for each", shape=tuple(losses.shape))
    return losses


def _losses(loss: Loss, outputs: Tensor, targets: Tensor) -> Tensor:
    """What the loss makes of them; what PyTorch says of shapes and types comes with those of a batch."""
    try:
        return loss(outputs, targets)
    except Refusal:
        raise
    except (ValueError, TypeError, IndexError) as error:
        if "out of bounds" in str(error) and outputs.ndim > 1:
            raise refusal("label", classes=outputs.shape[1], last=outputs.shape[1] - 1) from error
        shapes = {"outputs": ("b", *outputs.shape[1:]), "targets": ("b", *targets.shape[1:]), "dtype": targets.dtype}
        raise refusal("loss", first=_first_line(error), **shapes) from error


def _penalty(error: Exception) -> Exception:
    """What is said where a loss differentiates the network by itself; else the error."""
    signs = ("twice", "does not require grad", "appears to not have been used")
    return refusal("penalty") if any(sign in str(error) for sign in signs) else error


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0][:200].rstrip(". ")


class Pass:
    """One forward and one backward pass.

    Args:
        network, loss: Called on one example, (1, …).
        layers: Those whose products are wanted.
        written: Name and parameter of those whose gradients are written out.
        x, y: Examples and targets, (b, …); b ≥ 2, for PyTorch loses the memory layout of a single one under vmap.
        weights: What the losses count, (b,); None for 1 each.
        rows: How many of the examples are more than filling: the first ones, whose products are wanted.
        output: What the loss reads of what the network returns.
        together: Call the network on the whole batch: `is_rowwise` networks alone. A step of a small network takes half
            the time then.
        loss_together: Call the loss on the whole batch: losses that see one row alone.

    Attributes:
        losses, outputs: Of the examples, (b,) and (b, …).
        tape: What each layer handed over.
        outside: Parameters of layers that were used beyond them.
        products: Of each layer that was reached; of the parameters that are written out, with None, if any was.

    Raises:
        ValueError: for what cannot run so, with the module and the way out.
    """

    def __init__(
        self,
        network: nn.Module,
        loss: Loss,
        layers: Sequence[Layer[Any]],
        written: Mapping[str, nn.Parameter],
        x: Inputs,
        y: Tensor,
        weights: Tensor | None,
        *,
        rows: int,
        output: Output,
        together: bool,
        loss_together: bool,
    ) -> None:
        # Inputs of the first layer need no gradient; this keeps the graph alive without one towards the data.
        self._token = token = torch.zeros(len(y), device=y.device, requires_grad=True)
        self._anchor = token  # of one example while the network runs
        self._together, self.rows = together, rows
        self.tape: dict[Layer[Any], Products] = {}
        x = each(Tensor.detach, x)
        own = {name: p.detach().expand(len(y), *p.shape).requires_grad_() for name, p in written.items()}

        def of_one(x: Inputs, y: Tensor, anchor: Tensor, own: dict[str, Tensor]) -> tuple[Tensor, ...]:
            self._anchor = anchor
            given, named = arguments(each(lambda part: part.unsqueeze(0), x))
            outputs = output(functional_call(network, own, given, named) if own else network(*given, **named))
            if not isinstance(outputs, Tensor):
                raise refusal("output", kind=type(outputs).__name__)
            if outputs.shape[:1] != (1,):
                return outputs, _loss_of_each(loss, outputs, y.unsqueeze(0)).squeeze(0)
            alone = outputs.squeeze(0)
            return (alone,) if loss_together else (alone, _loss_of_each(loss, outputs, y.unsqueeze(0)).squeeze(0))

        with torch.enable_grad():
            tapped = {layer.module: self._tapped(layer) for layer in layers}
            attending = {layer.attention: layer.attend(self) for layer in layers if isinstance(layer, Projection)}
            with _forwards(tapped | attending):
                returned = (output(network(x)),) if together else _each(network, of_one, x, y, token, own)
            outputs = returned[0]
            losses = returned[1] if len(returned) > 1 else _loss_of_each(loss, outputs, y)
            if not losses.requires_grad:
                raise refusal("loss without parameters")
            formed = [p for layer in layers for p in layer.parameters]
            towards = (token, *own.values(), *formed)
            total = losses.sum() if weights is None else (losses * weights).sum()
            try:
                reached = torch.autograd.grad(total, towards, allow_unused=True)[1:]
            except RuntimeError as error:
                raise _penalty(error) from error
        gradients = cast("Sequence[Tensor | None]", reached)
        self.losses, self.outputs = losses.detach(), outputs.detach()
        pairs = list(zip(own.values(), gradients, strict=False))
        self.outside = [p for p, gradient in zip(formed, gradients[len(own) :], strict=True) if gradient is not None]
        self.products: list[tuple[Layer[Any] | None, Products]] = [
            (layer, self.tape[layer]) for layer in layers if layer in self.tape
        ]
        if any(gradient is not None for _, gradient in pairs):
            whole = ((torch.zeros_like(p) if g is None else g)[:rows].reshape(rows, -1) for p, g in pairs)
            self.products.append((None, Dense(*whole)))

    def _tapped(self, layer: Layer[Any]) -> Callable[..., Tensor]:
        """The layer's `forward`, for all examples at once, which hands over what its gradients are made of."""
        original, own = layer.module.forward, layer.module._parameters
        parameters = tuple(own.values())

        def forward(x: Tensor, *others: object, **named: object) -> Tensor:
            if others or named:
                raise refusal("more arguments", layer=layer.name)
            replaced = any(mine is not now for mine, now in zip(parameters, own.values(), strict=True))
            if replaced or not vars(layer.module).keys().isdisjoint(("weight", "bias")):
                whole: Tensor = original(x)  # somebody calls it with weights of their own
                return whole
            stacked = not self._together and layer.stacked(x.ndim)
            y = self.of_all(layer.name, x, lambda whole: _tap(whole, self._token, layer, self, stacked))
            refuse_half(layer.name, x, y)
            return y

        return forward

    def of_all(self, name: str, x: Tensor, function: Callable[[Tensor], Tensor]) -> Tensor:
        """`function` of `x` of all examples, (b, …), called by layer `name` where the network sees one of them.

        Done by what `vmap` itself is made of: an `autograd.Function` with a rule for it takes longer at every call.
        """
        if self._together:
            return function(x)
        level = torch._C._functorch.maybe_get_level(self._anchor)
        if torch._C._functorch.maybe_current_level() != level:
            raise refusal("torch.func", layer=name)
        whole = torch._C._functorch._remove_batch_dim(x, level, len(self._token), 0)
        with temporarily_pop_interpreter_stack():
            y = function(whole)
        return torch._C._functorch._add_batch_dim(y, 0, level)


class _Tap(torch.autograd.Function):
    """A layer that hands over its per-example products on the way back; `stacked` inputs are (b, n, …)."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, anchor: Tensor, layer: Layer[Any], run: Pass, stacked: bool) -> Tensor:
        shape = x.shape[:2]
        if stacked:
            x = x.flatten(0, 1)
        y, kept = layer.forward(x)
        ctx.save_for_backward(x, *kept)
        ctx.layer, ctx.run, ctx.shape = layer, run, shape if stacked else None
        if stacked or y._is_view():  # not a view: what comes next may write into it
            y = torch.ops.aten._unsafe_view(y, (*shape, *y.shape[1:]) if stacked else y.shape)
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, None, None, None, None]:
        x, *kept = ctx.saved_tensors
        layer, tape, rows = ctx.layer, ctx.run.tape, ctx.run.rows
        if ctx.shape:
            gradient, rows = gradient.flatten(0, 1), rows * ctx.shape[1]
        # Detached, or the products would keep the whole graph alive.
        x = x.detach()
        to_input = layer.to_input(x, tuple(kept), gradient) if ctx.needs_input_grad[0] else None
        products = layer.products(x[:rows], tuple(part[:rows] for part in kept), gradient[:rows])
        if ctx.shape:
            to_input = None if to_input is None else to_input.reshape(*ctx.shape, *to_input.shape[1:])
            products = products if ctx.shape[1] == 1 else products.grouped(ctx.shape[1])
        tape[layer] = tape[layer].merge(products) if layer in tape else products
        return to_input, None, None, None, None


_tap: Callable[..., Tensor] = _Tap.apply  # PyTorch gives it no types


def _each(network: nn.Module, function: Callable[..., tuple[Tensor, ...]], *batched: Any) -> tuple[Tensor, ...]:
    """`function` of every example of `batched`, which calls `network`."""
    for name, module in network.named_modules():
        if module._backward_hooks or module._backward_pre_hooks:
            raise refusal("backward hooks", layer=name)
    mha = torch.backends.mha
    try:
        with ExitStack() as stack:
            # Fused attention has no rule for examples on a CPU; the fast path of nn.Transformer runs it.
            stack.enter_context(sdpa_kernel(SDPBackend.MATH))
            stack.enter_context(_off(mha.get_fastpath_enabled, mha.set_fastpath_enabled))
            stack.enter_context(torch.autograd.graph.disable_saved_tensors_hooks("no saved tensor hooks"))
            stack.enter_context(_nothing_is_kept(network))
            stack.enter_context(_recurrent(network))
            answer: tuple[Tensor, ...] = vmap(function, randomness="different")(*batched)
            return answer
    except (RuntimeError, NotImplementedError) as error:
        text = str(error)
        if isinstance(penalty := _penalty(error), Refusal):
            raise penalty from error
        raise refusal("alone", where=_where(network, error), first=_first_line(error), way_out=way_out(text)) from error


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
def _off(get: Callable[[], bool], put: Callable[[bool], Any]) -> Iterator[None]:
    """A switch of PyTorch's, off meanwhile."""
    before = get()
    put(False)
    try:
        yield
    finally:
        put(before)


@contextmanager
def _forwards(functions: Mapping[nn.Module, Callable[..., Any]]) -> Iterator[None]:
    """Modules with other `forward`s meanwhile."""
    before = {module: vars(module).get("forward") for module in functions}
    for module, forward in functions.items():
        vars(module)["forward"] = forward
    try:
        yield
    finally:
        for module, own in before.items():
            if own is None:
                del vars(module)["forward"]
            else:
                vars(module)["forward"] = own


@contextmanager
def _nothing_is_kept(network: nn.Module) -> Iterator[None]:
    """Buffers are copies meanwhile; what the forward pass left on a module is taken away and refused."""
    modules = list(network.named_modules())
    buffers = [(m._buffers, key, name, b) for name, m in modules for key, b in m._buffers.items() if b is not None]
    own = [(name, vars(m), dict(vars(m))) for name, m in modules]
    copies = [buffer.clone() for *_, buffer in buffers]
    for (table, key, *_), copy in zip(buffers, copies, strict=True):
        table[key] = copy
    kept: list[str] = []
    try:
        yield
    finally:
        for (table, key, name, buffer), copy in zip(buffers, copies, strict=True):
            if table[key] is not copy or copy._version:
                kept.append(f"buffer {key!r} of layer {name or 'network'!r}")
            table[key] = buffer
        for name, attributes, before in own:
            kept += [f"attribute {key!r} of layer {name or 'network'!r}" for key in _restored(attributes, before)]
    if kept:
        raise refusal("kept", kept=kept[0])


def _restored(attributes: dict[str, Any], before: Mapping[str, Any]) -> list[str]:
    """Names of a module's attributes that held examples: each has its value of before again, or is gone."""
    held = [key for key in attributes if key not in _STANDARD and _holds_examples(attributes[key])]
    for key in held:
        if key in before and not _holds_examples(before[key]):
            attributes[key] = before[key]
        else:
            del attributes[key]
    return held


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
    starting = [m for m in modules if isinstance(m, (nn.GRU, nn.RNN)) and "forward" not in vars(m)]
    # MKL-DNN's own LSTM is one operation without a rule for examples.
    mkldnn = _off(torch._C._get_mkldnn_enabled, torch._C._set_mkldnn_enabled) if modules else nullcontext()
    try:
        with _forwards({m: _with_zeros(m) for m in starting}), mkldnn, _Decomposed() if modules else nullcontext():
            yield
    finally:
        for module in modules:
            if isinstance(module, nn.RNNBase):
                module._init_flat_weights()  # a list of the weights beside them, which holds those of examples


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
