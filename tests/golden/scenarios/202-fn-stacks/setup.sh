echo 'vfs_open' 'ksys_read' 'schedule' > set_ftrace_filter
echo function > current_tracer
echo 1 > options/func_stack_trace
echo 1 > events/sched/sched_switch/enable
