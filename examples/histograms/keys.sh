echo 'hist:keys=next_comm' > events/sched/sched_switch/trigger
