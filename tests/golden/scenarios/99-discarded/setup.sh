echo 's0 u64 lat; char[16] fnewcomm; pid_t fpid; char[16] foldcomm; char[16] onext_comm; int cpid' >> synthetic_events
echo 's1 u64 lat; pid_t fnext_pid' >> synthetic_events
echo 's2 long xp2_id; long oid' >> synthetic_events
echo 's3 u64 lat; int xp3_nod; long fid; int onode' >> synthetic_events
echo 's4 u64 lat; long xp4_id; unsigned int ccpu' >> synthetic_events
echo 's5 u64 lat; u64 mm; char[16] xp5_com; pid_t xp5_pid; char[16] fcomm; int fprio; pid_t fpid; unsigned long oclone_flags; unsigned int ccpu' >> synthetic_events
echo 's6 u64 lat; u64 mm; char[16] fnext_comm; int fprev_prio; pid_t fnext_pid; int oprio; unsigned int ccpu; u64 ts' >> synthetic_events
echo 's7 u64 lat; int yp7_err' >> synthetic_events
echo 'hist:keys=prev_pid:t0=common_timestamp.usecs:p0_pre=prev_prio if next_pid >= 120' >> events/sched/sched_switch/trigger
echo 'hist:keys=pid:l0=common_timestamp.usecs-$t0:sort=hitcount.descending:onmatch(sched.sched_switch).s0($l0,newcomm,pid,oldcomm,next_comm,common_pid)' >> events/task/task_rename/trigger
echo 'hist:keys=fpid:vals=fpid.hex' >> events/synthetic/s0/trigger
echo 'hist:keys=cpid.hex' >> events/synthetic/s0/trigger
echo 'hist:keys=common_pid:t1=common_timestamp,p1_cal=call_site' >> events/kmem/kfree/trigger
echo 'hist:keys=common_pid:l1=common_timestamp-$t1:onmatch(kmem.kfree).trace(s1,$l1,next_pid)' >> events/sched/sched_switch/trigger
echo 'hist:keys=lat.hex' >> events/synthetic/s1/trigger
echo 'hist:keys=fnext_pid.hex' >> events/synthetic/s1/trigger
echo 'hist:keys=common_pid:t2=common_timestamp.usecs:p2_id=id' >> events/raw_syscalls/sys_enter/trigger
echo 'hist:keys=common_pid:l2=common_timestamp.usecs-$t2:wp2_id=$p2_id:sort=hitcount.descending:onmatch(raw_syscalls.sys_enter).s2($wp2_id,id):onmax($l2).save(next_prio) if next_prio >= 120' >> events/sched/sched_switch/trigger
echo 'hist:keys=xp2_id.hex,oid.log2' >> events/synthetic/s2/trigger
echo 'hist:keys=oid.buckets=10:vals=xp2_id.graph' >> events/synthetic/s2/trigger
echo 'hist:keys=common_pid:t3=common_timestamp:p3_nod=node:p3_cal=call_site:q3=node*100' >> events/kmem/kmalloc/trigger
echo 'hist:keys=common_pid:l3=common_timestamp-$t3:r3=$q3*2:wp3_nod=$p3_nod:onmatch(kmem.kmalloc).s3($l3,$wp3_nod,id,node):onchange($r3).save(id) if id != 1' >> events/raw_syscalls/sys_enter/trigger
echo 'hist:keys=onode,fid' >> events/synthetic/s3/trigger
echo 'hist:keys=xp3_nod.hex' >> events/synthetic/s3/trigger
echo 'hist:keys=common_pid:t4=common_timestamp.usecs:p4_id=id:q4=id+1000' >> events/raw_syscalls/sys_enter/trigger
echo 'hist:keys=common_pid:l4=common_timestamp.usecs-$t4,wp4_id=$p4_id:onmatch(raw_syscalls.sys_enter).s4($l4,$wp4_id,common_cpu)' >> events/kmem/kmalloc/trigger
echo 'hist:keys=xp4_id.hex:vals=ccpu.hex' >> events/synthetic/s4/trigger
echo 'hist:keys=ccpu.hex' >> events/synthetic/s4/trigger
echo 'hist:keys=pid:t5=common_timestamp.usecs,p5_com=comm,p5_pid=pid if comm ~ "*"' >> events/task/task_newtask/trigger
echo 'hist:keys=pid:l5=common_timestamp.usecs-$t5,m5=$l5+2,wp5_com=$p5_com,wp5_pid=$p5_pid:sort=hitcount.descending:onchange($l5).trace(s5,$l5,$m5,$wp5_com,$wp5_pid,comm,prio,pid,clone_flags,common_cpu)' >> events/sched/sched_process_exit/trigger
echo 'hist:keys=fpid.buckets=10,lat.log2:vals=fpid.graph' >> events/synthetic/s5/trigger
echo 'hist:keys=oclone_flags.buckets=10' >> events/synthetic/s5/trigger
echo 'hist:keys=pid:t6=common_timestamp.usecs if comm ~ "*"' >> events/sched/sched_waking/trigger
echo 'hist:keys=next_pid:l6=common_timestamp.usecs-$t6:m6=$l6+3:onchange($l6).trace(s6,$l6,$m6,next_comm,prev_prio,next_pid,prio,common_cpu,common_timestamp)' >> events/sched/sched_switch/trigger
echo 'hist:keys=ccpu.buckets=10,lat.hex' >> events/synthetic/s6/trigger
echo 'hist:keys=ccpu.hex:vals=mm.hex' >> events/synthetic/s6/trigger
echo 'hist:keys=pid:t7=common_timestamp.usecs:p7_err=errno' >> events/signal/signal_generate/trigger
echo 'hist:keys=pid:l7=common_timestamp.usecs-$t7:sort=hitcount.descending:onmatch(signal.signal_generate).s7($l7,$p7_err)' >> events/sched/sched_process_free/trigger
echo 'hist:keys=lat.hex:vals=lat' >> events/synthetic/s7/trigger
echo 'hist:keys=yp7_err,lat.buckets=10' >> events/synthetic/s7/trigger
mkdir instances/syn
echo 1 > instances/syn/events/synthetic/enable
echo 1 > events/kmem/kfree/enable
echo 1 > events/kmem/kmalloc/enable
echo 1 > events/raw_syscalls/sys_enter/enable
echo 1 > events/sched/sched_process_exit/enable
echo 1 > events/sched/sched_process_free/enable
echo 1 > events/sched/sched_switch/enable
echo 1 > events/sched/sched_waking/enable
echo 1 > events/signal/signal_generate/enable
echo 1 > events/task/task_newtask/enable
echo 1 > events/task/task_rename/enable
