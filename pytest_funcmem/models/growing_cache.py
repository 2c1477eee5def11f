"""A key-value cache that writes each token into room it already has.

The cache of transformers joins all keys and values anew at every step, which on small models costs as much as
the attention itself. Knows one layer type, plain attention over everything that came before; other layers
(sliding windows, recurrent states) are left as they are.
"""

from __future__ import annotations

from typing import Any

import torch
from transformers.cache_utils import DynamicLayer

__all__ = ["let_cache_grow"]

_ROOM = 128
"""Tokens of room that are made at a time."""


class GrowingLayer(DynamicLayer):  # type: ignore[no-untyped-call]  # theirs is untyped
    """Keys and values of one layer, as views into buffers that are longer than what they hold.

    Args:
        layer: The layer that was filled while the prompt was read.
    """

    def __init__(self, layer: Any) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # theirs is untyped
        self.device = layer.device
        self.dtype = layer.keys.dtype
        self.keys = layer.keys
        self.values = layer.values
        self.is_initialized = True
        self._buffers: tuple[torch.Tensor, torch.Tensor] | None = None
        self._shown: torch.Tensor | None = None

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: Any, **kwargs: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Add the keys and values of new tokens; give back those of all tokens."""
        if self.keys is None or self.values is None:
            raise AssertionError("a growing layer is made of a filled one, and is never reset")
        before = self.keys.shape[-2]
        after = before + key_states.shape[-2]
        # Rows that left the batch have replaced the views by tensors of their own.
        if self._buffers is None or self._shown is not self.keys or self._buffers[0].shape[-2] < after:
            self._buffers = (_with_room(self.keys, after), _with_room(self.values, after))
        keys, values = self._buffers
        keys[..., before:after, :] = key_states
        values[..., before:after, :] = value_states
        self.keys, self.values = keys[..., :after, :], values[..., :after, :]
        self._shown = self.keys
        return self.keys, self.values


def _with_room(held: torch.Tensor, length: int) -> torch.Tensor:
    buffer = held.new_empty((*held.shape[:-2], length + _ROOM, held.shape[-1]))
    buffer[..., : held.shape[-2], :] = held
    return buffer


def let_cache_grow(cache: Any) -> None:
    """Replace the plain layers of a filled cache by ones that grow in place."""
    layers = getattr(cache, "layers", None)
    if isinstance(layers, list):
        for place, layer in enumerate(layers):
            if type(layer) is DynamicLayer and layer.is_initialized:
                layers[place] = GrowingLayer(layer)
