#!/bin/sh
# SPDX-License-Identifier: MIT
# demo.sh - a first look: how long cyclictest waited for a processor, out of a recording
cd "$(dirname "$0")/.." || exit 1
tf=build/tracefuse
recording=examples/cyclictest.dat

cat examples/demo-setup.sh
echo
echo "\$ $tf replay --setup examples/demo-setup.sh --cat events/synthetic/wakeup_latency/hist $recording"
$tf replay --setup examples/demo-setup.sh --cat events/synthetic/wakeup_latency/hist $recording || exit 1
cat <<E

The lines of examples/demo-setup.sh are those that the kernel's tracing directory
takes; a kernel that was built with histogram triggers gives the same answer.
Try next:

  1. Your own trigger, on the same recording:
     echo "echo 'hist:keys=next_prio,next_comm' > events/sched/sched_switch/trigger" >my.sh
     $tf replay --setup my.sh --cat events/sched/sched_switch/hist $recording

  2. The recording as a text, with the events that you choose:
     $tf replay -e sched:sched_switch --cat trace $recording | head -20

  3. How long tasks waited, who was in their way; docs/histograms.md tells step by step:
     $tf replay --setup examples/histograms/max.sh --cat events/sched/sched_switch/hist $recording
     $tf explain "\$(tail -n 1 examples/histograms/max.sh)"

  4. The files themselves, in a directory (needs /dev/fuse):
     $tf replay --session demo --mount /tmp/tracing $recording
     cd /tmp/tracing; echo 1 > events/sched/enable; echo start > replay; cat trace
E
