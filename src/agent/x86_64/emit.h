/* SPDX-License-Identifier: MIT */
/*
 * emit.h - x86-64: offsets and sizes for emit.S and its kin; way.c and others check these numbers
 */
#ifndef TRACEFUSE_AGENT_X86_64_EMIT_H
#define TRACEFUSE_AGENT_X86_64_EMIT_H

#define EVENT_ID	8	/* struct tf_event */

#define THREAD_SLOT	0	/* struct agent_thread */
#define THREAD_WORD	8
#define THREAD_RESUME	72
#define THREAD_FRAME	80
#define THREAD_WAYS	192

#define WAY_SHIFT	7	/* struct agent_way */
#define WAY_MASK	15
#define SEEN_SHIFT	48	/* way_seen() */
#define WAY_SEEN	0
#define WAY_ON		8
#define WAY_EVENT	16
#define WAY_INST	24
#define WAY_RING	32
#define WAY_MULT	40
#define WAY_OFFSET	48
#define WAY_SUBBUF	56
#define WAY_RSEQ	64
#define WAY_BIT		72
#define WAY_TYPE	80
#define WAY_PLAIN	84
#define WAY_SLOT	88
#define WAY_ROOM	96

#define THREAD_COUNTS	2560

#define COUNT_BITS	8	/* struct agent_count */
#define COUNT_SEEN	0
#define COUNT_EVENT	8
#define COUNT_KEY	12
#define COUNT_KEY2	13
#define COUNT_VAL	14
#define COUNT_SHIFT	15
#define COUNT_EARLY	16
#define COUNT_LATE	17
#define COUNT_KEY_OFF	18
#define COUNT_KEY2_OFF	20
#define COUNT_VAL_OFF	22
#define COUNT_SIZE	24
#define COUNT_LAST	28
#define COUNT_SOFT	32
#define COUNT_PAUSED	40
#define COUNT_ENTRIES	48
#define COUNT_ELTS	56
#define COUNT_ELT_SIZE	64
#define COUNT_SUMS	72
#define COUNT_STRIDE	80
#define COUNT_COLUMN	88
#define COUNT_RSEQ	96
#define COUNT_SLOT	104
#define COUNT_PLAIN	112
#define COUNT_MASK	116
#define COUNT_TAKEN	120

#define COUNT_LOW	128
#define COUNT_SPAN	136
#define COUNT_IF_OFF	144
#define COUNT_IF	146
#define COUNT_USECS	147
#define COUNT_VAR	148
#define COUNT_CLOCK	152
#define COUNT_CLOCK_ID	160
#define COUNT_MULT	168
#define COUNT_OFFSET	176
#define COUNT_FUNCTION	184
#define COUNT_OTHER_HIST 232
#define COUNT_REST_FUNCTION 240

#define OTHER_CELL	0	/* struct agent_other */
#define OTHER_MAP	8
#define OTHER_ENTRIES	16
#define OTHER_ELTS	24
#define OTHER_ELT_SIZE	32
#define OTHER_LAST	40
#define OTHER_MASK	44
#define OTHER_VAR	48
#define OTHER_SHIFT	52

#define EARLY_TWO	1	/* enum count_early */
#define EARLY_OTHER	2
#define EARLY_LOG2	4
#define EARLY_FILTER	8
#define EARLY_CALL	16
#define EARLY_TIMED	32
#define EARLY_PARENT	64
#define EARLY_IPS	128

#define LATE_TIME	2	/* enum count_late */
#define LATE_SINCE	4
#define LATE_REST	8

/* struct agent_profile */
#define THREAD_PROFILES	6656
#define PROFILE_SHIFT	7
#define PROFILE_MASK	3
#define PROFILE_SEEN	0
#define PROFILE_ENTRIES	8
#define PROFILE_ELTS	16
#define PROFILE_EVENT	24
#define PROFILE_LAST	28
#define PROFILE_COLUMN	32
#define PROFILE_MULT	40
#define PROFILE_OFFSET	48
#define PROFILE_RSEQ	56
#define PROFILE_SLOT	64
#define PROFILE_SHARED	72
#define PROFILE_CPU	80
#define PROFILE_PLACES	84
#define PROFILE_PLACE	88
#define PROFILE_ELT	4	/* log2 of bytes: the key */
#define PROFILE_ROW	5	/* log2 of bytes: an elt's sums */
#define SUM_CALLS	8	/* offsets in an elt's sums */
#define SUM_TIME	16
#define SUM_SQUARED	24

#define SIZE_FUNCTION	24	/* sizes of records */
#define SIZE_CALLED	20
#define SIZE_RETURNED	48

#define THREAD_PID	12
#define THREAD_BUSY	24

#define GRAPH_LOW	2240	/* agent_thread.graph: struct agent_graph */
#define GRAPH_SIZE	2248
#define GRAPH_PIECE	2256
#define GRAPH_TOP	2264
#define GRAPH_STATE	2272
#define GRAPH_OVERRUN	2280
#define GRAPH_LAST	2288
#define GRAPH_COUNTED	2296

#define FRAME_ID	0	/* struct graph_frame */
#define FRAME_DEPTH	8
#define FRAME_TAILS	14	/* its upper 16 bits: how many wait behind it */
#define FRAME_UP	16
#define FRAME_FUNC	24
#define FRAME_TIME	32
#define FRAME_MASK	40
#define FRAME_BELOW	48
#define FRAME_GROUP	56	/* in the upper 16 bits */
#define FRAME_PROFILED_BIT 37
#define FRAME_SITE_BIT	38
#define FRAMES_MASK	0xffffc0	/* of eight times a slot: its frame's offset in a piece */
#define MOST_TAILS_WAIT	50	/* MOST_TAILS */
/* graph_returned_late is at most this many bytes behind graph_returned. */
#define GRAPH_LABELS	2048
#define GRAPH_EXIT	65535	/* LAYOUT_GRAPH_EXIT */

#define DSO_TABLE	48	/* struct site_dso */
#define TABLE_SIZE	0	/* struct site_table */
#define TABLE_CODE	8
#define TABLE_WORDS	16
#define TABLE_DELTA	24
#define SITE_HOOKED_WORD 0x40000	/* SITE_HOOKED */
#define SITE_RETURNS_WORD 0x80000	/* SITE_RETURNS */

#define PLANE_CONFIG	0	/* struct plane */
#define PLANE_DATA	8
#define PLANE_MASK	32

#define CONFIG_EPOCH	120	/* struct config_header */

#define SLOT_DEPTH	8	/* struct slot */
#define SLOT_EPOCH	16

#define INST_ON		4	/* struct instance_state: tracing_on and live */

#define RING_CPU	0	/* struct ring */
#define RING_HEAD	64
#define RING_TAIL_TIME	72
#define RING_TAIL_ENTRIES 80
#define RING_TAIL_SIZE	16	/* of each of the two, which are adjacent */
#define RING_PAGE_END	104
#define RING_BASE	112

#define MIRROR		0x400000000800	/* GRAPH_MIRROR */

#define RSEQ_CPU	4	/* struct rseq_area */
#define RSEQ_CS		8

#endif
