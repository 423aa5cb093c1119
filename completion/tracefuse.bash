# SPDX-License-Identifier: MIT
# bash completion of tracefuse
# shellcheck shell=bash

# Of the lines of its input those that begin with $1. A recording or a program has chosen some of
# these names: `compgen -W` would run a $(...) in one, and so would the shell once it is in the
# command line. Names with other characters than these are not offered.
_tracefuse_names() {
	local name
	while IFS= read -r name; do
		[[ $name == "$1"* && $name != *[![:alnum:]_./:+@,%=-]* ]] && COMPREPLY+=("$name")
	done
}

_tracefuse_sessions() {
	_tracefuse_names "$1" < <(tracefuse sessions 2>/dev/null | sed -n 's/^\([^ ][^:]*\):.*/\1/p')
}

# Names below the tracing directory that begin with $1, of the session that the line names.
_tracefuse_files() {
	local dir='' i session=()
	[[ $1 == */* ]] && dir=${1%/*}/
	for ((i = 2; i < COMP_CWORD - 1; i++)); do
		[[ ${COMP_WORDS[i]} == @(-s|--session) ]] && session=(-s "${COMP_WORDS[i+1]}")
	done
	_tracefuse_names "$1" < <(tracefuse ls "${session[@]}" "${dir:-.}" 2>/dev/null |
		while IFS= read -r name; do printf '%s\n' "$dir$name"; done)
}

# What compgen finds with these options, as names of files: bash puts a \ before what is special.
_tracefuse_paths() {
	local found
	compopt -o filenames
	mapfile -t found < <(compgen "$@")
	COMPREPLY+=("${found[@]}")
}

_tracefuse() {
	local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}
	local first=1 command options=

	COMPREPLY=()
	((COMP_CWORD > 1)) && [[ ${COMP_WORDS[1]} == --no-pager ]] && first=2
	command=${COMP_WORDS[first]}
	if ((COMP_CWORD == first)); then
		mapfile -t COMPREPLY < <(compgen -W "run attach live replay hist latency report top syscalls heap locks mount umount dir ls cat write append paste save \
			export web list explain shell sessions doctor reset --help --version --no-pager" -- "$word")
		return
	fi
	case $before in
	-s | --session | --end)
		_tracefuse_sessions "$word"
		return ;;
	-p | --pid)
		mapfile -t COMPREPLY < <(compgen -W "$(cd /proc && echo [1-9]*)" -- "$word")
		return ;;
	--providers)
		mapfile -t COMPREPLY < <(compgen -W "heap lock thread signal syscalls" -- "$word")
		return ;;
	--boot)
		mapfile -t COMPREPLY < <(compgen -W "ftrace= ftrace_filter= ftrace_notrace= ftrace_graph_filter= \
			ftrace_graph_notrace= ftrace_graph_max_depth= trace_event= trace_trigger= trace_options= \
			trace_buf_size= trace_clock= tracing_thresh=" -- "$word")
		return ;;
	--as)
		mapfile -t COMPREPLY < <(compgen -W "csv json folded" -- "$word")
		return ;;
	--mount | --save)
		_tracefuse_paths -d -- "$word"
		return ;;
	--setup | --at | --on-crash | --buffer | --functions | --event | -e | --output | -o)
		_tracefuse_paths -f -- "$word"
		return ;;
	esac
	case $command in
	run) options="--function --graph --boot --session --mount --force --setup --cat --draw --as --buffer-size --save --event --output --compress --providers \
		--kernel --kernel-names --merge-delay --all --keep-going --on-crash --drain --hist-legacy \
		--quiet" ;;
	live) options="--boot --session --mount --force --setup --cat --draw --as --buffer-size --save --event --output --compress \
		--merge-delay --keep-going --drain --hist-legacy --quiet" ;;
	attach) options="--session --all" ;;
	mount) options="--boot --session --force" ;;
	replay) options="--boot --session --mount --force --setup --at --cat --draw --as --buffer-size --save --event --buffer --functions \
		--memory --partial --quiet --hist-legacy --output --compress" ;;
	sessions) options="--clean --end" ;;
	list) options="--verbose --summary --session" ;;
	doctor) options="--verbose --session" ;;
	cat) options="--session --json --draw" ;;
	hist) options="--session --for --every --if --size --values --sort --show --plain --quiet" ;;
	top) options="--session --pid --for --every --sort --lines --show --plain --quiet" ;;
	report) options="--session --pid --for --sort --lines --graph --depth --min --buffer-size --show --plain \
		--quiet" ;;
	syscalls | locks)
		options="--session --for --sort --lines --show --plain --quiet" ;;
	heap) options="--session --for --sort --lines --stacks --show --plain --quiet" ;;
	latency) options="--session --pid --for --if --by --over --output --before --keep --event \
		--buffer-size --show --plain --quiet" ;;
	save) options="--session --compress" ;;
	export) options="--output --session --hist --setup --counter --buffer --partial" ;;
	web) options="--session --port --listen --write" ;;
	ls | write | append | paste | explain) options="--session" ;;
	esac
	if [[ $word == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$options --help" -- "$word")
		return
	fi
	case $command in
	run | report | syscalls | heap | locks)
		# Behind the options: a command and its own arguments.
		_tracefuse_paths -c -f -- "$word" ;;
	export)
		_tracefuse_paths -f -W "chrome perfetto folded csv json" -- "$word"
		_tracefuse_sessions "$word" ;;
	list | explain)
		_tracefuse_paths -c -f -- "$word"
		_tracefuse_sessions "$word" ;;
	ls | cat | write | append)
		compopt -o nospace
		_tracefuse_files "$word" ;;
	mount | umount | dir | shell | doctor | reset | web)
		_tracefuse_sessions "$word" ;;
	attach)
		mapfile -t COMPREPLY < <(compgen -W "$(cd /proc && echo [1-9]*)" -- "$word") ;;
	*)
		_tracefuse_paths -f -- "$word" ;;
	esac
}
complete -F _tracefuse tracefuse
