# How long every wakeup waited for a processor: a latency histogram over a recording of cyclictest.
# Every line is one that the kernel's own tracing directory takes.
echo 'wakeup_latency u64 lat; pid_t pid; char comm[16]' > synthetic_events
echo 'hist:keys=pid:ts0=common_timestamp.usecs' > events/sched/sched_waking/trigger
echo 'hist:keys=next_pid:lat=common_timestamp.usecs-$ts0:onmatch(sched.sched_waking).wakeup_latency($lat,next_pid,next_comm)' > events/sched/sched_switch/trigger
echo 'hist:keys=comm,lat.log2:sort=comm,lat if comm == "cyclictest"' > events/synthetic/wakeup_latency/trigger
