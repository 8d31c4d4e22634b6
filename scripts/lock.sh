#!/bin/sh
# Remakes requirements.lock (what runs), requirements-dev.lock (what tests need besides) and requirements-openenv.lock
# (a server that tests talk to, in an environment of its own), by uv.
#
# All extras are resolved together first, so that vLLM installs beside the default lock; the versions found then hold for
# every Python from 3.11 on. CUDA's own packages are left out: a CUDA build of torch names the exact ones it wants, a CPU
# build none, and pip brings them along (see Makefile).
set -eu

work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
compile() { uv pip compile --quiet --python-version 3.11 --no-header --no-annotate pyproject.toml "$@"; }
pins() { grep -Ev '^(nvidia-|cuda-|triton)' "$1"; }

compile --extra vllm --extra verifiers --extra dev -o "$work/all.txt"
compile --universal -c "$work/all.txt" -o "$work/run.txt"
compile --universal --extra verifiers --extra dev -c "$work/all.txt" -o "$work/dev.txt"

pins "$work/run.txt" > "$work/requirements.lock"
pins "$work/dev.txt" | grep -Fvx -f "$work/requirements.lock" > "$work/requirements-dev.lock"
echo 'openenv==0.10.0' > "$work/openenv.in"
uv pip compile --quiet --universal --python-version 3.11 --no-header --no-annotate "$work/openenv.in" \
    -o "$work/requirements-openenv.lock"
mv "$work/requirements.lock" "$work/requirements-dev.lock" "$work/requirements-openenv.lock" .
