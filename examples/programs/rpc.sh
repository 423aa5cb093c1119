#!/bin/sh
# SPDX-License-Identifier: MIT
# rpc.sh TRACEFUSE DIR - a histogram of latencies between two events of two programs (DIR: where rpc_server and rpc_client are)
here=$(cd "$(dirname "$0")" && pwd)
tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
"$1" run --setup "$here/rpc.setup" --cat events/synthetic/rpc_latency/hist -- \
	sh -c '"$0/example-rpc_server" "$1" & "$0/example-rpc_client" "$1" 1000; wait' "$2" "$tmp/socket"
