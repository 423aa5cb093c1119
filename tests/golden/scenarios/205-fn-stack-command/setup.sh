cat set_event_pid > set_ftrace_pid
echo 1 > options/function-fork
echo 'vfs_open:stacktrace' > set_ftrace_filter
echo 'vfs_unlink:stacktrace:1' >> set_ftrace_filter
echo 'vfs_*' 'do_sys_open*' >> set_ftrace_filter
echo '!vfs_fsync' >> set_ftrace_filter

echo 'vfs_read' > set_ftrace_notrace
echo 'vfs_readv:mod:9p' >> set_ftrace_notrace
echo function > current_tracer
echo 1 > events/syscalls/sys_exit_openat/enable
