/* SPDX-License-Identifier: MIT */
/*
 * map.c - the tracing map of a hist: makes it, restores it from a dead server, renews it for
 * `clear`
 */
#include <errno.h>
#include <string.h>

#include "model/hist/hist.h"

static unsigned int save_room(const struct hist_field_var *fv)
{
	return fv->val->content == HIST_TEXT ? STRING_ROOM : 8;
}

unsigned int hist_save_offset(const struct hist_data *hd, unsigned int i)
{
	unsigned int off = HIST_TRACK_VALUES;

	for (unsigned int k = 0; k < i; k++)
		off += save_room(hd->save_vars[k]);
	return off;
}

unsigned int hist_save_size(const struct hist_data *hd)
{
	return hist_save_offset(hd, hd->n_save_vars);
}

static void shape_of(struct hist_data *hd, struct map_shape *out)
{
	const struct config_header *h = session_header(hd->event->model->session);

	/* It includes its blocks already. */
	out->max_elts = 1u << hd->map_bits;
	out->key_size = hd->key_size;
	out->nr_sums = hd->n_vals - hd->n_vars;
	out->nr_vars = hd->n_map_vars + (hist_has_execname(hd) ? HIST_COMM_VARS : 0);
	out->nr_cpus = h->nr_cpus;
	out->nr_slots = h->nr_slots;
}

static int make_map(struct hist_data *hd)
{
	/* The memory is zeroed: an empty map. */
	hd->map_ref = session_data_alloc(hd->event->model->session, hd->map_size);
	return hd->map_ref ? 0 : -ENOMEM;
}

static struct hist_cell *cell_of(const struct hist_data *hd)
{
	return session_config(hd->event->model->session, hd->cell, sizeof(struct hist_cell));
}

struct map_view hist_map_view(const struct hist_data *hd)
{
	return (struct map_view){ .layout = &cell_of(hd)->layout,
				  .data = session_data(hd->event->model->session, hd->map_ref,
						       hd->map_size) };
}

static void point_cell(const struct hist_data *hd)
{
	/*
	 * Release: pairs with the acquire in ref_find() and, in the next server, with that in
	 * restore_map().
	 */
	atomic_store_explicit(&cell_of(hd)->map, hd->map_ref, memory_order_release);
}

static int make_cell(struct hist_data *hd)
{
	hd->cell = session_config_alloc(hd->event->model->session, sizeof(struct hist_cell));
	if (!hd->cell)
		return -ENOMEM;
	map_lay_out(&cell_of(hd)->layout, &hd->shape);
	point_cell(hd);
	return 0;
}

/* Running programs continue with the last server's layout. */
static bool layout_is_ours(const struct hist_data *hd, const struct hist_cell *c)
{
	struct map_layout ours = { 0 };

	map_lay_out(&ours, &hd->shape);
	return !memcmp(&ours, &c->layout, sizeof(ours));
}

static int restore_map(struct hist_data *hd, config_ref cell)
{
	struct session *s = hd->event->model->session;
	struct hist_cell *c = session_config(s, cell, sizeof(*c));
	data_ref map;
	int err = c ? session_config_restore(s, cell, sizeof(*c)) : -EPROTO;

	if (err || !layout_is_ours(hd, c))
		return err ? err : -EPROTO;
	/* Acquire: pairs with the release in point_cell(). */
	map = atomic_load_explicit(&c->map, memory_order_acquire);
	if (!session_data(s, map, hd->map_size))
		return -EPROTO;
	err = session_data_restore(s, map, hd->map_size);
	if (err)
		return err;
	hd->cell = cell;
	hd->map_ref = map;
	return 0;
}

int hist_map_create(struct hist_data *hd, config_ref restored_cell)
{
	int err;

	shape_of(hd, &hd->shape);
	hd->map_size = map_size(&hd->shape);
	err = restored_cell ? restore_map(hd, restored_cell) : make_map(hd);
	if (!err && !restored_cell)
		err = make_cell(hd);
	return err ? err : hist_compile(hd);
}

int hist_map_renew(struct hist_data *hd)
{
	struct session *s = hd->event->model->session;
	data_ref old_map = hd->map_ref;
	config_ref old_code = hd->code;
	int err = make_map(hd);

	if (!err)
		err = hist_compile(hd);
	if (err) {
		if (hd->map_ref && hd->map_ref != old_map)
			session_data_free(s, hd->map_ref, hd->map_size);
		hd->map_ref = old_map;
		hd->code = old_code;
		return err;
	}
	point_cell(hd);
	session_config_retire(s, old_code, hd->code_size);
	session_data_retire(s, old_map, hd->map_size);
	return 0;
}

void hist_map_retire(struct hist_data *hd)
{
	struct session *s = hd->event->model->session;

	if (hd->code)
		session_config_retire(s, hd->code, hd->code_size);
	if (hd->map_ref)
		session_data_retire(s, hd->map_ref, hd->map_size);
	if (hd->cell)
		session_config_retire(s, hd->cell, sizeof(struct hist_cell));
}
