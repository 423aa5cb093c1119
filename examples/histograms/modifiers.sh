echo 'hist:keys=next_pid.log2' > events/sched/sched_switch/trigger
echo 'hist:keys=pid.buckets=16:vals=hitcount.percent,hitcount.graph:sort=pid' > events/sched/sched_waking/trigger
