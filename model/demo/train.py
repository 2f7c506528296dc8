"""Trains the demo model: a small GlmMoeDsaForCausalLM that answers simple questions in the GLM chat format.

    python train.py --out DIR --minutes 50

Writes a complete Hugging Face checkpoint in bf16 and heldout.jsonl to DIR, every few minutes and at the end. The learning
rate follows the clock, so a slower machine makes fewer steps rather than taking longer.
"""

import argparse
import json
import math
import os
import random
import shutil
import time
from pathlib import Path

import torch
import torch.nn.functional as F
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import GenerationConfig, GlmMoeDsaConfig, GlmMoeDsaForCausalLM, PreTrainedTokenizerFast

import tasks

HERE = Path(__file__).resolve().parent
VOCAB = 1024
CONTROL = ["<|endoftext|>", "[MASK]", "[gMASK]", "[sMASK]", "<sop>", "<eop>", "<|system|>", "<|user|>", "<|assistant|>",
           "<|observation|>", "/nothink"]
# Not "special" in the sense of skip_special_tokens: a client that decodes must see them to split off reasoning and calls.
MARKUP = ["<think>", "</think>", "<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>", "<arg_key>",
          "</arg_key>", "<arg_value>", "</arg_value>"]
GLM4_SPLIT = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
              r"|\s+(?!\S)|\s+")
SYSTEM_PROMPTS = ["You are a helpful assistant.", "You are a friendly assistant.", "Answer the question.", "Be brief.",
                  "You answer simple questions with one right answer.", "Reply with the answer only.",
                  "You are GLM, a small demo model.", "Keep your answers short."]


def build_tokenizer():
    r = random.Random(1)
    lines = SYSTEM_PROMPTS * 50 + ["Reasoning Effort: Max", "Reasoning Effort: High"] * 200
    for _ in range(60000):
        sample = tasks.training_sample(r)
        lines += [sample.prompt, sample.answer, sample.thought]
    # Arithmetic is learnt digit by digit, so no merge may join digits: the merges are learnt on text without them.
    lines = ["".join(" " if c.isdigit() else c for c in line) for line in lines]
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(GLM4_SPLIT), behavior="isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    trainer = trainers.BpeTrainer(vocab_size=VOCAB - 24, initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
                                  show_progress=False, min_frequency=2)
    tokenizer.train_from_iterator(lines, trainer)
    # The control tokens come after the text tokens, as in the real vocabulary.
    tokenizer.add_special_tokens([AddedToken(t, special=True, normalized=False) for t in CONTROL])
    tokenizer.add_tokens([AddedToken(t, special=False, normalized=False) for t in MARKUP])
    assert tokenizer.get_vocab_size() <= VOCAB
    return tokenizer


def build_config(tokenizer):
    token = tokenizer.token_to_id
    return GlmMoeDsaConfig(
        vocab_size=VOCAB, hidden_size=128, num_hidden_layers=6, num_attention_heads=8, num_key_value_heads=8,
        q_lora_rank=64, kv_lora_rank=64, qk_nope_head_dim=16, qk_rope_head_dim=16, v_head_dim=16,
        index_n_heads=4, index_head_dim=32,
        # Top-k selection passes no gradient to the indexer, so it stays untrained: it must not bite in ordinary use.
        index_topk=256, indexer_types=["full", "full", "shared", "shared", "full", "shared"],
        intermediate_size=256, moe_intermediate_size=64, n_routed_experts=16, num_experts_per_tok=4, n_shared_experts=1,
        first_k_dense_replace=2, mlp_layer_types=["dense"] * 2 + ["sparse"] * 4, n_group=1, topk_group=1,
        norm_topk_prob=True, routed_scaling_factor=2.5, max_position_embeddings=8192,
        rope_parameters={"rope_theta": 10000.0, "rope_type": "default"}, initializer_range=0.05,
        bos_token_id=None, pad_token_id=token("<|endoftext|>"),
        eos_token_id=[token("<|endoftext|>"), token("<|user|>"), token("<|observation|>")])


def rms_norm(x, module):
    return F.rms_norm(x, (x.shape[-1],), module.weight, module.variance_epsilon)


def rope(x, cos, sin):
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.cat([even * cos - odd * sin, odd * cos + even * sin], dim=-1)


