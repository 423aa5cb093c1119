echo 'hist:keys=pid if comm == "cyclictest" && prio < 100' > events/sched/sched_waking/trigger
