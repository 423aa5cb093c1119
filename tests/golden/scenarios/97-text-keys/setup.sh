echo 'wl u64 a; u64 b; int c' > synthetic_events
echo 'hist:keys=common_type.log2:vals=ptr.graph:v0=ptr-ptr:v1=-(ptr)' >> events/kmem/kfree/trigger
echo 'hist:keys=ptr:v2=16:v3=3:sort=hitcount.descending:size=256:onmax($v2).wl($v0,$v0,pid) if ptr == -100' >> events/kmem/kfree/trigger
echo 'hist:keys=ptr:vals=ptr.graph,ptr.usecs:sort=ptr.descending:size=512' >> events/kmem/kfree/trigger
echo 'hist:keys=ptr.log2:vals=ptr.graph,ptr,hitcount.graph:v4=common_cpu:v5=1000 if ptr <= 500000' >> events/kmem/kfree/trigger
echo 'hist:keys=ptr.buckets=4:v6=-(ptr):v7=ptr:v8=$v7:sort=hitcount.descending,ptr.descending if common_pid > 2' >> events/kmem/kfree/trigger
echo 'hist:keys=ptr.usecs:v9=-ptr+ptr:v10=16:v11=common_cpu:sort=ptr.descending,hitcount.descending' >> events/kmem/kfree/trigger
echo 'hist:keys=ptr:name=na:onchange($v8).save(ptr,ptr,ptr):onchange($v9).save(ptr,$v9)' >> events/kmem/kfree/trigger
echo 'hist:keys=ptr.hex:v12=ptr:v13=ptr:onmatch(irq.irq_handler_entry).wl($v12,$v8,prev_pid)' >> events/kmem/kfree/trigger
echo 'hist:keys=common_cpu:sort=common_cpu.descending' >> events/timer/hrtimer_expire_entry/trigger
echo 'hist:keys=function.log2,now.hex:v14=10:v15=0x20 if now & 2' >> events/timer/hrtimer_expire_entry/trigger
echo 'hist:keys=now:v16=common_timestamp:onmax($v16).wl($v15,$v16,next_pid):onmatch(syscalls.sys_enter_read).wl($v11,$v16,prev_pid) if function <= 4096' >> events/timer/hrtimer_expire_entry/trigger
echo 'hist:keys=function:sort=hitcount.descending:onmax($v12).save(now,function,function):onmatch(kmem.kfree).trace(wl,$v13,$v15,common_pid)' >> events/timer/hrtimer_expire_entry/trigger
echo 'hist:keys=now.buckets=100:vals=function.usecs:v17=16+common_flags:v18=2:sort=now:size=256:onchange($v18).save(function)' >> events/timer/hrtimer_expire_entry/trigger
echo 'hist:keys=function,now:vals=now.graph,function.hex:v19=7:v20=now:v21=common_timestamp.usecs:onmax($v21).save(now)' >> events/timer/hrtimer_expire_entry/trigger
echo 'hist:keys=common_pid,now.buckets=4:sort=common_pid.descending,common_pid:onmatch(irq.irq_handler_entry).wl($v18,$v21,now) if now >= 120 && now < 4096' >> events/timer/hrtimer_expire_entry/trigger
echo 'hist:keys=now,function:sort=now.descending,function.descending' >> events/timer/hrtimer_expire_entry/trigger
echo 'hist:keys=function,common_pid.execname,now.buckets=4:vals=function.graph,common_flags.percent,now.usecs:sort=now.descending:onmax($v9).trace(wl,$v17,$v21,common_pid) if now != -100 && now != 120 && now < -100 || now < -100' >> events/timer/hrtimer_expire_entry/trigger
echo 'hist:keys=common_flags,name:v22=name:v23=1000/$v16:nohitcount if (name ~ "*a*")' >> events/irq/irq_handler_entry/trigger
echo 'hist:keys=name:v24=name:v25=name:v26=0x20 if name == "wl"' >> events/irq/irq_handler_entry/trigger
echo 'hist:keys=name:vals=name.usecs,name:sort=hitcount:onmax($v11).save(name) if (name ~ "[a-p]*")' >> events/irq/irq_handler_entry/trigger
echo 'hist:keys=name,common_type.buckets=100,common_pid.execname:v27=common_timestamp:sort=hitcount.descending:onmax($v27).save(name,name,name)' >> events/irq/irq_handler_entry/trigger
echo 'hist:keys=name' >> events/irq/irq_handler_entry/trigger
echo 'hist:keys=common_pid,name:v28=0x20:sort=name,name.descending:size=128 if !(name ~ "*l") && name ~ "bash"' >> events/irq/irq_handler_entry/trigger
echo 'hist:keys=ret' >> events/syscalls/sys_exit_read/trigger
echo 'hist:keys=ret.buckets=100,common_type:sort=common_type,hitcount.descending:onmatch(irq.irq_handler_entry).trace(wl,$v27,$v25,next_pid)' >> events/syscalls/sys_exit_read/trigger
echo 'hist:keys=ret.sym:v29=$v23:v30=ret:v31=common_timestamp.usecs:onchange($v30).save(common_type,ret,ret) if ret <= 64' >> events/syscalls/sys_exit_read/trigger
echo 'hist:keys=ret.usecs:v32=ret:v33=$v26/7' >> events/syscalls/sys_exit_read/trigger
echo 'hist:keys=ret.log2:v34=common_timestamp.usecs:sort=hitcount if ret >= 64 || ret & 3 && ret < -1' >> events/syscalls/sys_exit_read/trigger
echo 'hist:keys=ret.buckets=7:v35=ret:v36=$v33:v37=ret/ret-ret/ret:sort=hitcount.descending' >> events/syscalls/sys_exit_read/trigger
echo 'hist:keys=fd.buckets=7,buf,count.sym:v38=count:sort=buf.descending,fd' >> events/syscalls/sys_enter_read/trigger
echo 'hist:keys=count:sort=count.descending,count:onmatch(irq.irq_handler_entry).trace(wl,$v38,$v37,prev_pid) if common_pid == 1000' >> events/syscalls/sys_enter_read/trigger
echo 'hist:keys=fd.buckets=100:vals=fd.graph,buf:v39=buf:v40=-($v39)' >> events/syscalls/sys_enter_read/trigger
echo 'hist:keys=count,fd.usecs:sort=fd if fd <= 0' >> events/syscalls/sys_enter_read/trigger
echo 'hist:keys=buf:v41=0x20:v42=count+2-common_pid:v43=16*fd+count-buf:sort=buf.descending,hitcount.descending' >> events/syscalls/sys_enter_read/trigger
echo 'hist:keys=__syscall_nr.sym-offset,common_flags,fd:vals=count.hex,fd.percent:v44=$v42+buf:v45=buf:sort=count.descending' >> events/syscalls/sys_enter_read/trigger
echo 'hist:keys=common_pid.execname:v46=__syscall_nr-fd:sort=hitcount,hitcount.descending:onmax($v46).wl($v45,$v46,pid)' >> events/syscalls/sys_enter_read/trigger
echo 'hist:keys=count,fd.buckets=100:vals=buf,buf.percent,fd:v47=count:size=128:onmax($v47).trace(wl,$v45,$v42,next_pid):onchange($v47).wl($v42,$v47,common_pid) if count >= 4096' >> events/syscalls/sys_enter_read/trigger
echo 'hist:keys=buf.buckets=100:v48=count+buf+2-buf:sort=buf,hitcount.descending' >> events/syscalls/sys_enter_read/trigger
echo 'hist:keys=common_pid.execname:vals=a if b < 100' >> events/synthetic/wl/trigger
echo 'hist:keys=a:vals=a' >> events/synthetic/wl/trigger
echo 'hist:keys=a:vals=b' >> events/synthetic/wl/trigger
echo 'hist:keys=a.log2:vals=a' >> events/synthetic/wl/trigger
echo 'hist:keys=b,c:vals=a if a > 10' >> events/synthetic/wl/trigger
mkdir instances/syn
echo 1 > instances/syn/events/synthetic/enable
echo 1 > events/kmem/kfree/enable
echo 1 > events/timer/hrtimer_expire_entry/enable
echo 1 > events/irq/irq_handler_entry/enable
echo 1 > events/syscalls/sys_exit_read/enable
echo 1 > events/syscalls/sys_enter_read/enable
