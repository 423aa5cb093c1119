/* SPDX-License-Identifier: MIT */
/*
 * syscalls.h - the system calls of x86-64: number, the kernel's name of their
 * events, and the arguments as the kernel declares them (6.12)
 *
 * The format of sys_enter_NAME is made of this, so every blank counts. The file is
 * included several times with another SYSCALL(), by agent/providers/syscalls/syscalls.h,
 * agent/providers/syscalls/table.c and model/syscalls.c. It is in the order of the numbers.
 */
SYSCALL(0, read, "unsigned int fd, char * buf, size_t count")
SYSCALL(1, write, "unsigned int fd, const char * buf, size_t count")
SYSCALL(2, open, "const char * filename, int flags, umode_t mode")
SYSCALL(3, close, "unsigned int fd")
SYSCALL(4, newstat, "const char * filename, struct stat * statbuf")
SYSCALL(5, newfstat, "unsigned int fd, struct stat * statbuf")
SYSCALL(6, newlstat, "const char * filename, struct stat * statbuf")
SYSCALL(7, poll, "struct pollfd * ufds, unsigned int nfds, int timeout_msecs")
SYSCALL(8, lseek, "unsigned int fd, off_t offset, unsigned int whence")
SYSCALL(9, mmap, "unsigned long addr, unsigned long len, unsigned long prot, unsigned long flags, "
	"unsigned long fd, unsigned long off")
SYSCALL(10, mprotect, "unsigned long start, size_t len, unsigned long prot")
SYSCALL(11, munmap, "unsigned long addr, size_t len")
SYSCALL(12, brk, "unsigned long brk")
SYSCALL(13, rt_sigaction,
	"int sig, const struct sigaction * act, struct sigaction * oact, size_t sigsetsize")
SYSCALL(14, rt_sigprocmask, "int how, sigset_t * nset, sigset_t * oset, size_t sigsetsize")
SYSCALL(15, rt_sigreturn, "")
SYSCALL(16, ioctl, "unsigned int fd, unsigned int cmd, unsigned long arg")
SYSCALL(17, pread64, "unsigned int fd, char * buf, size_t count, loff_t pos")
SYSCALL(18, pwrite64, "unsigned int fd, const char * buf, size_t count, loff_t pos")
SYSCALL(19, readv, "unsigned long fd, const struct iovec * vec, unsigned long vlen")
SYSCALL(20, writev, "unsigned long fd, const struct iovec * vec, unsigned long vlen")
SYSCALL(21, access, "const char * filename, int mode")
SYSCALL(22, pipe, "int * fildes")
SYSCALL(23, select,
	"int n, fd_set * inp, fd_set * outp, fd_set * exp, struct __kernel_old_timeval * tvp")
SYSCALL(24, sched_yield, "")
SYSCALL(25, mremap,
	"unsigned long addr, unsigned long old_len, unsigned long new_len, unsigned long flags, "
	"unsigned long new_addr")
SYSCALL(26, msync, "unsigned long start, size_t len, int flags")
SYSCALL(27, mincore, "unsigned long start, size_t len, unsigned char * vec")
SYSCALL(28, madvise, "unsigned long start, size_t len_in, int behavior")
SYSCALL(29, shmget, "key_t key, size_t size, int shmflg")
SYSCALL(30, shmat, "int shmid, char * shmaddr, int shmflg")
SYSCALL(31, shmctl, "int shmid, int cmd, struct shmid_ds * buf")
SYSCALL(32, dup, "unsigned int fildes")
SYSCALL(33, dup2, "unsigned int oldfd, unsigned int newfd")
SYSCALL(34, pause, "")
SYSCALL(35, nanosleep, "struct __kernel_timespec * rqtp, struct __kernel_timespec * rmtp")
SYSCALL(36, getitimer, "int which, struct __kernel_old_itimerval * value")
SYSCALL(37, alarm, "unsigned int seconds")
SYSCALL(38, setitimer, "int which, struct __kernel_old_itimerval * value, "
	"struct __kernel_old_itimerval * ovalue")
SYSCALL(39, getpid, "")
SYSCALL(40, sendfile64, "int out_fd, int in_fd, loff_t * offset, size_t count")
SYSCALL(41, socket, "int family, int type, int protocol")
SYSCALL(42, connect, "int fd, struct sockaddr * uservaddr, int addrlen")
SYSCALL(43, accept, "int fd, struct sockaddr * upeer_sockaddr, int * upeer_addrlen")
SYSCALL(44, sendto,
	"int fd, void * buff, size_t len, unsigned int flags, struct sockaddr * addr, int addr_len")
