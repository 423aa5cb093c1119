echo 'wakeup u64 lat; pid_t waker; pid_t woken' > synthetic_events
echo 'hist:keys=pid:waker=common_pid,ts0=common_timestamp.usecs' > events/sched/sched_waking/trigger
echo 'hist:keys=next_pid:by=$waker,lat=common_timestamp.usecs-$ts0:\
	onmatch(sched.sched_waking).trace(wakeup,$lat,$by,next_pid)' > events/sched/sched_switch/trigger
echo 'hist:keys=waker.hex,woken:sort=hitcount.descending' > events/synthetic/wakeup/trigger
