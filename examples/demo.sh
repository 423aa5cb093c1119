#!/bin/sh
# SPDX-License-Identifier: MIT
# demo.sh - a first look: how long jobs wait in a program's queue, and cyclictest, out of a recording, for a processor
cd "$(dirname "$0")/.." || exit 1
tf=build/tracefuse
recording=examples/cyclictest.dat

queue=build/meson/examples/example-queue

cat examples/programs/queue.setup
echo
echo "\$ $tf run --setup examples/programs/queue.setup --cat events/synthetic/queue_wait/hist -- $queue"
$tf run --setup examples/programs/queue.setup --cat events/synthetic/queue_wait/hist -- $queue || exit 1
cat <<E

So long did each job wait in the queue of examples/programs/queue.c, from an event in
one thread to an event in another. The same of a kernel, out of a recording:

E
cat examples/demo-setup.sh
echo
echo "\$ $tf replay --setup examples/demo-setup.sh --cat events/synthetic/wakeup_latency/hist $recording"
$tf replay --setup examples/demo-setup.sh --cat events/synthetic/wakeup_latency/hist $recording || exit 1
cat <<E

The lines of examples/demo-setup.sh are those that the kernel's tracing directory
takes; a kernel that was built with histogram triggers gives the same answer.
Try next:

  1. A program of yours, as it is: who asks for how much memory?
     $tf run --setup examples/programs/heap.setup --cat events/heap/malloc/hist -- PROGRAM
     docs/getting-started.md tells how to give it events of its own.

  2. Your own trigger, on the same recording:
     echo "echo 'hist:keys=next_prio,next_comm' > events/sched/sched_switch/trigger" >my.sh
     $tf replay --setup my.sh --cat events/sched/sched_switch/hist $recording

  3. The recording as a text, with the events that you choose:
     $tf replay -e sched:sched_switch --cat trace $recording | head -20

  4. How long tasks waited, who was in their way; docs/histograms.md tells step by step:
     $tf replay --setup examples/histograms/max.sh --cat events/sched/sched_switch/hist $recording
     $tf explain "\$(tail -n 1 examples/histograms/max.sh)"

  5. The files themselves, in a directory (needs /dev/fuse):
     $tf replay --session demo --mount /tmp/tracing $recording
     cd /tmp/tracing; echo 1 > events/sched/enable; echo start > replay; cat trace
E
