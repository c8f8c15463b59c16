"""Tables of vectors looked up by index."""

from __future__ import annotations

from typing import cast

import torch
import torch.nn.functional as F
from torch import nn

from dpviz.training.engine.layers.base import Layer
from dpviz.training.engine.products import Products, Rows

Tensor = torch.Tensor


class EmbeddingLayer(Layer):
    """`nn.Embedding` on indices of shape (b, …)."""

    @staticmethod
    def covers(module: nn.Embedding) -> bool:
        # max_norm rewrites the table during the forward pass, scale_grad_by_freq counts over the whole batch.
        return module.max_norm is None and not module.scale_grad_by_freq and not module.sparse

    def check(self, x: Tensor) -> None:
        """Any shape."""

    def forward(self, x: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        table = cast(nn.Embedding, self.module)
        return F.embedding(x, table.weight), ()

    def backward(
        self, x: Tensor, kept: tuple[Tensor, ...], gradient: Tensor, *, wants_input: bool
    ) -> tuple[Tensor | None, Products]:
        table = cast(nn.Embedding, self.module)
        indices = x.reshape(x.shape[0], -1)
        outputs = gradient.reshape(x.shape[0], -1, table.embedding_dim)
        if table.padding_idx is not None:
            outputs = outputs.masked_fill((indices == table.padding_idx)[:, :, None], 0.0)
        return None, Rows.of(indices, outputs, size=table.num_embeddings)
