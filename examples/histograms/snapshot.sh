echo 1 > events/sched/enable
echo 'hist:keys=pid:ts0=common_timestamp.usecs if comm == "cyclictest"' > events/sched/sched_waking/trigger
echo 'hist:keys=next_pid:lat=common_timestamp.usecs-$ts0:onmax($lat).snapshot() if next_comm == "cyclictest"' > events/sched/sched_switch/trigger
