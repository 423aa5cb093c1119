# SPDX-License-Identifier: MIT
# same.sh - read behind tap.sh: a program whose functions are traced does what it does untraced
# shellcheck shell=sh disable=SC2154

setups=$work/setups
mkdir "$setups"

# What is on: nothing, the two tracers, both at once and more beside them.
: >"$setups/none"
echo 'echo function > current_tracer' >"$setups/function"
echo 'echo function_graph > current_tracer' >"$setups/graph"
cat >"$setups/both" <<'S'
echo function_graph > current_tracer
mkdir instances/other
echo function > instances/other/current_tracer
echo 1 > function_profile_enabled
S
echo "echo 'hist:keys=ip.sym:size=8192' > events/ftrace/function/trigger" >"$setups/count"
tracers='none function graph'

# traced SETUP COMMAND...: what it prints in $work/traced, its exit status in $result
traced() {
	setup=$setups/$1
	shift
	rm -rf "$work/save"
	timeout 250 "$tf" run -q --setup "$setup" --cat trace --save "$work/save" -- "$@" \
		>"$work/traced" 2>"$work/err"
	result=$?
}

# untraced COMMAND...: in $work/plain and $wanted
untraced() {
	timeout 250 "$@" >"$work/plain" 2>/dev/null
	wanted=$?
}

same_result() {
	is "$1: exit status" "$wanted" "$result"
	ok "$1: the same output" cmp "$work/plain" "$work/traced"
}

# seen NAME SETUP FUNCTION: the trace of the last run has calls of the function
seen() {
	[ "$2" = none ] && return 0
	nr=$((nr + 1))
	if grep -q "[^a-zA-Z0-9_]$3\( \[[^]]*\]\)*\( <-\|()\)" "$work/save/trace"; then
		echo "ok $nr - $1: the trace has calls"
	else
		echo "not ok $nr - $1: the trace has no $3"
		sed 's/^/# /' "$work/err"
		grep -v '^#' "$work/save/trace" | head -n 5 | sed 's/^/# /'
	fi
}

# same NAME FUNCTION COMMAND...: under each tracer what it prints is as untraced
same() {
	what=$1 function=$2
	shift 2
	untraced "$@"
	for t in $tracers; do
		traced "$t" "$@"
		same_result "$what, $t"
		seen "$what, $t" "$t" "$function"
	done
}
