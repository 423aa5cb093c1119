#compdef tracefuse
# SPDX-License-Identifier: MIT
# zsh completion of tracefuse: commands and options as --help has them

local -a found
if (( CURRENT == 2 )); then
	found=(${(f)"$(tracefuse --help 2>/dev/null | sed -n 's/^  \([a-z]*\)  *\(.*\)/\1:\2/p')"})
	_describe command found
	return
fi
case $words[CURRENT-1] in
(-s|--session|--end)
	found=(${(f)"$(tracefuse sessions 2>/dev/null | sed -n 's/^\([^ ][^:]*\):.*/\1/p')"})
	compadd -a found
	return ;;
esac
if [[ $PREFIX == -* ]]; then
	found=(${(fu)"$(tracefuse $words[2] --help 2>/dev/null | grep -o -e '--[a-z][a-z-]*')"})
	compadd -a found
	return
fi
case $words[2] in
(mount|umount|dir|shell|doctor|reset|sessions|web)
	found=(${(f)"$(tracefuse sessions 2>/dev/null | sed -n 's/^\([^ ][^:]*\):.*/\1/p')"})
	compadd -a found ;;
(ls|cat|write|append)
	# names below the tracing directory of the session that the line names
	local dir= session=() i
	[[ $PREFIX == */* ]] && dir=${PREFIX%/*}/
	for ((i = 3; i < CURRENT - 1; i++)); do
		[[ $words[i] == (-s|--session) ]] && session=(-s $words[i+1])
	done
	found=(${(f)"$(tracefuse ls $session ${dir:-.} 2>/dev/null)"})
	compadd -S '' -p "$dir" -a found ;;
(run|hist|latency|report|syscalls|heap|locks|list)
	_command_names -e
	_files ;;
(attach)
	_pids ;;
(*)
	_files ;;
esac