SYSCALL(45, recvfrom,
	"int fd, void * ubuf, size_t size, unsigned int flags, struct sockaddr * addr, "
	"int * addr_len")
SYSCALL(46, sendmsg, "int fd, struct user_msghdr * msg, unsigned int flags")
SYSCALL(47, recvmsg, "int fd, struct user_msghdr * msg, unsigned int flags")
SYSCALL(48, shutdown, "int fd, int how")
SYSCALL(49, bind, "int fd, struct sockaddr * umyaddr, int addrlen")
SYSCALL(50, listen, "int fd, int backlog")
SYSCALL(51, getsockname, "int fd, struct sockaddr * usockaddr, int * usockaddr_len")
SYSCALL(52, getpeername, "int fd, struct sockaddr * usockaddr, int * usockaddr_len")
SYSCALL(53, socketpair, "int family, int type, int protocol, int * usockvec")
SYSCALL(54, setsockopt, "int fd, int level, int optname, char * optval, int optlen")
SYSCALL(55, getsockopt, "int fd, int level, int optname, char * optval, int * optlen")
SYSCALL(56, clone, "unsigned long clone_flags, unsigned long newsp, int * parent_tidptr, "
	"int * child_tidptr, unsigned long tls")
SYSCALL(57, fork, "")
SYSCALL(58, vfork, "")
SYSCALL(59, execve, "const char * filename, const char *const * argv, const char *const * envp")
SYSCALL(60, exit, "int error_code")
SYSCALL(61, wait4, "pid_t upid, int * stat_addr, int options, struct rusage * ru")
SYSCALL(62, kill, "pid_t pid, int sig")
SYSCALL(63, newuname, "struct new_utsname * name")
SYSCALL(64, semget, "key_t key, int nsems, int semflg")
SYSCALL(65, semop, "int semid, struct sembuf * tsops, unsigned nsops")
SYSCALL(66, semctl, "int semid, int semnum, int cmd, unsigned long arg")
SYSCALL(67, shmdt, "char * shmaddr")
SYSCALL(68, msgget, "key_t key, int msgflg")
SYSCALL(69, msgsnd, "int msqid, struct msgbuf * msgp, size_t msgsz, int msgflg")
SYSCALL(70, msgrcv, "int msqid, struct msgbuf * msgp, size_t msgsz, long msgtyp, int msgflg")
SYSCALL(71, msgctl, "int msqid, int cmd, struct msqid_ds * buf")
SYSCALL(72, fcntl, "unsigned int fd, unsigned int cmd, unsigned long arg")
SYSCALL(73, flock, "unsigned int fd, unsigned int cmd")
SYSCALL(74, fsync, "unsigned int fd")
SYSCALL(75, fdatasync, "unsigned int fd")
SYSCALL(76, truncate, "const char * path, long length")
SYSCALL(77, ftruncate, "unsigned int fd, off_t length")
SYSCALL(78, getdents, "unsigned int fd, struct linux_dirent * dirent, unsigned int count")
SYSCALL(79, getcwd, "char * buf, unsigned long size")
SYSCALL(80, chdir, "const char * filename")
SYSCALL(81, fchdir, "unsigned int fd")
SYSCALL(82, rename, "const char * oldname, const char * newname")
SYSCALL(83, mkdir, "const char * pathname, umode_t mode")
SYSCALL(84, rmdir, "const char * pathname")
SYSCALL(85, creat, "const char * pathname, umode_t mode")
SYSCALL(86, link, "const char * oldname, const char * newname")
SYSCALL(87, unlink, "const char * pathname")
SYSCALL(88, symlink, "const char * oldname, const char * newname")
SYSCALL(89, readlink, "const char * path, char * buf, int bufsiz")
SYSCALL(90, chmod, "const char * filename, umode_t mode")
SYSCALL(91, fchmod, "unsigned int fd, umode_t mode")
SYSCALL(92, chown, "const char * filename, uid_t user, gid_t group")
SYSCALL(93, fchown, "unsigned int fd, uid_t user, gid_t group")
SYSCALL(94, lchown, "const char * filename, uid_t user, gid_t group")
SYSCALL(95, umask, "int mask")
SYSCALL(96, gettimeofday, "struct __kernel_old_timeval * tv, struct timezone * tz")
SYSCALL(97, getrlimit, "unsigned int resource, struct rlimit * rlim")
SYSCALL(98, getrusage, "int who, struct rusage * ru")
SYSCALL(99, sysinfo, "struct sysinfo * info")
SYSCALL(100, times, "struct tms * tbuf")
SYSCALL(101, ptrace, "long request, long pid, unsigned long addr, unsigned long data")
SYSCALL(102, getuid, "")
SYSCALL(103, syslog, "int type, char * buf, int len")
SYSCALL(104, getgid, "")
SYSCALL(105, setuid, "uid_t uid")
SYSCALL(106, setgid, "gid_t gid")
SYSCALL(107, geteuid, "")
SYSCALL(108, getegid, "")
SYSCALL(109, setpgid, "pid_t pid, pid_t pgid")
SYSCALL(110, getppid, "")
SYSCALL(111, getpgrp, "")
SYSCALL(112, setsid, "")
SYSCALL(113, setreuid, "uid_t ruid, uid_t euid")
SYSCALL(114, setregid, "gid_t rgid, gid_t egid")
SYSCALL(115, getgroups, "int gidsetsize, gid_t * grouplist")
SYSCALL(116, setgroups, "int gidsetsize, gid_t * grouplist")
SYSCALL(117, setresuid, "uid_t ruid, uid_t euid, uid_t suid")
SYSCALL(118, getresuid, "uid_t * ruidp, uid_t * euidp, uid_t * suidp")
SYSCALL(119, setresgid, "gid_t rgid, gid_t egid, gid_t sgid")
SYSCALL(120, getresgid, "gid_t * rgidp, gid_t * egidp, gid_t * sgidp")
SYSCALL(121, getpgid, "pid_t pid")
SYSCALL(122, setfsuid, "uid_t uid")
SYSCALL(123, setfsgid, "gid_t gid")
SYSCALL(124, getsid, "pid_t pid")
SYSCALL(125, capget, "cap_user_header_t header, cap_user_data_t dataptr")
SYSCALL(126, capset, "cap_user_header_t header, const cap_user_data_t data")
SYSCALL(127, rt_sigpending, "sigset_t * uset, size_t sigsetsize")
SYSCALL(128, rt_sigtimedwait, "const sigset_t * uthese, siginfo_t * uinfo, "
	"const struct __kernel_timespec * uts, size_t sigsetsize")
