cat set_event_pid > set_ftrace_pid
echo 1 > options/function-fork
echo 'vfs_*' 'ksys_*' schedule '*sysvec*' > set_ftrace_filter
echo 'nonesuch' >> set_ftrace_filter
echo '!vfs_fsync*' >> set_ftrace_filter
echo '*alloc*' > set_graph_notrace
echo '!*' > set_graph_notrace
echo function_graph > current_tracer
echo 1 > events/sched/sched_switch/enable
echo 1 > events/syscalls/sys_enter_write/enable
echo 'caller_offs == 0x981f6' > events/preemptirq/irq_enable/filter
echo 1 > events/preemptirq/irq_enable/enable
