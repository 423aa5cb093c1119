mkdir instances/syn
echo 'hist:keys=pid:ts0=common_timestamp:size=256' >> events/sched/sched_waking/trigger
echo 'q0 char[] a' >> synthetic_events
echo 'hist:keys=next_pid:lat0=common_timestamp-$ts0,z0=0:onmatch(sched.sched_waking).q0($lat0):size=256' >> events/sched/sched_switch/trigger
echo 'hist:keys=a' >> events/synthetic/q0/trigger
echo 'hist:keys=common_cpu,a if a == "(fault)"' >> events/synthetic/q0/trigger
echo 'hist:keys=pid:ts1=common_timestamp:size=512' >> events/sched/sched_waking/trigger
echo 'q1 char[8] a' >> synthetic_events
echo 'hist:keys=next_pid:lat1=common_timestamp-$ts1,z1=0:onmatch(sched.sched_waking).q1($lat1):size=512' >> events/sched/sched_switch/trigger
echo 'hist:keys=a' >> events/synthetic/q1/trigger
echo 'hist:keys=common_cpu,a if a == "(fault)"' >> events/synthetic/q1/trigger
echo 'hist:keys=pid:ts2=common_timestamp:size=1024' >> events/sched/sched_waking/trigger
echo 'q2 char[4] a' >> synthetic_events
echo 'hist:keys=next_pid:lat2=common_timestamp-$ts2,z2=0:onmatch(sched.sched_waking).q2(next_prio):size=1024' >> events/sched/sched_switch/trigger
echo 'hist:keys=a' >> events/synthetic/q2/trigger
echo 'hist:keys=common_cpu,a if a == "(fault)"' >> events/synthetic/q2/trigger
echo 'hist:keys=pid:ts3=common_timestamp:size=2048' >> events/sched/sched_waking/trigger
echo 'q3 char[1] a' >> synthetic_events
echo 'hist:keys=next_pid:lat3=common_timestamp-$ts3,z3=0:onmatch(sched.sched_waking).q3(common_flags):size=2048' >> events/sched/sched_switch/trigger
echo 'hist:keys=a' >> events/synthetic/q3/trigger
echo 'hist:keys=common_cpu,a if a == "(fault)"' >> events/synthetic/q3/trigger
echo 'hist:keys=pid:ts4=common_timestamp:size=4096' >> events/sched/sched_waking/trigger
echo 'q4 char[2] a' >> synthetic_events
echo 'hist:keys=next_pid:lat4=common_timestamp-$ts4,z4=0:onmatch(sched.sched_waking).q4(common_type):size=4096' >> events/sched/sched_switch/trigger
echo 'hist:keys=a' >> events/synthetic/q4/trigger
echo 'hist:keys=common_cpu,a if a == "(fault)"' >> events/synthetic/q4/trigger
echo 'hist:keys=pid:ts5=common_timestamp:size=8192' >> events/sched/sched_waking/trigger
echo 'q5 char[8] a' >> synthetic_events
echo 'hist:keys=next_pid:lat5=common_timestamp-$ts5,z5=0:onmatch(sched.sched_waking).q5(prev_state):size=8192' >> events/sched/sched_switch/trigger
echo 'hist:keys=a' >> events/synthetic/q5/trigger
echo 'hist:keys=common_cpu,a if a == "(fault)"' >> events/synthetic/q5/trigger
echo 'hist:keys=pid:ts6=common_timestamp:size=16384' >> events/sched/sched_waking/trigger
echo 'q6 char[8] a' >> synthetic_events
echo 'hist:keys=next_pid:lat6=common_timestamp-$ts6,z6=0:onmatch(sched.sched_waking).q6($z6):size=16384' >> events/sched/sched_switch/trigger
echo 'hist:keys=a' >> events/synthetic/q6/trigger
echo 'hist:keys=common_cpu,a if a == "(fault)"' >> events/synthetic/q6/trigger
echo 'hist:keys=pid:ts7=common_timestamp:size=32768' >> events/sched/sched_waking/trigger
echo 'q7 char[] a; int b' >> synthetic_events
echo 'hist:keys=next_pid:lat7=common_timestamp-$ts7,z7=0:onmatch(sched.sched_waking).q7($lat7,next_prio):size=32768' >> events/sched/sched_switch/trigger
echo 'hist:keys=a' >> events/synthetic/q7/trigger
echo 'hist:keys=common_cpu,a if a == "(fault)"' >> events/synthetic/q7/trigger
echo 'hist:keys=pid:ts8=common_timestamp:size=65536' >> events/sched/sched_waking/trigger
echo 'q8 int b; char[] a; char[] c' >> synthetic_events
echo 'hist:keys=next_pid:lat8=common_timestamp-$ts8,z8=0:onmatch(sched.sched_waking).q8(next_prio,next_comm,$lat8):size=65536' >> events/sched/sched_switch/trigger
echo 'hist:keys=a' >> events/synthetic/q8/trigger
echo 'hist:keys=common_cpu,a if a == "(fault)"' >> events/synthetic/q8/trigger
echo 'hist:keys=pid:ts9=common_timestamp:size=131072' >> events/sched/sched_waking/trigger
echo 'q9 char[4] a; char[16] c; int d' >> synthetic_events
echo 'hist:keys=next_pid:lat9=common_timestamp-$ts9,z9=0:onmatch(sched.sched_waking).q9(next_pid,next_comm,next_prio):size=131072' >> events/sched/sched_switch/trigger
echo 'hist:keys=a' >> events/synthetic/q9/trigger
echo 'hist:keys=common_cpu,a if a == "(fault)"' >> events/synthetic/q9/trigger
echo 1 > instances/syn/events/synthetic/enable
echo 1 > events/sched/sched_waking/enable
echo 1 > events/sched/sched_switch/enable
