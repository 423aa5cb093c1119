# SPDX-License-Identifier: MIT
# web.sh - read by the tests named web*, behind tap.sh: starts and ends servers and a program
# shellcheck shell=sh

client() {
	python3 "$here/web_client.py" "$@"
}

port_of() {
	port=${1#http://*:}
	echo "${port%%/*}"
}

# web_start NAME [OPTION...] - sets url, which the command prints first, and web_pid
web_start() {
	web_name=$1
	shift
	: >"$work/$web_name.url"
	"$tf" web "$@" >"$work/$web_name.url" 2>"$work/$web_name.err" &
	web_pid=$!
	until grep -q token= "$work/$web_name.url"; do
		kill -0 "$web_pid" 2>/dev/null || break
		sleep 0.05
	done
	url=$(cat "$work/$web_name.url")
}

# web_stop - sets ended, the exit status
web_stop() {
	kill -TERM "$web_pid"
	wait "$web_pid"
	ended=$?
	cat "$work/$web_name.err" >&2
}

# web_program - the program runs in the session $TRACEFUSE_SESSION, until program_end
web_program() {
	mkfifo "$work/input"
	cat >"$work/setup" <<-'END'
	echo 'hist:keys=bytes_req.log2:vals=bytes_req' > events/heap/malloc/trigger
	echo 'hist:keys=common_stacktrace:vals=bytes_req' >> events/heap/malloc/trigger
	echo 'hist:keys=common_pid.execname' > events/heap/free/trigger
	echo 1 > function_profile_enabled
	END
	"$tf" run -q --session "$TRACEFUSE_SESSION" --function='web_*' --setup "$work/setup" \
		"$program" <"$work/input" >"$work/program.out" 2>&1 &
	program_pid=$!
	exec 9>"$work/input"
	until "$tf" cat events/heap/malloc/hist 2>/dev/null | grep -q hitcount:; do
		if ! kill -0 "$program_pid" 2>/dev/null; then
			cat "$work/program.out" >&2
			break
		fi
		sleep 0.05
	done
}

program_end() {
	exec 9>&-
	wait "$program_pid"
	"$tf" sessions --end "$TRACEFUSE_SESSION" >/dev/null
}
