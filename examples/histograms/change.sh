echo 'hist:keys=next_pid:prio=next_prio:onchange($prio).save(prev_comm,prev_prio) if next_prio > 0' > events/sched/sched_switch/trigger
