echo 'vfs_*' 'ksys*' 'do_sys*' schedule '__x64_sys_*' 'hrtimer_interrupt' 'path_*' '*fault*' > set_ftrace_filter
echo function_graph > current_tracer
echo 1 > events/sched/sched_switch/enable
echo 1 > events/sched/sched_process_exec/enable
echo 1 > events/syscalls/sys_enter_openat/enable
echo 'stacktrace:5' > events/sched/sched_process_exec/trigger
