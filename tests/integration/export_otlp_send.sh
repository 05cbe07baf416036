#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# export --to otlp against a receiver of the test's own that takes, refuses, is busy, slow, half content or talks for ever
# (tests/otlp_send_test.py).
exec python3 "$(dirname "$0")/../otlp_send_test.py"
