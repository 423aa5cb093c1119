/* SPDX-License-Identifier: MIT */
/*
 * recording_seeds.c - recordings that the fuzzer starts from: small ones of each version and
 * compression, the example, and those of other machines: 32 bits, big-endian, pages of 16 KiB,
 * a guest's
 *
 *     recording_seeds DIR
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Includes the writer itself, so that only this file has to be built. */
#include "../../bench/recording_writer.c"

static const struct writer_format formats[] = {
	{ "ftrace", writer_format_print },
	{ "sched", writer_format_waking },
};

static const struct writer_buffer buffers[] = { { .name = "" }, { .name = "foo" } };

static bool one_page(void *arg, unsigned int buffer, uint32_t cpu, uint8_t *bytes)
{
	struct writer_waking r = {
		.type = WRITER_WAKING_ID, .pid = 7, .common_pid = 7, .comm = "seed" };
	bool *done = (bool *)arg + buffer * 2 + cpu;
	struct writer_page p;

	if (*done)
		return false;
	*done = true;
	writer_page_start(&p, bytes, 1000);
	writer_page_add(&p, 1000 + cpu, &r, sizeof(r));
	writer_page_add(&p, 1000 + (1ull << 30), &r, sizeof(r));
	writer_page_end(&p);
	return true;
}

static int write_seed(const char *dir, const char *name, unsigned int version,
		      const char *algorithm)
{
	bool done[4] = { false };
	struct writer_spec spec = {
		.version = version,
		.algorithm = algorithm,
		.nr_cpus = 2,
		.formats = formats,
		.nr_formats = 2,
		.buffers = buffers,
		.nr_buffers = 2,
		.chunk_pages = 1,
		.kallsyms = "ffffffff81000000 T a\n",
		.cmdlines = "7 seed\n",
		.page = one_page,
		.arg = done,
	};
	char path[4096];
	FILE *out;
	int ret;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	out = fopen(path, "w+e");
	ret = out ? writer_run(&spec, out) : -errno;
	if (out && fclose(out))
		ret = -errno;
	if (ret)
		fprintf(stderr, "%s: %s\n", path, strerror(-ret));
	return ret;
}

/* EXAMPLE, I386, S390X, ARMHF, ARM64 and GUEST are paths. */
static int copy(const char *dir, const char *name, const char *from)
{
	char path[4096], buf[65536];
	FILE *in = fopen(from, "re"), *out;
	size_t n;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	out = fopen(path, "we");
	if (!in || !out) {
		perror(in ? path : from);
		return 1;
	}
	while ((n = fread(buf, 1, sizeof(buf), in)))
		fwrite(buf, 1, n, out);
	fclose(in);
	return fclose(out);
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: recording_seeds DIR\n");
		return 2;
	}
	return write_seed(argv[1], "v6", 6, NULL) || write_seed(argv[1], "v7", 7, NULL) ||
	       write_seed(argv[1], "v7-zstd", 7, "zstd") ||
	       write_seed(argv[1], "v7-zlib", 7, "zlib") ||
	       copy(argv[1], "example", EXAMPLE) || copy(argv[1], "i386", I386) ||
	       copy(argv[1], "s390x", S390X) || copy(argv[1], "armhf", ARMHF) ||
	       copy(argv[1], "arm64", ARM64) || copy(argv[1], "guest", GUEST);
}
