/* SPDX-License-Identifier: MIT */
/*
 * exponential.h - buckets whose bounds grow by a constant factor: the modifier .exp=SCALE
 *
 * Bucket 0 has the value 0, bucket 1 the value 1. Bucket i + 1 has the whole numbers v with
 * 2^((i - 1) / 2^scale) < v <= 2^(i / 2^scale): it is bucket i - 1 of an exponential histogram
 * of OpenTelemetry, and bucket i of a native histogram of Prometheus, with the same scale. A bucket
 * of the next smaller scale has the values of two buckets, so histograms of two scales can be
 * merged.
 *
 *     https://opentelemetry.io/docs/specs/otel/metrics/data-model/#exponentialhistogram
 */
#ifndef TRACEFUSE_PLANE_EXPONENTIAL_H
#define TRACEFUSE_PLANE_EXPONENTIAL_H

#include <stdint.h>

enum { EXPONENTIAL_SCALE_MAX = 8 };

/* The bucket of a value; scale: 0 to EXPONENTIAL_SCALE_MAX. */
uint64_t exponential_bucket(unsigned int scale, uint64_t v);
/* The smallest and the largest value of a bucket that exponential_bucket() has returned. */
void exponential_range(unsigned int scale, uint64_t bucket, uint64_t *low, uint64_t *high);

#endif
