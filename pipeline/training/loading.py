"""Models and tokenizers from disk and back: safetensors only, remote code off, a folder whole or not at all."""

import os
import shutil
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase
from transformers.utils import logging as transformers_logging

from pipeline.errors import ModelError

transformers_logging.disable_progress_bar()


def load_model(model_dir: Path, dtype: torch.dtype = torch.float32) -> PreTrainedModel:
    """The causal language model of a local folder, in evaluation mode. Raises ModelError."""
    check_model_dir(model_dir)
    try:
        model = AutoModelForCausalLM.from_pretrained(
            model_dir, dtype=dtype, use_safetensors=True, trust_remote_code=False, local_files_only=True
        )
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        raise ModelError(f"{model_dir}: the model cannot be loaded ({_one_line(error)})") from error
    return model.eval()


def load_tokenizer(model_dir: Path) -> PreTrainedTokenizerBase:
    """The tokenizer of a local folder, with its chat template. Raises ModelError when either is missing."""
    if not model_dir.is_dir():
        raise ModelError(f"{model_dir}: no such folder; run the stage that writes it first (`dvc repro`)")
    try:
        tokenizer = AutoTokenizer.from_pretrained(model_dir, trust_remote_code=False, local_files_only=True)
    except (OSError, ValueError, KeyError) as error:
        raise ModelError(f"{model_dir}: the tokenizer cannot be loaded ({_one_line(error)})") from error
    if not tokenizer.chat_template:
        raise ModelError(f"{model_dir}: the tokenizer has no chat template; add chat_template.jinja to the folder")
    return tokenizer


def save_model(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, out_dir: Path) -> None:
    """Write weights, configs, tokenizer and chat template to `out_dir`, replacing what is there in one rename."""
    out_dir.parent.mkdir(parents=True, exist_ok=True)
    fresh = out_dir.with_name(f".{out_dir.name}.{os.getpid()}.new")
    stale = out_dir.with_name(f".{out_dir.name}.{os.getpid()}.old")
    try:
        model.save_pretrained(fresh, safe_serialization=True)
        tokenizer.save_pretrained(fresh)
        if out_dir.exists():
            out_dir.rename(stale)
        fresh.rename(out_dir)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
        shutil.rmtree(stale, ignore_errors=True)


def check_model_dir(model_dir: Path) -> None:
    """Raise ModelError unless `model_dir` holds a config and safetensors weights."""
    if not model_dir.is_dir():
        raise ModelError(f"{model_dir}: no such folder; run the stage that writes it first (`dvc repro`)")
    if not (model_dir / "config.json").is_file():
        raise ModelError(f"{model_dir}: no config.json in it; name the folder of a transformers model")
    if not any(model_dir.glob("*.safetensors")):
        raise ModelError(f"{model_dir}: no *.safetensors in it; save the model with safe_serialization=True")


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:300]
