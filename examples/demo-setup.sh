# Which task ran after which, and who woke whom: two histograms over a recording of cyclictest.
# Every line is one that the kernel's own tracing directory takes.
echo 'hist:keys=next_comm,next_prio:vals=hitcount:sort=hitcount.descending' > events/sched/sched_switch/trigger
echo 'hist:keys=comm,common_cpu:vals=hitcount:sort=hitcount.descending if comm == "cyclictest"' > events/sched/sched_waking/trigger
echo 1 > events/sched/sched_switch/enable
echo 1 > events/sched/sched_waking/enable
