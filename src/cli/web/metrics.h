/* SPDX-License-Identifier: MIT */
/*
 * metrics.h - inside of /metrics: series of numbers, and the forms that they are printed in
 *
 *     metrics.c           makes families and their series of what the session has
 *     metrics_text.c      the text form of Prometheus, and OpenMetrics
 *     metrics_protobuf.c  the protobuf form of Prometheus, which has native histograms
 *     metrics_accept.c    which form a request asks for
 */
#ifndef TRACEFUSE_CLI_WEB_METRICS_H
#define TRACEFUSE_CLI_WEB_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum metrics_kind { METRICS_COUNTER, METRICS_GAUGE, METRICS_HISTOGRAM };

struct metrics_bucket {
	double		bound;
	unsigned long long below;	/* or at the bound */
};

/* A bucket of a native histogram: 2^((index - 1) / 2^scale) < v <= 2^(index / 2^scale). */
struct metrics_range {
	int		index;
	unsigned long long hits;
};

/* A number, or a histogram, with its labels. */
struct metrics_series {
	const char	*labels;	/* NAME \0 VALUE \0 ... \0, in UTF-8 */
	unsigned long long value;	/* of a histogram: of all buckets */
	/* Of histograms. The bucket to infinity is not among the buckets. */
	struct metrics_bucket *buckets;
	size_t		nr_buckets;
	double		sum;
	bool		exact;		/* the sum is */
	/* Of native ones besides. */
	bool		native;
	int		scale;
	unsigned long long zeros;	/* hits of the value 0 */
	struct metrics_range *ranges;	/* of the others, in order */
	size_t		nr_ranges;
};

/* The series of a metric, whichever session file they are from. */
struct metrics_family {
	struct metrics_family *next;
	char		*name;
	enum metrics_kind kind;
	bool		native;		/* all of its histograms are */
	const char	*help;
	char		*text;		/* when it is closed */
	size_t		len;
	FILE		*out;		/* its series, as the form has them */
};

struct metrics_form {
	const char	*type;		/* Content-Type */
	bool		native;		/* has native histograms */
	/* Adds a series to a family. 0 or -ENOMEM. */
	int		(*add)(struct metrics_family *f, const struct metrics_series *s);
	/* Prints a family whose series are all there. The same. */
	int		(*print)(const struct metrics_family *f, FILE *out);
	const char	*end;		/* behind all families */
};

extern const struct metrics_form metrics_text, metrics_openmetrics, metrics_protobuf;

#endif
