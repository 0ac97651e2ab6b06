// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device.h"
#include "real_device.h"
#include "text.h"
#include "vhca.h"

#define VHCA_PATH_MAX	192

/* Which records the last line of a file counts, and under which name. */
static const struct vhca_format {
	const char *name;
	const char *record;
	const char *plural;
} vhca_formats[] = {
	{ "info", NULL, "sections" },
	{ "ledger", "object", "objects" },
	{ "commands", "command", "opcodes" },
	{ "modelled", "command", "commands" },
	{ "history", "entry", "entries" },
	{ "violations", "violation", "violations" },
	{ "faults", "rule", "rules" },
	{ "page_faults", "fault", "faults" },
	{ "health", NULL, "sections" },
};

static const struct vhca_format *vhca_format(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(vhca_formats) / sizeof(*vhca_formats); i++)
		if (!strcmp(vhca_formats[i].name, name))
			return &vhca_formats[i];
	return NULL;
}

/* Is the first word of the record this one? */
static bool vhca_is(const char *record, const char *word)
{
	size_t len = strlen(word);

	return !strncmp(record, word, len) && (record[len] == ' ' || !record[len]);
}

bool vhca_key(const char *record, const char *key, char *value, size_t size)
{
	size_t len = strlen(key);
	const char *p = record;

	while ((p = strchr(p, ' '))) {
		p++;
		if (!strncmp(p, key, len) && p[len] == '=') {
			p += len + 1;
			snprintf(value, size, "%.*s", (int)strcspn(p, " "), p);
			return true;
		}
	}
	return false;
}

uint64_t vhca_number(const char *record, const char *key)
{
	char value[64];

	return vhca_key(record, key, value, sizeof(value)) ? strtoull(value, NULL, 0) : 0;
}

/* Cut the text into lines and check the first and the last of them. */
static const char *vhca_parse(const struct device *dev, const struct vhca_format *format,
			      struct vhca_file *file)
{
	unsigned int records = 0, lines = 0;
	char *p, *next, *end, value[64];

	for (p = file->text; (p = strchr(p, '\n')); p++)
		lines++;
	if (lines < 2)
		return "fewer than two lines";
	file->record = calloc(lines, sizeof(*file->record));
	if (!file->record)
		return "no memory";
	file->header = file->text;
	end = NULL;
	for (p = file->text; *p; p = next) {
		next = strchr(p, '\n');
		if (!next)
			return "the last line breaks off";
		*next++ = 0;
		if (end)
			return "text behind the line \"end\"";
		if (p == file->header)
			continue;
		if (vhca_is(p, "end")) {
			end = p;
			continue;
		}
		if (!format->record || vhca_is(p, format->record))
			records++;
		file->record[file->count++] = p;
	}
	if (!end)
		return "no line \"end\"";
	if (!vhca_is(file->header, format->name) || vhca_number(file->header, "v") != 1)
		return "not a file of format version 1";
	if (!vhca_key(file->header, "device", value, sizeof(value)) || strcmp(value, dev->pci))
		return "file of another device";
	if (!vhca_key(end, format->plural, value, sizeof(value)))
		return "the line \"end\" has no count";
	if (format->record && strtoul(value, NULL, 0) != records)
		return "the count in the line \"end\" is wrong";
	return NULL;
}

int vhca_open(const struct device *dev, const char *name, struct vhca_file *file)
{
	const struct vhca_format *format = vhca_format(name);
	char path[VHCA_PATH_MAX];
	const char *wrong;
	int err;

	memset(file, 0, sizeof(*file));
	if (!format)
		return EINVAL;
	if (!device_has_ledger(dev))
		real_device_needs_ledger(dev);
	snprintf(path, sizeof(path), "%s/%s", dev->vhca, name);
	file->text = text_read(path);
	if (!file->text) {
		err = errno;
		diag("%s: %s", path, strerror(err));
		return err;
	}
	wrong = vhca_parse(dev, format, file);
	if (wrong) {
		diag("%s: %s", path, wrong);
		vhca_close(file);
		return EPROTO;
	}
	return 0;
}

void vhca_close(struct vhca_file *file)
{
	free(file->record);
	free(file->text);
	memset(file, 0, sizeof(*file));
}

static void vhca_parse_region(const char *record, struct vhca_region *region)
{
	region->offset = vhca_number(record, "offset");
	region->stride = vhca_number(record, "stride");
	region->count = vhca_number(record, "count");
	region->size = (uint64_t)region->stride * region->count;
}

