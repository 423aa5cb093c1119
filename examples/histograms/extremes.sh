echo 'wakeup_latency u64 lat; pid_t pid; int prio' > synthetic_events
echo 'hist:keys=pid:ts0=common_timestamp.usecs' > events/sched/sched_waking/trigger
echo 'hist:keys=next_pid:lat=common_timestamp.usecs-$ts0:onmatch(sched.sched_waking).wakeup_latency($lat,next_pid,next_prio)' > events/sched/sched_switch/trigger
echo 'hist:keys=prio:vals=lat.min,lat.max:sort=lat.max.descending' > events/synthetic/wakeup_latency/trigger
echo 'hist:keys=prio:vals=lat.avg,lat:sort=prio' >> events/synthetic/wakeup_latency/trigger
echo 1 > events/synthetic/wakeup_latency/enable
