echo 'hist:keys=prev_comm,prev_state:vals=hitcount,prev_prio:sort=prev_comm,hitcount.descending:size=256' > events/sched/sched_switch/trigger