int vhca_read_info(const struct device *dev, struct vhca_info *info)
{
	struct vhca_file file;
	unsigned int i;
	int err;

	if (!device_has_ledger(dev))
		return real_device_info(dev, info);
	memset(info, 0, sizeof(*info));
	err = vhca_open(dev, "info", &file);
	if (err)
		return err;
	for (i = 0; i < file.count; i++) {
		const char *record = file.record[i];

		if (vhca_is(record, "bar")) {
			info->bar = vhca_number(record, "start");
		} else if (vhca_is(record, "var")) {
			vhca_parse_region(record, &info->var);
		} else if (vhca_is(record, "tlp_var")) {
			vhca_parse_region(record, &info->tlp_var);
		} else if (vhca_is(record, "memic")) {
			info->memic.offset = vhca_number(record, "offset");
			info->memic.size = vhca_number(record, "size");
			info->memic.stride = vhca_number(record, "page_size");
			info->memic_max_alloc = vhca_number(record, "max_alloc");
			info->memic_operations = vhca_number(record, "operations");
			if (info->memic.stride)
				info->memic.count = info->memic.size / info->memic.stride;
		}
	}
	vhca_close(&file);
	if (!info->var.count || !info->memic.count) {
		diag("%s/info: no VAR or no MEMIC section", dev->vhca);
		return EPROTO;
	}
	return 0;
}

int64_t vhca_seq(const struct device *dev)
{
	struct vhca_file file;
	int64_t seq;

	/* Of no use but for what is looked up with it. */
	if (!device_has_ledger(dev))
		return 0;
	if (vhca_open(dev, "ledger", &file))
		return -1;
	seq = vhca_number(file.header, "seq");
	vhca_close(&file);
	return seq;
}

static void vhca_parse_object(const char *record, struct vhca_object *object)
{
	char value[32];

	memset(object, 0, sizeof(*object));
	vhca_key(record, "kind", object->kind, sizeof(object->kind));
	vhca_key(record, "mode", object->mode, sizeof(object->mode));
	object->id = vhca_number(record, "id");
	object->size = vhca_number(record, "size");
	object->sw_icm_addr = vhca_number(record, "sw_icm_addr");
	object->memic = vhca_number(record, "memic");
	object->operation = vhca_number(record, "operation");
	object->pd = vhca_number(record, "pd");
	object->free = vhca_number(record, "free");
	object->start = vhca_number(record, "start");
	object->translations = -1;
	if (vhca_key(record, "translations", value, sizeof(value)))
		object->translations = strtoll(value, NULL, 0);
	object->leads_to = vhca_number(record, "leads_to");
	object->groups = vhca_number(record, "groups");
	object->born_seq = vhca_number(record, "born_seq");
}

/* Count the objects of a kind that @match says yes to; keep the last one. */
static int vhca_search(const struct device *dev, const char *kind,
		       bool (*match)(const struct vhca_object *object, uint64_t arg),
		       uint64_t arg, struct vhca_object *found)
{
	struct vhca_object object;
	struct vhca_file file;
	unsigned int i;
	int n = 0;

	if (vhca_open(dev, "ledger", &file))
		return -1;
	for (i = 0; i < file.count; i++) {
		if (!vhca_is(file.record[i], "object"))
			continue;
		vhca_parse_object(file.record[i], &object);
		if (strcmp(object.kind, kind) || !match(&object, arg))
			continue;
		if (found)
			*found = object;
		n++;
	}
	vhca_close(&file);
	return n;
}

static bool vhca_has_id(const struct vhca_object *object, uint64_t id)
{
	return object->id == id;
}

static bool vhca_is_younger(const struct vhca_object *object, uint64_t seq)
{
	return object->born_seq > seq;
}

int vhca_find(const struct device *dev, const char *kind, uint64_t id,
	      struct vhca_object *object)
{
	return vhca_search(dev, kind, vhca_has_id, id, object);
}

int vhca_find_new(const struct device *dev, const char *kind, uint64_t seq,
		  struct vhca_object *object)
{
	return vhca_search(dev, kind, vhca_is_younger, seq, object);
}

int vhca_since(const struct device *dev, uint64_t seq, struct vhca_history *history)
{
	struct vhca_command *command;
	struct vhca_file file;
	unsigned int i;
	int err;

	memset(history, 0, sizeof(*history));
	err = vhca_open(dev, "history", &file);
	if (err)
		return err;
	if (vhca_number(file.header, "first") > seq + 1) {
		diag("the device has forgotten the commands after %llu", (unsigned long long)seq);
		vhca_close(&file);
		return EOVERFLOW;
	}
	history->command = calloc(file.count + 1, sizeof(*history->command));
	if (!history->command) {
		vhca_close(&file);
		return ENOMEM;
	}
	for (i = 0; i < file.count; i++) {
		const char *record = file.record[i];

		if (vhca_number(record, "seq") <= seq)
			continue;
		command = &history->command[history->count++];
		command->seq = vhca_number(record, "seq");
		command->opcode = vhca_number(record, "opcode");
		command->op_mod = vhca_number(record, "op_mod");
		command->object = vhca_number(record, "object");
		command->status = vhca_number(record, "status");
		command->took_ns = vhca_number(record, "took_ns");
	}
	vhca_close(&file);
	return 0;
}

void vhca_forget(struct vhca_history *history)
{
	free(history->command);
	memset(history, 0, sizeof(*history));
}

static bool vhca_did(const struct vhca_command *command, unsigned int opcode, uint64_t object)
{
	return command->opcode == opcode && !command->status &&
	       (object == VHCA_ANY || command->object == object);
}

