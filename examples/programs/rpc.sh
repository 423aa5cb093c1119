#!/bin/sh
# SPDX-License-Identifier: MIT
# rpc.sh [TRACEFUSE [DIR]] - a histogram of latencies between two events of two programs. In DIR are
# example-rpc_server and example-rpc_client; without it they are compiled.
here=$(cd "$(dirname "$0")" && pwd)
tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
if [ -z "$2" ]; then
	for each in rpc_server rpc_client; do
		# shellcheck disable=SC2046 # several options
		cc -O2 -o "$tmp/example-$each" "$here/$each.c" $(pkg-config --cflags tracefuse) ||
			exit 1
	done
fi
# shellcheck disable=SC2016 # for the shell that starts the two
"${1:-tracefuse}" run --setup "$here/rpc.setup" --cat events/synthetic/rpc_latency/hist -- \
	sh -c '"$0/example-rpc_server" "$1" & "$0/example-rpc_client" "$1" 1000; wait' \
	"${2:-$tmp}" "$tmp/socket"
