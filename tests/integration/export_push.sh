#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# export --to otlp by gRPC, to pyroscope and to parca, received by grpcio (tests/push_test.py).
# Beside others.
command -v protoc >/dev/null || { echo "no protoc here"; exit 77; }
for python in python3 /usr/bin/python3; do
    "$python" -c 'import grpc, google.protobuf' 2>/dev/null && exec "$python" "$(dirname "$0")/../push_test.py"
done
echo "no gRPC for python3 here: apt-get install python3-grpcio python3-protobuf"
exit 77
