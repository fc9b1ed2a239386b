#!/usr/bin/env bash
# Builds the wheel, installs it into a new environment in a temporary folder, and uses it from there.
set -eu
root="$(cd "$(dirname "$0")/.." && pwd)"
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT

"${PYTHON:-python3}" -m venv "$folder/venv"
python="$folder/venv/bin/python"
pip() { "$python" -m pip --quiet --disable-pip-version-check "$@"; }
pip wheel --no-deps --wheel-dir "$folder" "$root"
wheel="$(echo "$folder"/linkwork-*.whl)"
cd "$folder"

pip install "$wheel"
LINKWORK_CACHE_DIR="$folder/cache" "$python" "$root/tools/smoke_test.py"
pip install "$wheel[cli]"
LINKWORK_CACHE_DIR="$folder/cache" "$folder/venv/bin/linkwork" info double_pendulum
echo "test-wheel: $(basename "$wheel") works"
