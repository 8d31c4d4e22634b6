"""Models and tokenizers from disk and back: safetensors only, remote code off, a folder whole or not at all."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase
from transformers.utils import logging as transformers_logging

from pipeline.errors import ModelError

FILES = ("config.json", "generation_config.json", "*.safetensors", "*.safetensors.index.json", "tokenizer*",
         "special_tokens_map.json", "added_tokens.json", "vocab.json", "merges.txt", "chat_template*")  # fmt: skip
"""What a model's folder may bring along: neither code nor pickles."""

transformers_logging.disable_progress_bar()


def load_model(model_dir: Path, dtype: torch.dtype = torch.float32) -> PreTrainedModel:
    """The causal language model of a local folder, in evaluation mode. Raises ModelError."""
    check_model_dir(model_dir)
    try:
        model: PreTrainedModel = AutoModelForCausalLM.from_pretrained(
            model_dir, dtype=dtype, use_safetensors=True, trust_remote_code=False, local_files_only=True
        )
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        raise ModelError(f"{model_dir}: the model cannot be loaded ({_one_line(error)})") from error
    model.eval()
    return model


def load_tokenizer(model_dir: Path) -> PreTrainedTokenizerBase:
    """The tokenizer of a local folder. Raises ModelError."""
    if not model_dir.is_dir():
        raise ModelError(_missing(model_dir))
    try:
        tokenizer: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(
            model_dir, trust_remote_code=False, local_files_only=True
        )
    except (OSError, ValueError, KeyError) as error:
        raise ModelError(f"{model_dir}: the tokenizer cannot be loaded ({_one_line(error)})") from error
    for how in ("is_local", "local_files_only"):  # or a saved copy would say how it was loaded
        tokenizer.init_kwargs.pop(how, None)
    return tokenizer


def save_model(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, out_dir: Path) -> None:
    """Write weights, configs, tokenizer and chat template to `out_dir`, replacing what is there."""
    with whole_folder(out_dir) as fresh:
        model.save_pretrained(fresh)
        tokenizer.save_pretrained(fresh)


def copy_model(source: Path, out_dir: Path) -> None:
    """Copy a model's `FILES` as they are to `out_dir`, replacing what is there. Raises ModelError."""
    check_model_dir(source)
    with whole_folder(out_dir) as fresh:
        for pattern in FILES:
            for path in sorted(source.glob(pattern)):
                if path.is_file():
                    shutil.copyfile(path, fresh / path.name)


@contextmanager
def whole_folder(out_dir: Path) -> Iterator[Path]:
    """A temporary folder that becomes `out_dir` when the block ends well and vanishes when it does not."""
    fresh = out_dir.with_name(f".{out_dir.name}.{os.getpid()}.new")
    stale = out_dir.with_name(f".{out_dir.name}.{os.getpid()}.old")
    fresh.mkdir(parents=True)
    try:
        yield fresh
        if out_dir.exists():
            out_dir.rename(stale)
        fresh.rename(out_dir)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
        shutil.rmtree(stale, ignore_errors=True)


def check_model_dir(model_dir: Path) -> None:
    """Raise ModelError unless `model_dir` holds a config and safetensors weights."""
    if not model_dir.is_dir():
        raise ModelError(_missing(model_dir))
    if not (model_dir / "config.json").is_file():
        raise ModelError(f"{model_dir}: no config.json in it; name the folder of a transformers model")
    if not any(model_dir.glob("*.safetensors")):
        raise ModelError(f"{model_dir}: no *.safetensors in it; save the model with `save_pretrained` first")


def _missing(model_dir: Path) -> str:
    return f"{model_dir}: no such folder; run the stage that writes it first (`dvc repro`)"


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:300]