SYSCALL(129, rt_sigqueueinfo, "pid_t pid, int sig, siginfo_t * uinfo")
SYSCALL(130, rt_sigsuspend, "sigset_t * unewset, size_t sigsetsize")
SYSCALL(131, sigaltstack, "const stack_t * uss, stack_t * uoss")
SYSCALL(132, utime, "char * filename, struct utimbuf * times")
SYSCALL(133, mknod, "const char * filename, umode_t mode, unsigned dev")
SYSCALL(135, personality, "unsigned int personality")
SYSCALL(136, ustat, "unsigned dev, struct ustat * ubuf")
SYSCALL(137, statfs, "const char * pathname, struct statfs * buf")
SYSCALL(138, fstatfs, "unsigned int fd, struct statfs * buf")
SYSCALL(139, sysfs, "int option, unsigned long arg1, unsigned long arg2")
SYSCALL(140, getpriority, "int which, int who")
SYSCALL(141, setpriority, "int which, int who, int niceval")
SYSCALL(142, sched_setparam, "pid_t pid, struct sched_param * param")
SYSCALL(143, sched_getparam, "pid_t pid, struct sched_param * param")
SYSCALL(144, sched_setscheduler, "pid_t pid, int policy, struct sched_param * param")
SYSCALL(145, sched_getscheduler, "pid_t pid")
SYSCALL(146, sched_get_priority_max, "int policy")
SYSCALL(147, sched_get_priority_min, "int policy")
SYSCALL(148, sched_rr_get_interval, "pid_t pid, struct __kernel_timespec * interval")
SYSCALL(149, mlock, "unsigned long start, size_t len")
SYSCALL(150, munlock, "unsigned long start, size_t len")
SYSCALL(151, mlockall, "int flags")
SYSCALL(152, munlockall, "")
SYSCALL(153, vhangup, "")
SYSCALL(154, modify_ldt, "int func, void * ptr, unsigned long bytecount")
SYSCALL(155, pivot_root, "const char * new_root, const char * put_old")
SYSCALL(157, prctl, "int option, unsigned long arg2, unsigned long arg3, unsigned long arg4, "
	"unsigned long arg5")
