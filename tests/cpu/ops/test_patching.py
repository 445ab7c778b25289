"""Models of Hugging Face's with swapped layers, of random weights, against themselves."""

from __future__ import annotations

import pytest

from support.op_checks import close, torch
from tilewright import ops


def library():
    """Import it when a test runs: that takes seconds."""
    return pytest.importorskip("transformers")


FAMILIES = {
    "Llama": {"mlp": 2, "rms_norm": 5, "rotary": 1, "cross_entropy": 1},
    "Qwen2": {"mlp": 2, "rms_norm": 5, "rotary": 1, "cross_entropy": 1},
    "Qwen3": {"mlp": 2, "rms_norm": 9, "rotary": 1, "cross_entropy": 1},
    "Mistral": {"mlp": 2, "rms_norm": 5, "rotary": 1, "cross_entropy": 1},
    "Gemma": {"mlp": 2, "rotary": 1, "cross_entropy": 1},
}
"""How many layers of each kind are swapped; Gemma's norms multiply by 1 + weight."""


def model_of(family):
    transformers = library()
    config = getattr(transformers, f"{family}Config")(
        vocab_size=97, hidden_size=32, intermediate_size=48, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64, head_dim=8,
    )  # fmt: skip
    torch.manual_seed(0)
    model = getattr(transformers, f"{family}ForCausalLM")(config).double()
    for p in model.parameters():
        if p.dim() == 1:
            torch.nn.init.normal_(p, 1, 0.2)
    return model


def run(model, **more):
    ids = torch.arange(22).reshape(2, 11) * 7 % 97
    labels = ids.clone()
    labels[0, :3] = -100
    model.zero_grad()
    out = model(ids, labels=labels, **more)
    out.loss.backward()
    return [out.logits.detach(), out.loss.detach(), *[p.grad.clone() for p in model.parameters()]]


@pytest.mark.full
@pytest.mark.parametrize("family", FAMILIES)
def test_logits_and_gradients_stay(family):
    model = model_of(family)
    # Norms and losses of these models are f32, whatever the weights are.
    before = run(model)
    done = ops.patch(model)
    assert {kind: len(names) for kind, names in done.swapped.items()} == FAMILIES[family]
    for a, b in zip(run(model), before, strict=True):
        close(a, b, "float32", scale=5)
    positions = torch.stack([torch.arange(11), torch.arange(11) + 20])
    apart = run(model, position_ids=positions)
    ops.unpatch(model)
    for a, b in zip(run(model), before, strict=True):
        assert torch.equal(a, b)
    for a, b in zip(apart, run(model, position_ids=positions), strict=True):
        close(a, b, "float32", scale=5)


@pytest.mark.full
@pytest.mark.parametrize("family", [family for family in FAMILIES if family != "Gemma"])
def test_generated_tokens_stay(family):
    model = model_of(family).float().eval()
    ids = torch.arange(10).reshape(2, 5) * 11 % 97
    how = {"do_sample": False, "max_new_tokens": 12, "pad_token_id": 0}
    expected = model.generate(ids, **how)
    assert expected.shape == (2, 17)
    ops.patch(model)
    assert torch.equal(model.generate(ids, **how), expected)
    sums = model.generate(ids, num_beams=3, **how)
    ops.unpatch(model)
    assert torch.equal(model.generate(ids, num_beams=3, **how), sums)


def test_what_is_swapped_is_told():
    model, other = model_of("Gemma"), model_of("Gemma")
    module = library().models.gemma.modeling_gemma
    rotary = module.apply_rotary_pos_emb
    done = ops.patch(model, mlp=False)
    assert "mlp" not in done.swapped
    assert str(done).splitlines()[0] == (
        "rotary: 1, transformers.models.gemma.modeling_gemma.apply_rotary_pos_emb"
    )
    assert "kept model.norm: it computes something else" in str(done)
    with pytest.raises(ValueError, match="patched already"):
        ops.patch(model)
    ops.patch(other)
    ops.unpatch(model)
    assert module.apply_rotary_pos_emb is not rotary
    ops.unpatch(other)
    assert module.apply_rotary_pos_emb is rotary
    with pytest.raises(ValueError, match="takes a model that `patch` was given"):
        ops.unpatch(model)


def test_nothing_to_swap():
    done = ops.patch(torch.nn.Linear(3, 3))
    assert str(done) == "nothing was swapped"


@pytest.mark.full
def test_rotations_of_other_pairs_are_kept(monkeypatch):
    model = model_of("Llama")
    module = library().models.llama.modeling_llama

    def interleaved(q, k, cos, sin, unsqueeze_dim=1):
        return q * cos.unsqueeze(1), k * sin.unsqueeze(1)

    monkeypatch.setattr(module, "apply_rotary_pos_emb", interleaved)
    done = ops.patch(model)
    assert done.kept == {f"{module.__name__}.apply_rotary_pos_emb": "it rotates other pairs"}
    done.undo()


@pytest.mark.full
def test_items_of_a_batch():
    model = model_of("Llama")
    ids = torch.arange(12).reshape(1, 12)
    expected = model(ids, labels=ids, num_items_in_batch=5).loss
    ops.patch(model, rms_norm=False, mlp=False, rotary=False)
    close(model(ids, labels=ids, num_items_in_batch=5).loss, expected, "float32")
    ops.unpatch(model)
