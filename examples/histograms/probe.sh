echo 'e:to sched/sched_switch pid=$next_pid:s32 prio=$next_prio:s32 from=$prev_comm:string if prev_prio > 100' > dynamic_events
echo 'hist:keys=prio,pid:sort=prio' > events/eprobes/to/trigger
echo 1 > events/eprobes/to/enable