SYSCALL(158, arch_prctl, "int option, unsigned long arg2")
SYSCALL(159, adjtimex, "struct __kernel_timex * txc_p")
SYSCALL(160, setrlimit, "unsigned int resource, struct rlimit * rlim")
SYSCALL(161, chroot, "const char * filename")
SYSCALL(162, sync, "")
SYSCALL(163, acct, "const char * name")
SYSCALL(164, settimeofday, "struct __kernel_old_timeval * tv, struct timezone * tz")
SYSCALL(165, mount,
	"char * dev_name, char * dir_name, char * type, unsigned long flags, void * data")
SYSCALL(166, umount, "char * name, int flags")
SYSCALL(167, swapon, "const char * specialfile, int swap_flags")
SYSCALL(168, swapoff, "const char * specialfile")
SYSCALL(169, reboot, "int magic1, int magic2, unsigned int cmd, void * arg")
SYSCALL(170, sethostname, "char * name, int len")
SYSCALL(171, setdomainname, "char * name, int len")
SYSCALL(172, iopl, "unsigned int level")
SYSCALL(173, ioperm, "unsigned long from, unsigned long num, int turn_on")
SYSCALL(175, init_module, "void * umod, unsigned long len, const char * uargs")
SYSCALL(176, delete_module, "const char * name_user, unsigned int flags")
SYSCALL(179, quotactl, "unsigned int cmd, const char * special, qid_t id, void * addr")
SYSCALL(186, gettid, "")
SYSCALL(187, readahead, "int fd, loff_t offset, size_t count")
SYSCALL(188, setxattr,
	"const char * pathname, const char * name, const void * value, size_t size, int flags")
SYSCALL(189, lsetxattr,
	"const char * pathname, const char * name, const void * value, size_t size, int flags")
SYSCALL(190, fsetxattr, "int fd, const char * name, const void * value, size_t size, int flags")
SYSCALL(191, getxattr, "const char * pathname, const char * name, void * value, size_t size")
SYSCALL(192, lgetxattr, "const char * pathname, const char * name, void * value, size_t size")
SYSCALL(193, fgetxattr, "int fd, const char * name, void * value, size_t size")
SYSCALL(194, listxattr, "const char * pathname, char * list, size_t size")
SYSCALL(195, llistxattr, "const char * pathname, char * list, size_t size")
SYSCALL(196, flistxattr, "int fd, char * list, size_t size")
SYSCALL(197, removexattr, "const char * pathname, const char * name")
SYSCALL(198, lremovexattr, "const char * pathname, const char * name")
SYSCALL(199, fremovexattr, "int fd, const char * name")
SYSCALL(200, tkill, "pid_t pid, int sig")
SYSCALL(201, time, "__kernel_old_time_t * tloc")
SYSCALL(202, futex,
	"u32 * uaddr, int op, u32 val, const struct __kernel_timespec * utime, u32 * uaddr2, "
	"u32 val3")
SYSCALL(203, sched_setaffinity, "pid_t pid, unsigned int len, unsigned long * user_mask_ptr")
SYSCALL(204, sched_getaffinity, "pid_t pid, unsigned int len, unsigned long * user_mask_ptr")
SYSCALL(206, io_setup, "unsigned nr_events, aio_context_t * ctxp")
SYSCALL(207, io_destroy, "aio_context_t ctx")
SYSCALL(208, io_getevents, "aio_context_t ctx_id, long min_nr, long nr, struct io_event * events, "
	"struct __kernel_timespec * timeout")
SYSCALL(209, io_submit, "aio_context_t ctx_id, long nr, struct iocb * * iocbpp")
SYSCALL(210, io_cancel, "aio_context_t ctx_id, struct iocb * iocb, struct io_event * result")
SYSCALL(213, epoll_create, "int size")
SYSCALL(216, remap_file_pages, "unsigned long start, unsigned long size, unsigned long prot, "
	"unsigned long pgoff, unsigned long flags")
SYSCALL(217, getdents64, "unsigned int fd, struct linux_dirent64 * dirent, unsigned int count")
SYSCALL(218, set_tid_address, "int * tidptr")
SYSCALL(219, restart_syscall, "")
SYSCALL(220, semtimedop, "int semid, struct sembuf * tsops, unsigned int nsops, "
	"const struct __kernel_timespec * timeout")
SYSCALL(221, fadvise64, "int fd, loff_t offset, size_t len, int advice")
SYSCALL(222, timer_create, "const clockid_t which_clock, struct sigevent * timer_event_spec, "
	"timer_t * created_timer_id")
