# SPDX-License-Identifier: MIT
# fish completion of tracefuse: commands and options as --help has them

function __tracefuse_commands
    tracefuse --help 2>/dev/null | string match -r -g '^  ([a-z]+ +.*)$' |
        string replace -r '^(\S+) +' '$1\t'
end

function __tracefuse_options
    set -l words (commandline -opc)
    tracefuse $words[2] --help 2>/dev/null | string match -r -a -- '--[a-z][a-z-]*' | sort -u
end

function __tracefuse_sessions
    tracefuse sessions 2>/dev/null | string match -r -g '^(\S[^:]*):'
end

# Names below the tracing directory of the session that the line names.
function __tracefuse_files
    set -l words (commandline -opc)
    set -l session
    for i in (seq 3 (math (count $words) - 1))
        contains -- $words[$i] -s --session; and set session -s $words[(math $i + 1)]
    end
    set -l dir (string match -r '^.*/' -- (commandline -ct))
    set -l at $dir
    test -n "$dir"; or set at .
    printf '%s\n' "$dir"(tracefuse ls $session $at 2>/dev/null)
end

complete -c tracefuse -n __fish_use_subcommand -f -a '(__tracefuse_commands)'
complete -c tracefuse -n 'not __fish_use_subcommand; and string match -q -- "-*" (commandline -ct)' \
    -f -a '(__tracefuse_options)'
complete -c tracefuse -n '__fish_seen_subcommand_from mount umount dir shell doctor reset sessions web' \
    -f -a '(__tracefuse_sessions)'
complete -c tracefuse -n '__fish_seen_subcommand_from ls cat write append' -f \
    -a '(__tracefuse_files)'
complete -c tracefuse -n '__fish_seen_subcommand_from attach' -f -a '(__fish_complete_pids)'
complete -c tracefuse -n 'not __fish_use_subcommand' -s s -l session -x -a '(__tracefuse_sessions)'
