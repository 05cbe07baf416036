#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A short run of tests/chaos (`make chaos`: 2,000 rounds): our processes are killed, stopped and frozen, nobody else notices.
exec "$(dirname "$0")/../chaos" "$([ -n "${CS_QUICK:-}" ] && echo 8 || echo 20)"