SYSCALL(223, timer_settime,
	"timer_t timer_id, int flags, const struct __kernel_itimerspec * new_setting, "
	"struct __kernel_itimerspec * old_setting")
SYSCALL(224, timer_gettime, "timer_t timer_id, struct __kernel_itimerspec * setting")
SYSCALL(225, timer_getoverrun, "timer_t timer_id")
SYSCALL(226, timer_delete, "timer_t timer_id")
SYSCALL(227, clock_settime, "const clockid_t which_clock, const struct __kernel_timespec * tp")
SYSCALL(228, clock_gettime, "const clockid_t which_clock, struct __kernel_timespec * tp")
SYSCALL(229, clock_getres, "const clockid_t which_clock, struct __kernel_timespec * tp")
SYSCALL(230, clock_nanosleep, "const clockid_t which_clock, int flags, "
	"const struct __kernel_timespec * rqtp, struct __kernel_timespec * rmtp")
SYSCALL(231, exit_group, "int error_code")
SYSCALL(232, epoll_wait, "int epfd, struct epoll_event * events, int maxevents, int timeout")
SYSCALL(233, epoll_ctl, "int epfd, int op, int fd, struct epoll_event * event")
SYSCALL(234, tgkill, "pid_t tgid, pid_t pid, int sig")
SYSCALL(235, utimes, "char * filename, struct __kernel_old_timeval * utimes")
SYSCALL(237, mbind, "unsigned long start, unsigned long len, unsigned long mode, "
	"const unsigned long * nmask, unsigned long maxnode, unsigned int flags")
SYSCALL(238, set_mempolicy, "int mode, const unsigned long * nmask, unsigned long maxnode")
SYSCALL(239, get_mempolicy, "int * policy, unsigned long * nmask, unsigned long maxnode, "
	"unsigned long addr, unsigned long flags")
SYSCALL(240, mq_open, "const char * u_name, int oflag, umode_t mode, struct mq_attr * u_attr")
SYSCALL(241, mq_unlink, "const char * u_name")
SYSCALL(242, mq_timedsend,
	"mqd_t mqdes, const char * u_msg_ptr, size_t msg_len, unsigned int msg_prio, "
	"const struct __kernel_timespec * u_abs_timeout")
SYSCALL(243, mq_timedreceive,
	"mqd_t mqdes, char * u_msg_ptr, size_t msg_len, unsigned int * u_msg_prio, "
	"const struct __kernel_timespec * u_abs_timeout")
SYSCALL(244, mq_notify, "mqd_t mqdes, const struct sigevent * u_notification")
SYSCALL(245, mq_getsetattr,
	"mqd_t mqdes, const struct mq_attr * u_mqstat, struct mq_attr * u_omqstat")
SYSCALL(246, kexec_load,
	"unsigned long entry, unsigned long nr_segments, struct kexec_segment * segments, "
	"unsigned long flags")
SYSCALL(247, waitid,
	"int which, pid_t upid, struct siginfo * infop, int options, struct rusage * ru")
SYSCALL(248, add_key,
	"const char * _type, const char * _description, const void * _payload, size_t plen, "
	"key_serial_t ringid")
SYSCALL(249, request_key,
	"const char * _type, const char * _description, const char * _callout_info, "
	"key_serial_t destringid")
SYSCALL(250, keyctl, "int option, unsigned long arg2, unsigned long arg3, unsigned long arg4, "
	"unsigned long arg5")
SYSCALL(251, ioprio_set, "int which, int who, int ioprio")
SYSCALL(252, ioprio_get, "int which, int who")
SYSCALL(253, inotify_init, "")
SYSCALL(254, inotify_add_watch, "int fd, const char * pathname, u32 mask")
SYSCALL(255, inotify_rm_watch, "int fd, __s32 wd")
SYSCALL(256, migrate_pages, "pid_t pid, unsigned long maxnode, const unsigned long * old_nodes, "
	"const unsigned long * new_nodes")
SYSCALL(257, openat, "int dfd, const char * filename, int flags, umode_t mode")
SYSCALL(258, mkdirat, "int dfd, const char * pathname, umode_t mode")
SYSCALL(259, mknodat, "int dfd, const char * filename, umode_t mode, unsigned int dev")
SYSCALL(260, fchownat, "int dfd, const char * filename, uid_t user, gid_t group, int flag")
SYSCALL(261, futimesat, "int dfd, const char * filename, struct __kernel_old_timeval * utimes")
SYSCALL(262, newfstatat, "int dfd, const char * filename, struct stat * statbuf, int flag")
SYSCALL(263, unlinkat, "int dfd, const char * pathname, int flag")
SYSCALL(264, renameat, "int olddfd, const char * oldname, int newdfd, const char * newname")
SYSCALL(265, linkat,
	"int olddfd, const char * oldname, int newdfd, const char * newname, int flags")
