# SPDX-License-Identifier: Apache-2.0
"""Rule files: one YAML file a command says what its words do. Here they become a model; no shell is known."""
