# SPDX-License-Identifier: MIT
# tap.sh - read by the end-to-end tests: a private place for sessions, TAP, and cleaning up
# shellcheck shell=sh

# A mount name space of its own, where that may be: other tests take away stale mounts, and have
# some. It begins with a copy of all mounts. A session of the machine that ends later would leave a
# stale one here.
if [ -z "${TAP_ALONE:-}" ] && unshare -m --propagation private true 2>/dev/null; then
	TAP_ALONE=1 exec unshare -m --propagation private "$0" "$@"
fi
if [ -n "${TAP_ALONE:-}" ]; then
	while read -r _ at kind _; do
		[ "$kind" != fuse.tracefuse ] || umount -l "$(printf %b "$at")"
	done </proc/self/mounts
fi
unset TAP_ALONE

tf=$(realpath "$1")
here=$(cd "$(dirname "$0")" && pwd)
golden=$here/../golden
recording=$golden/scenarios/01-keys-basic/trace.dat
nr=0
work=$(mktemp -d /dev/shm/tracefuse-test-XXXXXX) || exit 1
user_cache=${XDG_CACHE_HOME:-}
export XDG_RUNTIME_DIR="$work" XDG_CACHE_HOME="$work/cache"
unset TRACEFUSE_SESSION
# Tests that have a terminal read what is printed there.
export TRACEFUSE_PAGER=

end_all() {
	for s in $("$tf" sessions 2>/dev/null | sed -n 's/^\([^ ][^:]*\):.*/\1/p'); do
		timeout 10 "$tf" sessions --end "$s" >/dev/null 2>&1
	done
	timeout 10 "$tf" sessions --clean >/dev/null 2>&1
	cd /
	# A server that hangs leaves its mount: nothing in it is to be removed.
	mountpoint -q "$work/mnt" && umount -l "$work/mnt"
	rm -rf --one-file-system "$work"
}
trap end_all EXIT

# ok NAME COMMAND... - the command succeeds
ok() {
	name=$1
	shift
	nr=$((nr + 1))
	if "$@" >"$work/out" 2>&1; then
		echo "ok $nr - $name"
	else
		echo "not ok $nr - $name"
		sed 's/^/# /' "$work/out"
	fi
}

# is NAME WANTED GOT - the texts are equal
is() {
	nr=$((nr + 1))
	if [ "$2" = "$3" ]; then
		echo "ok $nr - $1"
	else
		echo "not ok $nr - $1"
		printf '%s\n' "wanted: $2" "got:    $3" | sed 's/^/# /'
	fi
}

# has NAME PART TEXT - the text contains the part
has() {
	case $3 in
	*"$2"*) nr=$((nr + 1)); echo "ok $nr - $1" ;;
	*) is "$1" "...$2..." "$3" ;;
	esac
}

# judge_built NAME - where tools/build-judges has built it, or why it is not there. It builds into
# the user's cache, not into that of the test.
judge_built() {
	env -u XDG_CACHE_HOME ${user_cache:+"XDG_CACHE_HOME=$user_cache"} \
		"$here/../../tools/build-judges" --cached "$1" 2>&1
}

status() {
	"$@" >"$work/out" 2>&1
	echo $?
}

done_testing() {
	echo "1..$nr"
}

# switched SESSION - waits until its programs have switched their functions: a write waits for 100
# ms at most, which a
# busy machine may need to let them run
switched() {
	switched_turns=0
	while "$tf" doctor "$1" 2>/dev/null | grep -q 'has not switched' &&
		[ $((switched_turns += 1)) -lt 600 ]; do
		sleep 0.05
	done
}

# has_ended PID - the process is gone, or it is a zombie. The first thread may be a zombie while the
# others still hold a server's sockets. Not every init takes zombies away at once.
has_ended() {
	! kill -0 "$1" 2>/dev/null || {
		grep -q '^State:[[:space:]]*Z' "/proc/$1/status" 2>/dev/null &&
			[ "$(ls "/proc/$1/task" | wc -l)" -le 1 ]
	}
}

# await_end PID - a minute at most; what follows fails if the process still runs then
await_end() {
	await_turns=0
	until has_ended "$1" || [ $((await_turns += 1)) -gt 1200 ]; do
		sleep 0.05
	done
}

# await_stop PID - until all its threads stand still; kill -STOP returns before
await_stop() {
	await_turns=0
	while grep -qs '^State:[[:space:]]*[^T[:space:]]' "/proc/$1"/task/*/status &&
		[ $((await_turns += 1)) -le 1200 ]; do
		sleep 0.05
	done
}

# first_cpu - a CPU on which this test may run
first_cpu() {
	sed -n 's/^Cpus_allowed_list:[^0-9]*\([0-9]*\).*/\1/p' /proc/self/status
}

# on_one_cpu COMMAND... - runs it where its threads cannot change their CPU. In a graph, as in the
# kernel's, a call that ends on another CPU has two lines and its name at its end.
on_one_cpu() {
	taskset -c "$(first_cpu)" "$@"
}

# skip NAME REASON - a test, or several of one name, that cannot run here
skip() {
	nr=$((nr + 1))
	echo "ok $nr - $1 # SKIP $2"
}

skip_all() {
	echo "1..0 # SKIP $1"
	exit 0
}

need_fuse() {
	[ -r /dev/fuse ] && [ -w /dev/fuse ] || skip_all "no /dev/fuse here"
	"$tf" mount --help >/dev/null || skip_all "built without FUSE"
}

# can_shell - whether setup scripts can have a real shell here, which needs FUSE and a mount name
# space
can_shell() {
	echo : | "$tf" replay --setup /dev/stdin "$recording" >/dev/null 2>&1
}