SYSCALL(266, symlinkat, "const char * oldname, int newdfd, const char * newname")
SYSCALL(267, readlinkat, "int dfd, const char * pathname, char * buf, int bufsiz")
SYSCALL(268, fchmodat, "int dfd, const char * filename, umode_t mode")
SYSCALL(269, faccessat, "int dfd, const char * filename, int mode")
SYSCALL(270, pselect6,
	"int n, fd_set * inp, fd_set * outp, fd_set * exp, struct __kernel_timespec * tsp, "
	"void * sig")
SYSCALL(271, ppoll, "struct pollfd * ufds, unsigned int nfds, struct __kernel_timespec * tsp, "
	"const sigset_t * sigmask, size_t sigsetsize")
SYSCALL(272, unshare, "unsigned long unshare_flags")
SYSCALL(273, set_robust_list, "struct robust_list_head * head, size_t len")
SYSCALL(274, get_robust_list, "int pid, struct robust_list_head * * head_ptr, size_t * len_ptr")
SYSCALL(275, splice,
	"int fd_in, loff_t * off_in, int fd_out, loff_t * off_out, size_t len, unsigned int flags")
SYSCALL(276, tee, "int fdin, int fdout, size_t len, unsigned int flags")
SYSCALL(277, sync_file_range, "int fd, loff_t offset, loff_t nbytes, unsigned int flags")
SYSCALL(278, vmsplice,
	"int fd, const struct iovec * uiov, unsigned long nr_segs, unsigned int flags")
SYSCALL(279, move_pages,
	"pid_t pid, unsigned long nr_pages, const void * * pages, const int * nodes, "
	"int * status, int flags")
SYSCALL(280, utimensat,
	"int dfd, const char * filename, struct __kernel_timespec * utimes, int flags")
SYSCALL(281, epoll_pwait, "int epfd, struct epoll_event * events, int maxevents, int timeout, "
	"const sigset_t * sigmask, size_t sigsetsize")
SYSCALL(282, signalfd, "int ufd, sigset_t * user_mask, size_t sizemask")
SYSCALL(283, timerfd_create, "int clockid, int flags")
SYSCALL(284, eventfd, "unsigned int count")
SYSCALL(285, fallocate, "int fd, int mode, loff_t offset, loff_t len")
SYSCALL(286, timerfd_settime, "int ufd, int flags, const struct __kernel_itimerspec * utmr, "
	"struct __kernel_itimerspec * otmr")
SYSCALL(287, timerfd_gettime, "int ufd, struct __kernel_itimerspec * otmr")
SYSCALL(288, accept4, "int fd, struct sockaddr * upeer_sockaddr, int * upeer_addrlen, int flags")
SYSCALL(289, signalfd4, "int ufd, sigset_t * user_mask, size_t sizemask, int flags")
SYSCALL(290, eventfd2, "unsigned int count, int flags")
SYSCALL(291, epoll_create1, "int flags")
SYSCALL(292, dup3, "unsigned int oldfd, unsigned int newfd, int flags")
SYSCALL(293, pipe2, "int * fildes, int flags")
SYSCALL(294, inotify_init1, "int flags")
SYSCALL(295, preadv,
	"unsigned long fd, const struct iovec * vec, unsigned long vlen, unsigned long pos_l, "
	"unsigned long pos_h")
SYSCALL(296, pwritev,
	"unsigned long fd, const struct iovec * vec, unsigned long vlen, unsigned long pos_l, "
	"unsigned long pos_h")
SYSCALL(297, rt_tgsigqueueinfo, "pid_t tgid, pid_t pid, int sig, siginfo_t * uinfo")
SYSCALL(298, perf_event_open,
	"struct perf_event_attr * attr_uptr, pid_t pid, int cpu, int group_fd, "
	"unsigned long flags")
SYSCALL(299, recvmmsg, "int fd, struct mmsghdr * mmsg, unsigned int vlen, unsigned int flags, "
	"struct __kernel_timespec * timeout")
SYSCALL(300, fanotify_init, "unsigned int flags, unsigned int event_f_flags")
SYSCALL(301, fanotify_mark,
	"int fanotify_fd, unsigned int flags, __u64 mask, int dfd, const char * pathname")
