/* SPDX-License-Identifier: MIT */
/*
 * map.c - histograms on their way through hit(): find the elt, add
 *
 * The programs are what the compiler makes of hist:keys=a, of
 * hist:keys=a,b:vals=a and of hist:keys=name.
 */
#include "fixture.h"

enum { KEYS = 800 };

static struct map_shape shape_of(struct session *s, uint32_t key_size, uint32_t nr_sums)
{
	return (struct map_shape){ .max_elts = 2048,
				  .key_size = key_size,
				  .nr_sums = nr_sums,
				  .nr_cpus = session_header(s)->nr_cpus,
				  .nr_slots = session_header(s)->nr_slots };
}

static config_ref program_made(struct session *s, const struct op *ops, uint32_t nr,
			       uint32_t key_size, uint32_t nr_sums)
{
	size_t size = sizeof(struct code) + nr * sizeof(*ops);
	config_ref ref = session_config_alloc(s, size);
	struct code *code = session_config(s, ref, size);

	*code = (struct code){ .size = (uint32_t)size, .nr_ops = nr, .key_size = key_size };
	bench_map(s, code, shape_of(s, key_size, nr_sums));
	memcpy(code->ops, ops, nr * sizeof(*ops));
	return ref;
}

static void check_counts(struct session *s, config_ref program, uint32_t key_size, uint32_t nr_sums,
			 uint64_t hits)
{
	struct code *code = session_config(s, program, sizeof(*code));
	struct map_shape shape = shape_of(s, key_size, nr_sums);

	if (map_hits(session_data(s, code->map, map_size(&shape)), &shape) != hits)
		bench_fail("the histogram did not count every hit");
}

static const struct op one_key[] = {
	{ .kind = OP_HIST_KEY1, .len = OP_LOAD_U32, .off = 8 },
	{ .kind = OP_END },
};

static const struct op two_keys[] = {
	{ .kind = OP_HIST_KEYS, .len = OP_LOAD_U32, .off = 8, .size = OP_LOAD_U32, .on_true = 12,
	  .cmp = OP_LOAD_U32, .arg = 8 },
	{ .kind = OP_END },
};

static const struct op string_key[] = {
	{ .kind = OP_KEY_STRING, .off = 0, .imm = 16, .len = 16, .arg = 16, .size = STRING_FIXED },
	{ .kind = OP_FIND },
	{ .kind = OP_END },
};

#define COUNT(ops)	((uint32_t)(sizeof(ops) / sizeof((ops)[0])))

static void bench_program(struct session *s, const char *name, const struct op *ops, uint32_t nr,
			  uint32_t key_size, uint32_t nr_sums)
{
	config_ref program = program_made(s, ops, nr, key_size, nr_sums);
	struct bench_record rec = { .common = { .type = BENCH_EVENT, .pid = 1 },
				    .name = "cyclictest" };
	struct hit h = { .record = &rec, .size = sizeof(rec) };
	struct plane *p = session_plane(s);
	struct slot *slot = session_slot_get(s);
	static uint32_t keys[1024];

	for (int i = 0; i < 1024; i++)
		keys[i] = 1000 + (uint32_t)rand() % KEYS;
	bench_arm(s, 0, program);
	BENCH(name, {
		rec.a = keys[i & 1023];
		rec.b = rec.a ^ 1;
		rec.name[10] = (char)('a' + (rec.a & 15));
		hit(p, slot, &h);
	});
	check_counts(s, program, key_size, nr_sums, (uint64_t)BENCH_RUNS * BENCH_LOOPS);
	session_slot_put(s, slot);
}

static void bench_bare(struct session *s)
{
	struct slot *slot = session_slot_get(s);
	struct code code;
	struct map_view m;

	bench_map(s, &code, shape_of(s, 8, 1));
	m = map_view_of(session_plane(s), code.map, &code.layout);

	BENCH("map: find and add, bare", {
		uint64_t key = i & 511;

		map_add(m, map_insert_word(m, slot, key), 0, 1, 0);
	});
	session_slot_put(s, slot);
}

int main(void)
{
	struct session *s = bench_session();

	bench_instance(s);
	bench_bare(s);
	bench_program(s, "histogram, one integer key", one_key, COUNT(one_key), 8, 1);
	bench_program(s, "histogram, two keys and a value", two_keys, COUNT(two_keys), 16, 2);
	bench_program(s, "histogram, a string key", string_key, COUNT(string_key), 16, 1);
	session_close(s);
	return 0;
}
