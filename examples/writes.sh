echo 'hist:keys=fd,count' > events/syscalls/sys_enter_write/trigger