SYSCALL(302, prlimit64, "pid_t pid, unsigned int resource, const struct rlimit64 * new_rlim, "
	"struct rlimit64 * old_rlim")
SYSCALL(303, name_to_handle_at,
	"int dfd, const char * name, struct file_handle * handle, void * mnt_id, "
	"int flag")
SYSCALL(304, open_by_handle_at, "int mountdirfd, struct file_handle * handle, int flags")
SYSCALL(305, clock_adjtime, "const clockid_t which_clock, struct __kernel_timex * utx")
SYSCALL(306, syncfs, "int fd")
SYSCALL(307, sendmmsg, "int fd, struct mmsghdr * mmsg, unsigned int vlen, unsigned int flags")
SYSCALL(308, setns, "int fd, int flags")
SYSCALL(309, getcpu, "unsigned * cpup, unsigned * nodep, struct getcpu_cache * unused")
SYSCALL(310, process_vm_readv, "pid_t pid, const struct iovec * lvec, unsigned long liovcnt, "
	"const struct iovec * rvec, unsigned long riovcnt, unsigned long flags")
SYSCALL(311, process_vm_writev, "pid_t pid, const struct iovec * lvec, unsigned long liovcnt, "
	"const struct iovec * rvec, unsigned long riovcnt, unsigned long flags")
SYSCALL(312, kcmp, "pid_t pid1, pid_t pid2, int type, unsigned long idx1, unsigned long idx2")
SYSCALL(313, finit_module, "int fd, const char * uargs, int flags")
SYSCALL(314, sched_setattr, "pid_t pid, struct sched_attr * uattr, unsigned int flags")
SYSCALL(315, sched_getattr,
	"pid_t pid, struct sched_attr * uattr, unsigned int usize, unsigned int flags")
SYSCALL(316, renameat2, "int olddfd, const char * oldname, int newdfd, const char * newname, "
	"unsigned int flags")
SYSCALL(317, seccomp, "unsigned int op, unsigned int flags, void * uargs")
SYSCALL(318, getrandom, "char * ubuf, size_t len, unsigned int flags")
SYSCALL(319, memfd_create, "const char * uname, unsigned int flags")
SYSCALL(320, kexec_file_load, "int kernel_fd, int initrd_fd, unsigned long cmdline_len, "
	"const char * cmdline_ptr, unsigned long flags")
SYSCALL(321, bpf, "int cmd, union bpf_attr * uattr, unsigned int size")
SYSCALL(322, execveat,
	"int fd, const char * filename, const char *const * argv, const char *const * envp, "
	"int flags")
SYSCALL(323, userfaultfd, "int flags")
SYSCALL(324, membarrier, "int cmd, unsigned int flags, int cpu_id")
SYSCALL(325, mlock2, "unsigned long start, size_t len, int flags")
SYSCALL(326, copy_file_range,
	"int fd_in, loff_t * off_in, int fd_out, loff_t * off_out, size_t len, "
	"unsigned int flags")
SYSCALL(327, preadv2,
	"unsigned long fd, const struct iovec * vec, unsigned long vlen, unsigned long pos_l, "
	"unsigned long pos_h, rwf_t flags")
SYSCALL(328, pwritev2, "unsigned long fd, const struct iovec * vec, unsigned long vlen, "
	"unsigned long pos_l, unsigned long pos_h, rwf_t flags")
SYSCALL(329, pkey_mprotect, "unsigned long start, size_t len, unsigned long prot, int pkey")
SYSCALL(330, pkey_alloc, "unsigned long flags, unsigned long init_val")
SYSCALL(331, pkey_free, "int pkey")
SYSCALL(332, statx,
	"int dfd, const char * filename, unsigned flags, unsigned int mask, struct statx * buffer")
SYSCALL(333, io_pgetevents, "aio_context_t ctx_id, long min_nr, long nr, struct io_event * events, "
	"struct __kernel_timespec * timeout, const struct __aio_sigset * usig")
SYSCALL(334, rseq, "struct rseq * rseq, u32 rseq_len, int flags, u32 sig")
SYSCALL(335, uretprobe, "")
SYSCALL(424, pidfd_send_signal, "int pidfd, int sig, siginfo_t * info, unsigned int flags")
SYSCALL(425, io_uring_setup, "u32 entries, struct io_uring_params * params")
SYSCALL(426, io_uring_enter, "unsigned int fd, u32 to_submit, u32 min_complete, u32 flags, "
	"const void * argp, size_t argsz")
