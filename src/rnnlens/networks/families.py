"""The families of transformers' recurrent models that are supported: a model's modules → a cell."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor

from rnnlens.common.errors import RnnlensError, quoted
from rnnlens.networks.blocks import Affine, Block, BlockStack, LayerNorm, LinearBlock, LinearStack, RMSNorm, Scale
from rnnlens.networks.pretrained_blocks import GatedMLP, MLSTMBlock, RWKVBlock
from rnnlens.networks.pretrained_layers import Griffin, Mamba2, mamba_layer


def _expect(config: Any, **expected: Any) -> None:
    """Refuse settings that are not supported."""
    for name, value in expected.items():
        if getattr(config, name) != value:
            raise RnnlensError(
                f"the model's {name} is {quoted(getattr(config, name))}: only {quoted(value)} is supported"
            )


def _mamba(body: Any, blank: Tensor) -> BlockStack:
    _expect(body.config, hidden_act="silu")
    layer: Callable[[Any], Any] = Mamba2 if body.config.model_type == "mamba2" else mamba_layer
    blocks: list[Block] = [
        LinearBlock(
            layer(block.mixer),
            RMSNorm(block.norm.weight, block.norm.variance_epsilon),
            Affine(block.mixer.out_proj),
        )
        for block in body.layers
    ]
    return LinearStack(blocks, RMSNorm(body.norm_f.weight, body.norm_f.variance_epsilon), blank)


def _rwkv(body: Any, blank: Tensor) -> BlockStack:
    every, blocks = body.config.rescale_every, []
    for number, block in enumerate(body.blocks):
        # In eval mode transformers halves the stream every few blocks, and what they write accordingly.
        scale = 1.0 if every <= 0 or body.layers_are_rescaled else 0.5 ** (number // every)
        blocks.append(RWKVBlock(block, scale, halve=every > 0 and (number + 1) % every == 0))
    first, last = body.blocks[0].pre_ln, body.ln_out
    norms = [LayerNorm(norm.weight, norm.bias, norm.eps) for norm in (last, first)]
    return BlockStack(list(blocks), norms[0], blank, norms[1])


def _xlstm(body: Any, blank: Tensor) -> BlockStack:
    _expect(body.config, weight_mode="single", use_bias=False, add_out_norm=True)
    if not hasattr(body.blocks[0], "mlstm_layer"):
        raise RnnlensError("the xlstm package computes this model: its blocks are not known here; uninstall xlstm")
    norm = RMSNorm(body.out_norm.weight, body.out_norm.eps)
    return BlockStack([MLSTMBlock(block) for block in body.blocks], norm, blank)


def _recurrent_gemma(body: Any, blank: Tensor) -> BlockStack:
    """The network starts after the token that begins texts, at which the model resets its states."""
    config = body.config
    _expect(config, hidden_activation="gelu_pytorch_tanh")
    begin = config.bos_token_id
    if not isinstance(begin, int) or not 0 <= begin < config.vocab_size:
        raise RnnlensError(f"the model's bos_token_id is {quoted(begin)}: expected the token with which texts begin")
    blocks: list[Block] = []
    for layer in body.layers:
        block, mlp = layer.temporal_block, layer.mlp_block
        forward = GatedMLP(
            _one_plus(layer.channel_pre_norm), Affine(mlp.gate_proj), Affine(mlp.up_proj), Affine(mlp.down_proj), "tanh"
        )
        blocks.append(
            LinearBlock(Griffin(block), _one_plus(layer.temporal_pre_norm), Affine(block.linear_out), forward)
        )
    cell = LinearStack(blocks, _one_plus(body.final_norm), blank, Scale(float(body.normalizer))).to(blank)
    cell.opening = body.embed_tokens.weight[begin].detach().to(blank) - blank
    return cell


def _one_plus(norm: Any) -> RMSNorm:
    """RecurrentGemma's norm, which multiplies by 1 + weight."""
    return RMSNorm(1 + norm.weight.float(), norm.eps)


FAMILIES: dict[str, Callable[[Any, Tensor], BlockStack]] = {
    "mamba": _mamba,
    "mamba2": _mamba,
    "rwkv": _rwkv,
    "xlstm": _xlstm,
    "recurrent_gemma": _recurrent_gemma,
}