int vhca_count_since(const struct device *dev, uint64_t seq, unsigned int opcode,
		     uint64_t object)
{
	struct vhca_history history;
	unsigned int i;
	int n = 0;

	if (vhca_since(dev, seq, &history))
		return -1;
	for (i = 0; i < history.count; i++)
		if (vhca_did(&history.command[i], opcode, object))
			n++;
	vhca_forget(&history);
	return n;
}

int64_t vhca_last_since(const struct device *dev, uint64_t seq, unsigned int opcode,
			uint64_t object)
{
	struct vhca_history history;
	int64_t last = 0;
	unsigned int i;

	if (vhca_since(dev, seq, &history))
		return -1;
	for (i = 0; i < history.count; i++)
		if (vhca_did(&history.command[i], opcode, object))
			last = history.command[i].seq;
	vhca_forget(&history);
	return last;
}

int vhca_other_since(const struct device *dev, uint64_t seq)
{
	const struct vhca_command *command;
	struct vhca_history history;
	unsigned int i;
	int n = 0;

	/* Nobody else can tell. */
	if (!device_has_ledger(dev))
		return 0;
	if (vhca_since(dev, seq, &history))
		return -1;
	for (i = 0; i < history.count; i++) {
		command = &history.command[i];
		if (command->opcode == VHCA_CREATE_MKEY || command->opcode == VHCA_DESTROY_MKEY)
			continue;
		diag("command seq=%llu opcode=0x%x object=0x%llx status=0x%x",
		     (unsigned long long)command->seq, command->opcode,
		     (unsigned long long)command->object, command->status);
		n++;
	}
	vhca_forget(&history);
	return n;
}

int vhca_violations(const struct device *dev)
{
	struct vhca_file file;
	int n;

	if (!device_has_ledger(dev))
		return 0;
	if (vhca_open(dev, "violations", &file))
		return -1;
	/* The device keeps the first ones only, but counts them all. */
	n = vhca_number(file.header, "total");
	if (n < (int)file.count)
		n = file.count;
	vhca_close(&file);
	return n;
}

int vhca_violation_at(const struct device *dev, unsigned int index,
		      struct vhca_violation *violation)
{
	struct vhca_file file;
	const char *record;

	memset(violation, 0, sizeof(*violation));
	if (vhca_open(dev, "violations", &file))
		return -1;
	if (index >= file.count) {
		diag("violation %u of %llu was not kept: load mlx5_vhca again", index,
		     (unsigned long long)vhca_number(file.header, "total"));
		vhca_close(&file);
		return 0;
	}
	record = file.record[index];
	vhca_key(record, "what", violation->what, sizeof(violation->what));
	vhca_key(record, "kind", violation->kind, sizeof(violation->kind));
	violation->object = vhca_number(record, "object");
	violation->detail = vhca_number(record, "detail");
	violation->born = vhca_number(record, "born");
	violation->died = vhca_number(record, "died");
	vhca_close(&file);
	return 1;
}

void vhca_print_violations(const struct device *dev, unsigned int from)
{
	static const char *const when[] = { "born", "died", "seq" };
	struct vhca_file violations, history;
	unsigned int i, j;
	uint64_t seq;
	size_t k;

	if (!device_has_ledger(dev) || vhca_open(dev, "violations", &violations))
		return;
	if (vhca_open(dev, "history", &history)) {
		vhca_close(&violations);
		return;
	}
	for (i = from; i < violations.count; i++) {
		diag("%s", violations.record[i]);
		for (k = 0; k < sizeof(when) / sizeof(*when); k++) {
			seq = vhca_number(violations.record[i], when[k]);
			for (j = 0; seq && j < history.count; j++)
				if (vhca_number(history.record[j], "seq") == seq)
					diag("  %s: %s", when[k], history.record[j]);
		}
	}
	vhca_close(&history);
	vhca_close(&violations);
}

int vhca_last_violation(const struct device *dev, struct vhca_violation *violation)
{
	int n = vhca_violations(dev);

	return n > 0 && vhca_violation_at(dev, n - 1, violation) == 1 ? n : -1;
}

int vhca_write(const struct device *dev, const char *name, const char *text)
{
	char path[VHCA_PATH_MAX];

	if (!device_has_ledger(dev)) {
		/* What every test's end takes back was never asked for. */
		if (strncmp(text, "clear", 5) && strncmp(text, "tell", 4))
			real_device_needs_ledger(dev);
		return 0;
	}
	snprintf(path, sizeof(path), "%s/%s", dev->vhca, name);
	return text_write(path, text, 0);
}

int vhca_memory(const struct device *dev, const char *name, uint64_t offset,
		void *buf, size_t len)
{
	char path[VHCA_PATH_MAX];
	ssize_t n;
	int fd;

	if (!device_has_ledger(dev))
		real_device_needs_ledger(dev);
	snprintf(path, sizeof(path), "%s/%s", dev->vhca, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno;
	while (len) {
		n = pread(fd, buf, len, offset);
		if (n <= 0) {
			int err = n ? errno : EPROTO;

			diag("%s: pread at %llu: %s", path, (unsigned long long)offset,
			     strerror(err));
			close(fd);
			return err;
		}
		buf = (char *)buf + n;
		offset += n;
		len -= n;
	}
	close(fd);
	return 0;
}