SYSCALL(427, io_uring_register,
	"unsigned int fd, unsigned int opcode, void * arg, unsigned int nr_args")
SYSCALL(428, open_tree, "int dfd, const char * filename, unsigned flags")
SYSCALL(429, move_mount,
	"int from_dfd, const char * from_pathname, int to_dfd, const char * to_pathname, "
	"unsigned int flags")
SYSCALL(430, fsopen, "const char * _fs_name, unsigned int flags")
SYSCALL(431, fsconfig, "int fd, unsigned int cmd, const char * _key, const void * _value, int aux")
SYSCALL(432, fsmount, "int fs_fd, unsigned int flags, unsigned int attr_flags")
SYSCALL(433, fspick, "int dfd, const char * path, unsigned int flags")
SYSCALL(434, pidfd_open, "pid_t pid, unsigned int flags")
SYSCALL(435, clone3, "struct clone_args * uargs, size_t size")
SYSCALL(436, close_range, "unsigned int fd, unsigned int max_fd, unsigned int flags")
SYSCALL(437, openat2, "int dfd, const char * filename, struct open_how * how, size_t usize")
SYSCALL(438, pidfd_getfd, "int pidfd, int fd, unsigned int flags")
SYSCALL(439, faccessat2, "int dfd, const char * filename, int mode, int flags")
SYSCALL(440, process_madvise, "int pidfd, const struct iovec * vec, size_t vlen, int behavior, "
	"unsigned int flags")
SYSCALL(441, epoll_pwait2, "int epfd, struct epoll_event * events, int maxevents, "
	"const struct __kernel_timespec * timeout, const sigset_t * sigmask, size_t sigsetsize")
SYSCALL(442, mount_setattr,
	"int dfd, const char * path, unsigned int flags, struct mount_attr * uattr, "
	"size_t usize")
SYSCALL(443, quotactl_fd, "unsigned int fd, unsigned int cmd, qid_t id, void * addr")
SYSCALL(444, landlock_create_ruleset,
	"const struct landlock_ruleset_attr * const attr, const size_t size, "
	"const __u32 flags")
SYSCALL(445, landlock_add_rule, "const int ruleset_fd, const enum landlock_rule_type rule_type, "
	"const void * const rule_attr, const __u32 flags")
SYSCALL(446, landlock_restrict_self, "const int ruleset_fd, const __u32 flags")
SYSCALL(447, memfd_secret, "unsigned int flags")
SYSCALL(448, process_mrelease, "int pidfd, unsigned int flags")
SYSCALL(449, futex_waitv,
	"struct futex_waitv * waiters, unsigned int nr_futexes, unsigned int flags, "
	"struct __kernel_timespec * timeout, clockid_t clockid")
SYSCALL(450, set_mempolicy_home_node,
	"unsigned long start, unsigned long len, unsigned long home_node, "
	"unsigned long flags")
SYSCALL(451, cachestat,
	"unsigned int fd, struct cachestat_range * cstat_range, struct cachestat * cstat, "
	"unsigned int flags")
SYSCALL(452, fchmodat2, "int dfd, const char * filename, umode_t mode, unsigned int flags")
SYSCALL(453, map_shadow_stack, "unsigned long addr, unsigned long size, unsigned int flags")
SYSCALL(454, futex_wake, "void * uaddr, unsigned long mask, int nr, unsigned int flags")
SYSCALL(455, futex_wait, "void * uaddr, unsigned long val, unsigned long mask, unsigned int flags, "
	"struct __kernel_timespec * timeout, clockid_t clockid")
SYSCALL(456, futex_requeue,
	"struct futex_waitv * waiters, unsigned int flags, int nr_wake, int nr_requeue")
SYSCALL(457, statmount, "const struct mnt_id_req * req, struct statmount * buf, size_t bufsize, "
	"unsigned int flags")
SYSCALL(458, listmount,
	"const struct mnt_id_req * req, u64 * mnt_ids, size_t nr_mnt_ids, unsigned int flags")
SYSCALL(459, lsm_get_self_attr, "unsigned int attr, struct lsm_ctx * ctx, u32 * size, u32 flags")
SYSCALL(460, lsm_set_self_attr, "unsigned int attr, struct lsm_ctx * ctx, u32 size, u32 flags")
SYSCALL(461, lsm_list_modules, "u64 * ids, u32 * size, u32 flags")
SYSCALL(462, mseal, "unsigned long start, size_t len, unsigned long flags")
