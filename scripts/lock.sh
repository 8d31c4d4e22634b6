#!/bin/sh
# Remakes requirements.lock (what runs) and requirements-dev.lock (what tests need besides), by uv.
#
# All extras are resolved together first, so that vLLM installs beside the default lock; the versions found then hold for
# every Python from 3.11 on. CUDA's own packages are left out: a CUDA build of torch names the exact ones it wants, a CPU
# build none, and pip brings them along (see Makefile).
set -eu

work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
compile() { uv pip compile --quiet --python-version 3.11 --no-header --no-annotate pyproject.toml "$@"; }
pins() { grep -Ev '^(nvidia-|cuda-|triton)' "$1"; }

compile --extra vllm --extra dev -o "$work/all.txt"
compile --universal -c "$work/all.txt" -o "$work/run.txt"
compile --universal --extra dev -c "$work/all.txt" -o "$work/dev.txt"

pins "$work/run.txt" > "$work/requirements.lock"
pins "$work/dev.txt" | grep -Fvx -f "$work/requirements.lock" > "$work/requirements-dev.lock"
mv "$work/requirements.lock" "$work/requirements-dev.lock" .
