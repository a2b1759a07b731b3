"""Checks of a user's torch module or step function.

Only the weights of a torch module are read, so a module that computes something else than its class is refused. A step
function must be deterministic and treat each row of a batch by itself: no dropout, no noise, no batch statistics.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from threading import get_ident
from types import MethodType
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.module import register_module_forward_pre_hook
from torch.nn.utils import parametrize

from rnnlens.common.errors import RnnlensError, quoted

CELLS = (nn.GRUCell.forward, nn.LSTMCell.forward, nn.RNNCell.forward)
ROWS = 32  # states that a step function is tried on: enough to detect any dropout


def plain(module: Any, bases: tuple[type[nn.Module], ...], instead: str) -> type[nn.Module] | None:
    """Which of the torch classes `bases` a module is an instance of, or None. A module that computes something else
    than its class is refused. instead: what the user can do, for the message."""
    kind = next((base for base in type(module).__mro__ if base in bases), None)
    if kind is None:
        return None
    name, of = quoted(type(module).__name__), f"nn.{kind.__name__}"
    if "forward" in vars(module) or any(
        getattr(type(module), method) is not getattr(kind, method) for method in ("forward", "__call__", "_call_impl")
    ):
        raise RnnlensError(f"{name} has another forward than {of}, and only its weights would be read: {instead}")
    if module._forward_hooks or module._forward_pre_hooks:
        raise RnnlensError(
            f"{name} has forward hooks, and only its weights would be read: remove them if they change nothing "
            f"(handle.remove(), remove_weight_norm), or {instead}"
        )
    return kind


def uncompiled(module: Any) -> Any:
    """The module that `torch.compile` wrapped, with the same weights; anything else as it is."""
    return getattr(module, "_orig_mod", module) if type(module).__name__ == "OptimizedModule" else module


def evaluated(module: nn.Module) -> nn.Module:
    """The module to read weights from: a parametrized one as a copy in eval mode, where reading changes nothing."""
    return copy.deepcopy(module).eval() if parametrize.is_parametrized(module) else module


def module_of(step: Any) -> nn.Module | None:
    """The module that a step is, or is a method of."""
    step = step.__self__ if isinstance(step, MethodType) else step
    return step if isinstance(step, nn.Module) else None


def own_copy(step: Any) -> Any:
    """A copy, in eval mode, of a module or of a method with its module; anything else as it is."""
    module = module_of(step)
    if module is None:
        return step
    try:
        step = copy.deepcopy(step)
    except Exception as error:
        raise RnnlensError(
            f"{quoted(type(module).__name__)} cannot be copied: {said(error)}; to use it as it is, shared, "
            "pass lambda h, e: step(h, e)"
        ) from error
    copied = module_of(step)
    assert copied is not None
    copied.eval()
    return step


def check_step(step: Callable[[Tensor, Tensor], Tensor], h0: Tensor, inputs: int, E: Tensor | None) -> None:
    """Refuse a function that is not a step(h, e) on batches, or whose result depends on anything but h and e. It is
    called with a few states around h0 and a few inputs; its modules and torch's random state are not changed."""
    if isinstance(step, nn.RNNCellBase) and type(step).forward in CELLS:
        name = type(step).__name__
        raise RnnlensError(
            f"step is {quoted(name)}, which takes the input first: expected step(h, e); pass the cell to from_torch, "
            "or lambda h, e: cell(e, h)"
        )
    size, generator = len(h0), torch.Generator().manual_seed(0)
    h = h0 + 0.1 * torch.randn(ROWS, size, generator=generator).to(h0)
    e = torch.randn(ROWS, inputs, generator=generator).to(h0)
    if E is not None and len(E):
        e = E[torch.arange(ROWS, device=E.device) % len(E)].to(h0)
    devices = [h0.device] if h0.is_cuda else []
    with torch.random.fork_rng(devices=devices), called_modules() as modules, torch.no_grad():
        new = _called(step, h0.expand(2, size), h0.new_zeros(2, inputs))
        if not isinstance(new, Tensor) or new.shape != (2, size):
            got = tuple(new.shape) if isinstance(new, Tensor) else type(new).__name__
            raise RnnlensError(f"step(h, e) gave {got} for h (2, {size}): expected the next states, (2, {size})")
        if new.dtype != h0.dtype:
            raise RnnlensError(f"step(h, e) gave {new.dtype} for h of {h0.dtype}: expected states of the same dtype")
        first = _called(step, h, e)
        training = [module for module in modules if module.training]
        if training:
            for module in training:
                module.eval()
            if not same(first, _called(step, h, e)):
                raise RnnlensError(
                    f"step(h, e) uses {quoted(type(training[0]).__name__)} in training mode (dropout, batch "
                    "statistics), where it gives other states than in eval mode: call its .eval() first"
                )
        if not same(first, _called(step, h, e)):
            raise RnnlensError(
                "step(h, e) gave two different states for the same h and e: expected a step without dropout, noise or "
                "memory of its own; put its modules into eval mode"
            )
        if not same(first[:1], _called(step, torch.cat([h[:1], h0 - h[1:]]), torch.cat([e[:1], -e[1:]]))[:1]):
            raise RnnlensError(
                "step(h, e) gives a state that depends on the other states of the batch: expected each row by itself; "
                "put batch normalization into eval mode"
            )


@contextmanager
def called_modules() -> Iterator[list[nn.Module]]:
    """A list to which every module that is called in this thread is added, the outermost first; each is as before
    afterwards."""
    found, thread = list[nn.Module](), get_ident()
    with ExitStack() as stack:

        def note(module: nn.Module, _: Any) -> None:
            if get_ident() == thread and not any(module is one for one in found):
                stack.enter_context(unchanged([module]))
                found.append(module)

        with register_module_forward_pre_hook(note):
            yield found


@contextmanager
def unchanged(modules: list[nn.Module]) -> Iterator[None]:
    """Restore the modes and buffers of modules afterwards."""
    parts = [part for module in modules for part in module.modules()]
    modes = [part.training for part in parts]
    buffers = [(buffer, buffer.clone()) for module in modules for buffer in module.buffers()]
    try:
        yield
    finally:
        for part, mode in zip(parts, modes, strict=True):
            part.training = mode
        with torch.no_grad():
            for buffer, before in buffers:
                buffer.copy_(before)


def _called(step: Callable[[Tensor, Tensor], Tensor], h: Tensor, e: Tensor) -> Any:
    try:
        return step(h, e)
    except Exception as error:
        raise RnnlensError(
            f"step(h, e) failed on h {tuple(h.shape)} and e {tuple(e.shape)}: {said(error)}; "
            "for a step that takes one state at a time pass torch.vmap(step)"
        ) from error


def same(a: Tensor, b: Tensor) -> bool:
    """Equal up to rounding."""
    size = float(a.abs().nan_to_num(0, 0, 0).max().clamp(min=1))
    return torch.allclose(a, b, rtol=0, atol=min(100 * torch.finfo(a.dtype).eps, 0.01) * size, equal_nan=True)


def said(error: Exception) -> str:
    """The message of an error in one line."""
    return " ".join(str(error).split())[:200]
