"""Layers as the engine sees them: outputs, gradients towards inputs, and per-example gradients as products.

Linear layers, those of attention too, embeddings, convolutions of images and group norm have forms of their own; all
else is written out (`passes`), which for layers with few parameters takes no longer.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Generic, Protocol, TypeVar, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.func import vjp, vmap
from torch.nn.grad import conv2d_input

from dpviz.training.engine.accepted import refuse_recomputed
from dpviz.training.engine.products import Dense, Factored, Outer, Products, Rows
from dpviz.training.networks.variational import Variational

_to_input: Callable[..., Tensor] = conv2d_input  # PyTorch gives it no types
Module = TypeVar("Module", bound=nn.Module)
Kept = tuple[Tensor, ...]  # what a layer's forward pass leaves for its backward pass, each (b, …)

# One number written to memory and read back costs about as much as this many multiplications in a matrix product.
_MEMORY_COST = 10

# Narrower products on a CPU run in kernels that round a row by where it stands; zeros are added up to this width.
NARROW = 16


class Buffers:
    """Large uninitialised tensors, handed out in order; after `rewind` the same memory is handed out again.

    A fresh allocation of some megabytes makes the system map and clear pages each time, which costs as much as filling
    them: on a CPU a third of a step of a small convolutional network.

    Attributes:
        reuse: False while somebody keeps what was handed out; every tensor is then its own.
    """

    def __init__(self) -> None:
        self.reuse = False
        self._memory: list[Tensor] = []
        self._next = 0

    def rewind(self) -> None:
        self._next = 0

    def take(self, shape: Sequence[int], like: Tensor) -> Tensor:
        """An uninitialised tensor of `shape`, of the dtype and on the device of `like`."""
        if not self.reuse:
            return like.new_empty(shape)
        size = math.prod(shape)
        if self._next == len(self._memory):
            self._memory.append(like.new_empty(size))
        memory = self._memory[self._next]
        if memory.numel() < size or memory.dtype != like.dtype or memory.device != like.device:
            memory = self._memory[self._next] = like.new_empty(size)
        self._next += 1
        return memory[:size].view(*shape)


class Layer(ABC, Generic[Module]):
    """One parameterised module of a network, seen by the engine.

    Attributes:
        name: Its path in the network, "" for the network itself.
        module: The module; only read.
        parameters: Its trainable parameters, in the order of the sums of its products.
        channels_last: Whether it works with channels last, where it has channels.
        buffers: Where it takes the memory of large products from.
    """

    def __init__(self, name: str, module: Module) -> None:
        self.name = name
        self.module = module
        self.buffers = Buffers()
        self.channels_last = False
        self.parameters = tuple(p for p in module.parameters() if p.requires_grad)

    def trains(self, role: str) -> bool:
        """Whether its "weight" or "bias" is there and trained."""
        parameter: Tensor | None = getattr(self.module, role)
        return parameter is not None and parameter.requires_grad

    def stacked(self, ndim: int) -> bool:
        """Whether the first of so many dimensions of a call's input counts inputs that are treated one by one."""
        return False

    def arrange(self, sums: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """Sums of the products' gradients in the order of the parameters' own entries, where products keep another."""
        return sums

    @abstractmethod
    def forward(self, x: Tensor) -> tuple[Tensor, Kept]:
        """The module's output for `x`, and tensors that the others want back. Runs without recording gradients."""

    @abstractmethod
    def to_input(self, x: Tensor, kept: Kept, gradient: Tensor) -> Tensor | None:
        """The gradient towards `x` from the one towards the output; None where `x` has none, as indices."""

    @abstractmethod
    def products(self, x: Tensor, kept: Kept, gradient: Tensor) -> Products:
        """The per-example gradients from the gradient towards the output."""


def _gram_is_cheaper(positions: int, inputs: int, outputs: int) -> bool:
    """Whether t × t Gram matrices cost less than the k × o gradient of each example (Bu et al. 2022, §3.3).

    Both forms need t·k·o multiplications for the gradient or its weighted sum; beyond those the Gram form needs
    t²(k + o) for the norm and all of it in double precision, at twice the cost; the written-out form the traffic
    of k·o numbers.
    """
    t, k, o = positions, inputs, outputs
    return t * k * o + 2 * t * t * (k + o) <= _MEMORY_COST * k * o


class _Linear(Layer[nn.Linear]):
    """`nn.Linear` on inputs of shape (b, …, k): at one position or many (sequences)."""

    def forward(self, x: Tensor) -> tuple[Tensor, Kept]:
        weight, own, outputs = self.module.weight, cast("Tensor | None", self.module.bias), self.module.out_features
        if outputs >= NARROW or x.device.type != "cpu":
            return F.linear(x, weight, own), ()
        missing = NARROW - outputs
        bias = None if own is None else F.pad(own, (0, missing))
        return F.linear(x, F.pad(weight, (0, 0, 0, missing)), bias)[..., :outputs].contiguous(), ()

    def to_input(self, x: Tensor, kept: Kept, gradient: Tensor) -> Tensor:
        weight, inputs = self.module.weight, self.module.in_features
        if inputs >= NARROW or weight.device.type != "cpu":
            return gradient @ weight
        return (gradient @ F.pad(weight, (0, NARROW - inputs)))[..., :inputs]

    def products(self, x: Tensor, kept: Kept, gradient: Tensor) -> Products:
        inputs = x.reshape(x.shape[0], -1, x.shape[-1])  # (b, t, k)
        outputs = gradient.reshape(x.shape[0], -1, gradient.shape[-1])  # (b, t, o)
        bias = self.trains("bias")
        if not self.trains("weight"):
            return Dense(outputs.sum(1))
        if inputs.shape[1] == 1:
            return Outer(inputs[:, 0], outputs[:, 0], bias=bias)
        if _gram_is_cheaper(inputs.shape[1], inputs.shape[2], outputs.shape[2]):
            return Factored(inputs, outputs, bias=bias)
        weight = torch.bmm(outputs.transpose(1, 2), inputs).flatten(1)
        return Dense(weight, outputs.sum(1)) if bias else Dense(weight)


class Run(Protocol):
    """The pass of a network in which a layer runs (`passes.Pass`)."""

    rows: int

    def of_all(self, name: str, x: Tensor, function: Callable[[Tensor], Tensor]) -> Tensor: ...


class Projection(_Linear):
    """The one matrix of `nn.MultiheadAttention` that makes queries, keys and values, as a linear layer of its own.

    Attributes:
        attention: Whose it is.
    """

    def __init__(self, name: str, attention: nn.MultiheadAttention) -> None:
        layer = nn.Linear(attention.embed_dim, 3 * attention.embed_dim, device="meta")
        layer.register_parameter("weight", attention.in_proj_weight)
        layer.register_parameter("bias", attention.in_proj_bias)
        super().__init__(name, layer)
        self.attention = attention

    def attend(self, run: Run) -> Callable[..., Any]:
        """The attention's `forward`: by its two layers for a sequence to itself without masks, else as it is."""
        attention, project, original = self.attention, self.module, self.attention.forward

        def forward(query: Tensor, key: Tensor, value: Tensor, *others: Any, **named: Any) -> Any:
            masks = [named.get(name) for name in ("key_padding_mask", "attn_mask", "is_causal")]
            masked = any(mask is not None and mask is not False for mask in masks)
            alone = query is key is value and not others and named.get("need_weights") is False
            own = attention.in_proj_weight is project.weight and attention.in_proj_bias is project.bias
            if masked or not alone or not own:
                return original(query, key, value, *others, **named)
            turned = query.ndim == 3 and not attention.batch_first
            projected = project(query.transpose(0, 1) if turned else query)
            heads, dropout = attention.num_heads, attention.dropout if attention.training else 0.0
            if dropout or query.device.type != "cpu":
                q, k, v = _by_head(projected, heads)
                y = F.scaled_dot_product_attention(q, k, v, dropout_p=dropout).transpose(-3, -2).flatten(-2)
            else:
                y = run.of_all(self.name, projected, lambda whole: _attention(whole, heads, run.rows))
            y = attention.out_proj(y)
            return y.transpose(0, 1) if turned else y, None

        return forward


def _by_head(projected: Tensor, heads: int) -> tuple[Tensor, ...]:
    """Queries, keys and values, three of (…, heads, t, e), from (…, t, 3 heads e)."""
    return projected.view(*projected.shape[:-1], 3, heads, -1).transpose(-4, -2).unbind(-3)


class _Attention(torch.autograd.Function):
    """Attention of sequences to themselves, (b, …, t, 3 heads e) to (b, …, t, heads e), by PyTorch's kernel for CPUs.

    Only of the first `rows` of b, which are no filling: the others get the first one's numbers, and no gradient.
    """

    @staticmethod
    def forward(ctx: Any, projected: Tensor, heads: int, rows: int) -> Tensor:
        q, k, v = _by_head(projected[:rows].flatten(0, -3), heads)
        attended, scale = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(q, k, v)
        ctx.save_for_backward(projected, attended, scale)
        ctx.heads, ctx.rows = heads, rows
        y = projected.new_empty(*projected.shape[:-1], projected.shape[-1] // 3)
        y[:rows] = attended.transpose(-3, -2).reshape(y[:rows].shape)
        y[rows:] = y[:1]
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        projected, attended, scale = ctx.saved_tensors
        rows, heads = ctx.rows, ctx.heads
        q, k, v = _by_head(projected[:rows].flatten(0, -3), heads)
        into = gradient[:rows].reshape(*q.shape[:1], q.shape[2], heads, -1).transpose(1, 2)
        parts = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward(
            into, q, k, v, attended, scale, 0.0, False
        )
        towards = torch.empty_like(projected, memory_format=torch.contiguous_format)
        for own, part in zip(_by_head(towards[:rows].flatten(0, -3), heads), parts, strict=True):
            own.copy_(part)
        towards[rows:].zero_()
        return towards, None, None


_attention: Callable[..., Tensor] = _Attention.apply  # PyTorch gives it no types


class _Embedding(Layer[nn.Embedding]):
    """`nn.Embedding` on indices of shape (b, …)."""

    def forward(self, x: Tensor) -> tuple[Tensor, Kept]:
        return F.embedding(x, self.module.weight), ()

    def to_input(self, x: Tensor, kept: Kept, gradient: Tensor) -> None:
        return None

    def products(self, x: Tensor, kept: Kept, gradient: Tensor) -> Products:
        indices = x.reshape(x.shape[0], -1)
        outputs = gradient.reshape(x.shape[0], -1, self.module.embedding_dim)
        if self.module.padding_idx is not None:
            outputs = outputs.masked_fill((indices == self.module.padding_idx)[:, :, None], 0.0)
        return Rows.of(indices, outputs, size=self.module.num_embeddings)


class _Convolution(Layer[nn.Conv2d]):
    """`nn.Conv2d` of one group with zero padding given in numbers: a matrix applied to every patch."""

    def stacked(self, ndim: int) -> bool:
        return ndim == 4

    def forward(self, x: Tensor) -> tuple[Tensor, Kept]:
        conv = self.module
        if self._pointwise:
            pixels, matrix = self._pixels(x), conv.weight.view(1, *conv.weight.shape[:2]).expand(len(x), -1, -1)
            y = torch.bmm(matrix, pixels.flatten(2))
            y = y if conv.bias is None else y.add_(conv.bias[:, None])
            return y.view(len(x), -1, *pixels.shape[2:]), ()
        x, weight = self._laid_out(x), self._laid_out(conv.weight)
        return F.conv2d(x, weight, conv.bias, conv.stride, conv.padding, conv.dilation), ()

    def to_input(self, x: Tensor, kept: Kept, gradient: Tensor) -> Tensor:
        conv = self.module
        if self._pointwise:
            matrix = conv.weight.view(1, *conv.weight.shape[:2]).expand(len(x), -1, -1)
            towards = torch.zeros_like(x)
            pixels = self._pixels(towards)
            pixels.copy_(torch.bmm(matrix.transpose(1, 2), gradient.flatten(2)).view(pixels.shape))
            return towards
        return _to_input(x.shape, self._laid_out(conv.weight), gradient, conv.stride, conv.padding, conv.dilation)

    def products(self, x: Tensor, kept: Kept, gradient: Tensor) -> Products:
        outputs, bias = gradient.flatten(2), self.trains("bias")  # (b, o, t)
        if not self.trains("weight"):
            return Dense(outputs.sum(2))
        windows = self._patches(x)
        if _gram_is_cheaper(windows.shape[1], windows.shape[2], self.module.out_channels):
            return Factored(windows, outputs.transpose(1, 2), bias=bias)
        gradients = self.buffers.take((*outputs.shape[:2], windows.shape[2]), windows)
        weight = torch.bmm(outputs, windows, out=gradients).flatten(1)
        return Dense(weight, outputs.sum(2)) if bias else Dense(weight)

    @property
    def _pointwise(self) -> bool:
        """Whether it is a matrix for each pixel, of pictures with channels first: the product takes a fifth as long."""
        return self.module.kernel_size == (1, 1) and self.module.padding == (0, 0) and not self.channels_last

    def _pixels(self, x: Tensor) -> Tensor:
        """Those of `x` (b, c, h, w) that a kernel of one pixel looks at: most are not where its stride is 2."""
        down, across = self.module.stride
        return x[:, :, ::down, ::across]

    def _laid_out(self, x: Tensor) -> Tensor:
        """With channels last where that is faster: pooling then by ten times, convolutions up to 1.3 times."""
        return x.to(memory_format=torch.channels_last) if self.channels_last else x.contiguous()

    def arrange(self, sums: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        if not self.trains("weight"):
            return sums
        conv = self.module
        shape = (*conv.kernel_size, conv.in_channels)
        weight = sums[0].view(conv.out_channels, -1)[:, : math.prod(shape)].reshape(-1, *shape)
        return weight.permute(0, 3, 1, 2), *sums[1:]

    def _patches(self, x: Tensor) -> Tensor:
        """What the kernel sees in `x` (b, c, h, w): (b, positions, kh·kw·c), channels varying fastest, wide enough.

        A strided view of the picture with its channels last, copied once: the runs it copies are long, which makes it
        4 to 8 times as fast on a CPU as `F.unfold`.
        """
        kernel, stride, padding, dilation = (
            cast("tuple[int, int]", getattr(self.module, name))
            for name in ("kernel_size", "stride", "padding", "dilation")
        )
        if kernel == (1, 1) and padding == (0, 0):
            x, stride = self._pixels(x), (1, 1)
        x = self._padded(x.permute(0, 2, 3, 1), padding)
        b, height, width, c = x.shape
        rows = (height - dilation[0] * (kernel[0] - 1) - 1) // stride[0] + 1
        columns = (width - dilation[1] * (kernel[1] - 1) - 1) // stride[1] + 1
        example, down, across, _ = x.stride()
        between = (stride[0] * down, stride[1] * across)
        within = (dilation[0] * down, dilation[1] * across)
        view = x.as_strided((b, rows, columns, *kernel, c), (example, *between, *within, 1))
        entries = math.prod(kernel) * c
        least = NARROW if x.device.type == "cpu" else 0
        wide = self.buffers.take((b, rows, columns, max(entries, least)), x)
        wide[..., :entries].view(view.shape).copy_(view)
        if entries < least:
            wide[..., entries:].zero_()
        return wide.view(b, rows * columns, -1)

    def _padded(self, x: Tensor, padding: tuple[int, int]) -> Tensor:
        """Pictures (b, h, w, c) with zeros around them, in this order in memory."""
        if padding == (0, 0):
            return x.contiguous()
        (b, height, width, c), (down, across) = x.shape, padding
        around = self.buffers.take((b, height + 2 * down, width + 2 * across, c), x).zero_()
        around[:, down : down + height, across : across + width].copy_(x)
        return around


class _GroupNorm(Layer[nn.GroupNorm]):
    """`nn.GroupNorm` on inputs of shape (b, channels, …); its gradients are small, so they are written out."""

    def stacked(self, ndim: int) -> bool:
        return True

    def _sizes(self, x: Tensor) -> tuple[int, int, int, int]:
        return x.shape[0], x.shape[1], math.prod(x.shape[2:]), self.module.num_groups

    def forward(self, x: Tensor) -> tuple[Tensor, Kept]:
        norm = self.module
        y, *moments = torch.native_group_norm(x.contiguous(), norm.weight, norm.bias, *self._sizes(x), norm.eps)
        return y, tuple(moments)  # mean and 1 ÷ deviation, both (b, groups)

    def to_input(self, x: Tensor, kept: Kept, gradient: Tensor) -> Tensor:
        towards: Tensor = torch.ops.aten.native_group_norm_backward(
            gradient.contiguous(), x.contiguous(), *kept, self.module.weight, *self._sizes(x), [True, False, False]
        )[0]
        return towards

    def products(self, x: Tensor, kept: Kept, gradient: Tensor) -> Products:
        # Both (b, channels, positions).
        into, out = (part.contiguous().flatten(2) if x.ndim > 2 else part[:, :, None] for part in (x, gradient))
        gradients = []
        if self.trains("weight"):
            within = x.shape[1] // self.module.num_groups
            centre, scale = (moment.repeat_interleave(within, dim=1)[:, :, None] for moment in kept)
            gradients.append(((into - centre).mul_(out).sum(2)).mul_(scale[:, :, 0]))
        if self.trains("bias"):
            gradients.append(out.sum(2))
        return Dense(*gradients)


class VariationalLayer(Layer[Variational]):
    """`Variational` with the network inside it: weights are drawn once, and each example's gradient is written out."""

    def stacked(self, ndim: int) -> bool:
        return True

    def forward(self, x: Tensor) -> tuple[Tensor, Kept]:
        return vmap(partial(self._output, self.module.mean, self.module.log_std))(x.contiguous()), ()

    def _output(self, mean: Tensor, log_std: Tensor, one: Tensor) -> Tensor:
        return self.module.output(mean, log_std, one.unsqueeze(0)).squeeze(0)

    def to_input(self, x: Tensor, kept: Kept, gradient: Tensor) -> None:
        return None

    def products(self, x: Tensor, kept: Kept, gradient: Tensor) -> Products:
        mean, log_std = self.module.mean.detach(), self.module.log_std.detach()

        def of_one(example: Tensor, towards: Tensor) -> Any:
            pull: Any = vjp(lambda m, rho: self._output(m, rho, example), mean, log_std)[1]
            return pull(towards)

        return Dense(*vmap(of_one)(x.contiguous(), gradient.contiguous()))


_FORMS: dict[type[nn.Module], type[Layer[Any]]] = {
    nn.Linear: _Linear,
    nn.GroupNorm: _GroupNorm,
    Variational: VariationalLayer,
}


def layers_of(network: nn.Module) -> Iterator[Layer[Any]]:
    """The modules with parameters, frozen ones too, that have a form, outermost first; each once."""
    inside: set[nn.Module] = set()
    # Group norm takes 4 to 14 times as long with channels last.
    normed = any(isinstance(module, nn.GroupNorm) for module in network.modules())
    for name, module in network.named_modules():
        if type(module) is nn.MultiheadAttention and _in_one_matrix(module):
            yield Projection(f"{name}.in_proj".lstrip("."), module)
            yield _Linear(f"{name}.out_proj".lstrip("."), module.out_proj)
        form = None if module in inside or "forward" in vars(module) else _form(module)
        if form is None or not any(True for _ in module.parameters()):
            continue
        refuse_recomputed(name, module)
        if form is VariationalLayer or "weight" in module._parameters:  # else something computes it
            inside.update(module.modules())
            layer = form(name, module)
            layer.channels_last = not normed and all(p.device.type == "cpu" for p in layer.parameters)
            yield layer


def _in_one_matrix(attention: nn.MultiheadAttention) -> bool:
    """Whether one matrix, that nothing else computes, makes queries, keys and values of the same tokens."""
    more = attention.bias_k is not None or attention.add_zero_attn or "forward" in vars(attention)
    held = attention._parameters.get("in_proj_weight") is not None and "weight" in attention.out_proj._parameters
    return held and not more


def _form(module: nn.Module) -> type[Layer[Any]] | None:
    # Exact types: a subclass may compute something else.
    kind = type(module)
    if isinstance(module, nn.Conv2d):
        plain = kind is nn.Conv2d and module.groups == 1 and module.padding_mode == "zeros"
        return _Convolution if plain and not isinstance(module.padding, str) else None
    # max_norm rewrites the table during the forward pass, scale_grad_by_freq counts over the whole batch.
    if isinstance(module, nn.Embedding) and module.max_norm is None and not module.scale_grad_by_freq:
        return _Embedding if kind is nn.Embedding and not module.sparse else None
    return _FORMS.get(kind)