def attention(m, x, cos, sin):
    b, t, _ = x.shape
    q = m.q_b_proj(rms_norm(m.q_a_proj(x), m.q_a_layernorm)).view(b, t, m.num_heads, -1).transpose(1, 2)
    q_nope, q_rope = q.split([m.qk_nope_head_dim, m.qk_rope_head_dim], dim=-1)
    latent, k_rope = m.kv_a_proj_with_mqa(x).split([m.kv_lora_rank, m.qk_rope_head_dim], dim=-1)
    kv = m.kv_b_proj(rms_norm(latent, m.kv_a_layernorm)).view(b, t, m.num_heads, -1).transpose(1, 2)
    k_nope, v = kv.split([m.qk_nope_head_dim, m.v_head_dim], dim=-1)
    k_rope = rope(k_rope.unsqueeze(1), cos, sin).expand(-1, m.num_heads, -1, -1)
    q, k = torch.cat([q_nope, rope(q_rope, cos, sin)], dim=-1), torch.cat([k_nope, k_rope], dim=-1)
    out = F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=m.scaling)
    return m.o_proj(out.transpose(1, 2).reshape(b, t, -1))


def mixture(m, x, loads):
    flat = x.reshape(-1, x.shape[-1])
    gate, k = m.gate, m.gate.top_k
    scores = F.linear(flat, gate.weight).sigmoid()
    ids = (scores + gate.e_score_correction_bias).topk(k, dim=-1).indices
    weights = scores.gather(1, ids)
    weights = weights / (weights.sum(-1, keepdim=True) + 1e-20) * gate.routed_scaling_factor
    order = ids.flatten().argsort()
    counts = torch.bincount(ids.flatten(), minlength=gate.num_experts)
    loads.append(counts)
    outputs = []
    for e, rows in enumerate(flat.index_select(0, order // k).split(counts.tolist())):
        g, u = F.linear(rows, m.experts.gate_up_proj[e]).chunk(2, dim=-1)
        outputs.append(F.linear(F.silu(g) * u, m.experts.down_proj[e]))
    restore = torch.empty_like(order)
    restore[order] = torch.arange(order.numel(), device=order.device)
    routed = (torch.cat(outputs).index_select(0, restore).view(flat.shape[0], k, -1) * weights.unsqueeze(-1)).sum(1)
    return routed.view_as(x) + m.shared_experts(x)


def hidden_states(model, ids, loads):
    """The model's final hidden states, several times faster than its own forward.

    Equal to it as long as a sequence is not longer than index_topk (the indexer is skipped) and padding is on the right
    (the causal mask keeps it out of sight).
    """
    x = model.model.embed_tokens(ids)
    angles = torch.arange(ids.shape[1], device=ids.device)[:, None] * model.model.rotary_emb.inv_freq
    cos, sin = angles.cos(), angles.sin()
    for layer in model.model.layers:
        x = x + attention(layer.self_attn, rms_norm(x, layer.input_layernorm), cos, sin)
        h = rms_norm(x, layer.post_attention_layernorm)
        x = x + (mixture(layer.mlp, h, loads) if hasattr(layer.mlp, "experts") else layer.mlp(h))
    return rms_norm(x, model.model.norm)


def conversation(r, weights, thinking_share):
    """One training conversation, ending with the role token that ends its last answer; whether it thinks; its tasks."""
    kind = r.random()
    turns = 1 if kind < 0.8 else r.randint(2, 3) if kind < 0.95 else r.randint(4, 7)
    thinking = r.random() < thinking_share
    text = "[gMASK]<sop>"
    if thinking and r.random() < 0.9:
        text += "<|system|>Reasoning Effort: " + ("High" if r.random() < 0.2 else "Max")
    if r.random() < 0.15:
        text += "<|system|>" + r.choice(SYSTEM_PROMPTS)
    asked = []
    for _ in range(turns):
        s = tasks.training_sample(r, weights)
        asked.append(s.task)
        text += f"<|user|>{s.prompt}<|assistant|><think>{s.thought if thinking else ''}</think>{s.answer}"
    return text + "<|user|>", thinking, asked


class Batches:
    """An endless stream of (ids, rows, columns, targets, turns, tasks).

    ids are padded; rows and columns are the positions that carry a loss, targets the tokens wanted there. turns says which answer of the
    batch such a position belongs to, tasks the task of each answer.
    """

    def __init__(self, tokenizer, seed, tokens, thinking_share, device):
        self.tokenizer, self.tokens, self.device, self.r = tokenizer, tokens, device, random.Random(seed)
        self.thinking_share = thinking_share
        self.wrong = dict.fromkeys((task.__name__ for task in tasks.TASKS), 1.0)
        names = ["<|user|>", "<|assistant|>", "<think>", "</think>", "<|endoftext|>"]
        self.user, self.assistant, self.think, self.end_think, self.pad = map(tokenizer.token_to_id, names)

    def losses(self, ids, thinking):
        """Positions whose token the model must produce by itself: what stands after the generation prompt."""
        found, inside = [], False
        for i, token in enumerate(ids):
            if inside:
                found.append(i)
                inside = token != self.user
            elif token == (self.think if thinking else self.end_think):
                inside = True
        return found

    def encode(self, texts):
        return [e.ids for e in self.tokenizer.encode_batch(texts, add_special_tokens=False)]

    def collate(self, items):
        width = max(len(ids) for ids, _, _ in items)
        ids = torch.full((len(items), width), self.pad)
        rows, columns, targets, turns, asked = [], [], [], [], []
        for row, (sequence, losses, answered) in enumerate(items):
            ids[row, :len(sequence)] = torch.tensor(sequence)
            turn = len(asked)
            asked += answered
            for i in losses:
                rows.append(row)
                columns.append(i - 1)
                targets.append(sequence[i])
                turns.append(turn)
                turn += sequence[i] == self.user  # ends an answer
        return (ids.to(self.device), *(torch.tensor(x, device=self.device) for x in (rows, columns, targets, turns)), asked)

    def learn(self, right, turns, asked):
        """Follows how often each task is answered wrongly in training, so that what is hard is practised more."""
        wrong = torch.zeros(len(asked), device=right.device).index_add_(0, turns, (~right).float()) > 0
        for task, w in zip(asked, wrong.tolist()):
            self.wrong[task] += 0.005 * (w - self.wrong[task])

    def __iter__(self):
        while True:
            weights = [w * (0.15 + self.wrong[task.__name__]) for task, w in tasks.TASKS.items()]
            conversations = [conversation(self.r, weights, self.thinking_share) for _ in range(2048)]
            encoded = self.encode([text for text, _, _ in conversations])
            items = [(ids, self.losses(ids, thinking), asked) for ids, (_, thinking, asked) in zip(encoded, conversations)]
            items = sorted((i for i in items if len(i[0]) <= 250), key=lambda i: len(i[0]))
            batches, batch = [], []
            for item in items:
                if batch and (len(batch) + 1) * len(item[0]) > self.tokens:
                    batches.append(batch)
                    batch = []
                batch.append(item)
            self.r.shuffle(batches)
            yield from map(self.collate, batches)


@torch.no_grad()
def held_out_accuracy(model, batches, samples):
    """Share of held-out answers every token of which is the most likely one: the same as answering greedily."""
    right = {}
    for thinking in (False, True):
        head = "[gMASK]<sop>" + ("<|system|>Reasoning Effort: Max" if thinking else "")
        texts = [f"{head}<|user|>{s.prompt}<|assistant|><think>{s.thought if thinking else ''}</think>{s.answer}<|user|>"
                 for s in samples]
        items = [(ids, batches.losses(ids, thinking), [s.task]) for ids, s in zip(batches.encode(texts), samples)]
        for start in range(0, len(items), 64):
            chunk = items[start:start + 64]
            ids, rows, columns, targets, _, _ = batches.collate(chunk)
            top = model.lm_head(hidden_states(model, ids, [])[rows, columns]).argmax(-1)
            wrong = set(rows[top != targets].tolist())  # rows with any token wrong
            for i in range(len(chunk)):
                right.setdefault((samples[start + i].task, thinking), []).append(i not in wrong)
    return {key: sum(v) / len(v) for key, v in right.items()}


def save(model, tokenizer, samples, out):
    """Writes the checkpoint beside itself first, so that a reader never finds half of one."""
    part = out.with_name(out.name + ".part")
    shutil.rmtree(part, ignore_errors=True)
    config = model.config.to_dict()
    half = GlmMoeDsaForCausalLM(GlmMoeDsaConfig(**config))
    half.load_state_dict({name: value.cpu() for name, value in model.state_dict().items()})
    half = half.to(torch.bfloat16)
    for layer, source in zip(half.model.layers, model.model.layers):
        if hasattr(layer.mlp, "gate"):  # the real checkpoints keep this one tensor in float32
            layer.mlp.gate.e_score_correction_bias = source.mlp.gate.e_score_correction_bias.detach().cpu().clone()
    half.generation_config = GenerationConfig(eos_token_id=model.config.eos_token_id, pad_token_id=model.config.pad_token_id,
                                              do_sample=False)
    half.save_pretrained(part)
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|endoftext|>", pad_token="<|endoftext|>",
                                   model_max_length=model.config.max_position_embeddings, padding_side="left",
                                   clean_up_tokenization_spaces=False)
    fast.chat_template = (HERE / "chat_template.jinja").read_text()
    fast.save_pretrained(part)
    with open(part / "heldout.jsonl", "w") as f:
        for s in samples:
            f.write(json.dumps({"prompt": s.prompt, "answer": s.answer, "task": s.task}) + "\n")
    out.mkdir(parents=True, exist_ok=True)
    for file in part.iterdir():
        file.chmod(0o644)
        os.replace(file, out / file.name)
    part.rmdir()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=50)
    parser.add_argument("--tokens", type=int, default=2048, help="tokens in a batch, padding included")
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--thinking", type=float, default=0.2, help="share of conversations with thinking on")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--resume", type=Path, help="start from the checkpoint in this folder")
    parser.add_argument("--new-tokenizer", action="store_true", help="train the tokenizer anew; the golden vectors then change")
    args = parser.parse_args()
    torch.manual_seed(args.seed)

    tokenizer = build_tokenizer() if args.new_tokenizer else Tokenizer.from_file(str(HERE / "tokenizer.json"))
    samples = tasks.held_out_samples(25)
    if args.resume:
        model = GlmMoeDsaForCausalLM.from_pretrained(args.resume, dtype=torch.float32)
    else:
        model = GlmMoeDsaForCausalLM(build_config(tokenizer))
    model = model.to(args.device)
    batches = Batches(tokenizer, args.seed, args.tokens, args.thinking, args.device)
    stream = iter(batches)
    print(f"{model.num_parameters()} parameters, {tokenizer.get_vocab_size()} tokens, {len(samples)} held-out questions")

    ids = next(stream)[0][:4]
    with torch.no_grad():
        error = (model.lm_head(hidden_states(model, ids, [])) - model(ids).logits).abs().max().item()
    assert error < 1e-3, f"the fast forward differs from the model's own by {error}"

    matrices = [p for p in model.parameters() if p.ndim >= 2]
    vectors = [p for p in model.parameters() if p.ndim < 2]
    optimizer = torch.optim.AdamW([{"params": matrices, "weight_decay": 0.05}, {"params": vectors, "weight_decay": 0.0}],
                                  lr=args.lr, betas=(0.9, 0.98), fused=True)
    gates = [layer.mlp.gate for layer in model.model.layers if hasattr(layer.mlp, "gate")]
    begin = time.monotonic()
    step, seen, mean, saved, evaluated = 0, 0, None, 0.0, 0.0  # the last two: when
    while True:
        elapsed = time.monotonic() - begin
        progress = elapsed / (args.minutes * 60)
        if progress >= 1:
            break
        rate = args.lr * min(1, (step + 1) / 50) * (0.5 + 0.5 * math.cos(math.pi * progress))
        for group in optimizer.param_groups:
            group["lr"] = rate
        ids, rows, columns, targets, turns, asked = next(stream)
        loads = []
        logits = model.lm_head(hidden_states(model, ids, loads)[rows, columns])
        loss = F.cross_entropy(logits, targets)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        # Balancing without an auxiliary loss: an expert that gets too few tokens becomes easier to choose.
        for gate, load in zip(gates, loads):
            gate.e_score_correction_bias += 1e-3 * (load.float().mean() - load).sign() * (progress < 0.8)
        batches.learn(logits.argmax(-1) == targets, turns, asked)
        step += 1
        seen += ids.numel()
        mean = loss.item() if mean is None else 0.98 * mean + 0.02 * loss.item()
        if step % 100 == 0:
            elapsed = time.monotonic() - begin
            print("wrong: " + " ".join(f"{task} {w:.2f}" for task, w in batches.wrong.items()))
            print(f"{elapsed / 60:5.1f} min  step {step}  loss {mean:.4f}  lr {rate:.1e}  {seen / elapsed:.0f} tokens/s",
                  flush=True)
        if elapsed - evaluated > 150:
            evaluated = elapsed
            accuracy = held_out_accuracy(model, batches, samples)
            for thinking in (False, True):
                part = {task: a for (task, t), a in accuracy.items() if t == thinking}
                print(f"held out, thinking {'on ' if thinking else 'off'}: {sum(part.values()) / len(part):.3f}  "
                      + " ".join(f"{task} {a:.2f}" for task, a in part.items()), flush=True)
        if elapsed - saved > 300:
            saved = elapsed
            save(model, tokenizer, samples, args.out)
    save(model, tokenizer, samples, args.out)
    print(f"{step} steps, {seen} tokens")


if __name__ == "__main__":
    main()
