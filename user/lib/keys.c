// SPDX-License-Identifier: GPL-2.0
/*
 * The words of the text formats: sections, records, keys.  A new key or record
 * is one row here and one enumerator in the header.
 */
#include <string.h>

#include "internal.h"

/* Largest pid that a 64-bit kernel gives out, PID_MAX_LIMIT. */
#define MAX_PID		4194304
#define MAX_INT		INT32_MAX
#define MAX_U32		UINT32_MAX
#define MAX_U64		UINT64_MAX

#define STRING(n)	{ n, UOBJSCOPE_FORM_STRING, false, 0 }
#define STRING_DASH(n)	{ n, UOBJSCOPE_FORM_STRING, true, 0 }
#define NUMBER(n, m)	{ n, UOBJSCOPE_FORM_NUMBER, false, m }
#define HEX(n, m)	{ n, UOBJSCOPE_FORM_HEX, false, m }
#define SIGNED(n, m)	{ n, UOBJSCOPE_FORM_SIGNED, false, m }
#define BOOL(n)		{ n, UOBJSCOPE_FORM_BOOL, false, 1 }
#define TOKEN(n)	{ n, UOBJSCOPE_FORM_TOKEN, true, MAX_U64 }

const struct key_info uobjscope_key_info[UOBJSCOPE_KEYS] = {
	[UOBJSCOPE_KEY_V]		= NUMBER("v", MAX_U32),
	[UOBJSCOPE_KEY_KERNEL]		= STRING("kernel"),
	[UOBJSCOPE_KEY_VERSION]		= STRING("version"),
	[UOBJSCOPE_KEY_TIME_NS]		= NUMBER("time_ns", MAX_U64),
	[UOBJSCOPE_KEY_SEQ]		= NUMBER("seq", MAX_U64),
	[UOBJSCOPE_KEY_DEREF]		= STRING("deref"),
	[UOBJSCOPE_KEY_REGISTRY]	= STRING("registry"),
	[UOBJSCOPE_KEY_NAME]		= STRING("name"),
	[UOBJSCOPE_KEY_STRUCT]		= STRING("struct"),
	[UOBJSCOPE_KEY_SYMBOL]		= STRING("symbol"),
	[UOBJSCOPE_KEY_ID]		= NUMBER("id", MAX_U64),
	[UOBJSCOPE_KEY_UFILE]		= NUMBER("ufile", MAX_U64),
	[UOBJSCOPE_KEY_PID]		= NUMBER("pid", MAX_PID),
	[UOBJSCOPE_KEY_COMM]		= STRING("comm"),
	[UOBJSCOPE_KEY_FD]		= NUMBER("fd", MAX_INT),
	[UOBJSCOPE_KEY_KIND]		= STRING("kind"),
	[UOBJSCOPE_KEY_TYPE]		= STRING("type"),
	[UOBJSCOPE_KEY_TYPE_ID]		= HEX("type_id", MAX_U32),
	[UOBJSCOPE_KEY_CLASS]		= STRING("class"),
	[UOBJSCOPE_KEY_HANDLE]		= NUMBER("handle", MAX_U32),
	[UOBJSCOPE_KEY_PGOFF]		= HEX("pgoff", MAX_U64),
	[UOBJSCOPE_KEY_START]		= HEX("start", MAX_U64),
	[UOBJSCOPE_KEY_END]		= HEX("end", MAX_U64),
	[UOBJSCOPE_KEY_INO]		= NUMBER("ino", MAX_U64),
	[UOBJSCOPE_KEY_DEVICE]		= STRING_DASH("device"),
	[UOBJSCOPE_KEY_UVERBS]		= STRING_DASH("uverbs"),
	[UOBJSCOPE_KEY_DRIVER]		= STRING_DASH("driver"),
	[UOBJSCOPE_KEY_PCI]		= STRING_DASH("pci"),
	[UOBJSCOPE_KEY_PARENT]		= STRING("parent"),
	[UOBJSCOPE_KEY_STATE]		= STRING("state"),
	[UOBJSCOPE_KEY_LISTED]		= BOOL("listed"),
	[UOBJSCOPE_KEY_REF]		= SIGNED("ref", MAX_INT),
	[UOBJSCOPE_KEY_USECNT]		= SIGNED("usecnt", MAX_INT),
	[UOBJSCOPE_KEY_FILE_OPEN]	= BOOL("file_open"),
	[UOBJSCOPE_KEY_UOBJECTS]	= NUMBER("uobjects", MAX_U64),
	[UOBJSCOPE_KEY_RESERVED]	= NUMBER("reserved", MAX_U64),
	[UOBJSCOPE_KEY_UMAPS]		= NUMBER("umaps", MAX_U64),
	[UOBJSCOPE_KEY_CTXN]		= NUMBER("ctxn", MAX_U32),
	[UOBJSCOPE_KEY_CHANGED]		= BOOL("changed"),
	[UOBJSCOPE_KEY_UFILES]		= NUMBER("ufiles", MAX_U64),
	[UOBJSCOPE_KEY_VAR_USED]	= NUMBER("var_used", MAX_U64),
	[UOBJSCOPE_KEY_VAR_ENTRIES]	= NUMBER("var_entries", MAX_U64),
	[UOBJSCOPE_KEY_TLP_VAR_USED]	= NUMBER("tlp_var_used", MAX_U64),
	[UOBJSCOPE_KEY_TLP_VAR_ENTRIES]	= NUMBER("tlp_var_entries", MAX_U64),
	[UOBJSCOPE_KEY_MEMIC_PAGES_USED] = NUMBER("memic_pages_used", MAX_U64),
	[UOBJSCOPE_KEY_MEMIC_PAGES]	= NUMBER("memic_pages", MAX_U64),
	[UOBJSCOPE_KEY_NPAGES]		= NUMBER("npages", MAX_U64),
	[UOBJSCOPE_KEY_DRIVER_REMOVED]	= BOOL("driver_removed"),
	[UOBJSCOPE_KEY_VMAS]		= NUMBER("vmas", MAX_U64),
	[UOBJSCOPE_KEY_DMABUFS]		= NUMBER("dmabufs", MAX_U64),
	[UOBJSCOPE_KEY_PDN]		= NUMBER("pdn", MAX_U32),
	[UOBJSCOPE_KEY_CQN]		= NUMBER("cqn", MAX_U32),
	[UOBJSCOPE_KEY_CQE]		= NUMBER("cqe", MAX_U32),
	[UOBJSCOPE_KEY_LQPN]		= NUMBER("lqpn", MAX_U32),
	[UOBJSCOPE_KEY_SRQN]		= NUMBER("srqn", MAX_U32),
	[UOBJSCOPE_KEY_MRN]		= NUMBER("mrn", MAX_U32),
	[UOBJSCOPE_KEY_LKEY]		= HEX("lkey", MAX_U32),
	[UOBJSCOPE_KEY_RKEY]		= HEX("rkey", MAX_U32),
	[UOBJSCOPE_KEY_MRLEN]		= NUMBER("mrlen", MAX_U64),
	[UOBJSCOPE_KEY_USERS]		= SIGNED("users", MAX_INT),
	[UOBJSCOPE_KEY_DMABUF_INO]	= NUMBER("dmabuf_ino", MAX_U64),
	[UOBJSCOPE_KEY_PAGE_ID]		= NUMBER("page_id", MAX_U32),
	[UOBJSCOPE_KEY_VAR_BIT]		= BOOL("var_bit"),
	[UOBJSCOPE_KEY_DM_TYPE]		= STRING("dm_type"),
	[UOBJSCOPE_KEY_LENGTH]		= NUMBER("length", MAX_U64),
	[UOBJSCOPE_KEY_DM_SIZE]		= NUMBER("dm_size", MAX_U64),
	[UOBJSCOPE_KEY_ADDR]		= HEX("addr", MAX_U64),
	[UOBJSCOPE_KEY_DEV_ADDR]	= HEX("dev_addr", MAX_U64),
	[UOBJSCOPE_KEY_DM_REF]		= SIGNED("dm_ref", MAX_INT),
	[UOBJSCOPE_KEY_DM_USERS]	= SIGNED("dm_users", MAX_INT),
	[UOBJSCOPE_KEY_OPS]		= NUMBER("ops", MAX_U32),
	[UOBJSCOPE_KEY_OP]		= NUMBER("op", MAX_U32),
	[UOBJSCOPE_KEY_OBJ_ID]		= NUMBER("obj_id", MAX_U32),
	[UOBJSCOPE_KEY_FILE_REF]	= NUMBER("file_ref", MAX_U64),
	[UOBJSCOPE_KEY_SIZE]		= NUMBER("size", MAX_U64),
	[UOBJSCOPE_KEY_KREF]		= SIGNED("kref", MAX_INT),
	[UOBJSCOPE_KEY_REVOKED]		= BOOL("revoked"),
	[UOBJSCOPE_KEY_EXPORTER]	= STRING("exporter"),
	[UOBJSCOPE_KEY_PEER2PEER]	= BOOL("peer2peer"),
	[UOBJSCOPE_KEY_INVALIDATE]	= BOOL("invalidate"),
	[UOBJSCOPE_KEY_IMPORTER]	= STRING("importer"),
	[UOBJSCOPE_KEY_UMEM]		= BOOL("umem"),
	[UOBJSCOPE_KEY_IBDEV]		= STRING_DASH("ibdev"),
	[UOBJSCOPE_KEY_MAPPED]		= BOOL("mapped"),
	[UOBJSCOPE_KEY_PINNED]		= BOOL("pinned"),
	[UOBJSCOPE_KEY_OFFSET]		= HEX("offset", MAX_U64),
	[UOBJSCOPE_KEY_TOKEN]		= TOKEN("token"),
	[UOBJSCOPE_KEY_OBJECT]		= TOKEN("object"),
	[UOBJSCOPE_KEY_ENTRY]		= TOKEN("entry"),
	[UOBJSCOPE_KEY_DM]		= TOKEN("dm"),
	[UOBJSCOPE_KEY_FILE]		= TOKEN("file"),
	/* of devices in the header of a snapshot; of one device, in the text info, 0 or 1 */
	[UOBJSCOPE_KEY_REFUSED]		= NUMBER("refused", MAX_U32),
	[UOBJSCOPE_KEY_REASON]		= STRING("reason"),
	[UOBJSCOPE_KEY_ON]		= BOOL("on"),
	[UOBJSCOPE_KEY_MISSED]		= NUMBER("missed", MAX_U64),
	[UOBJSCOPE_KEY_ERROR]		= SIGNED("error", MAX_INT),
	[UOBJSCOPE_KEY_MAX_HELD_NS]	= NUMBER("max_held_ns", MAX_U64),
	[UOBJSCOPE_KEY_DROPPED]		= NUMBER("dropped", MAX_U64),
};

const struct section_info uobjscope_section_info[4] = {
	{ "uobjscope", UOBJSCOPE_SNAPSHOT },
	{ "fds", UOBJSCOPE_FDS },
	{ "layout", UOBJSCOPE_LAYOUT },
	{ "info", UOBJSCOPE_INFO },
};

#define KEY(k) UOBJSCOPE_KEY_##k
#define NEEDED(...) { __VA_ARGS__, UOBJSCOPE_KEYS }

static const struct record_info records[] = {
	{ "device", UOBJSCOPE_SNAPSHOT, UOBJSCOPE_DEVICE, NEEDED(KEY(NAME)) },
	{ "ufile", UOBJSCOPE_SNAPSHOT, UOBJSCOPE_UFILE, NEEDED(KEY(ID), KEY(STATE)) },
	{ "uobj", UOBJSCOPE_SNAPSHOT, UOBJSCOPE_UOBJ,
	  NEEDED(KEY(UFILE), KEY(TYPE), KEY(CLASS)) },
	{ "mmap", UOBJSCOPE_SNAPSHOT, UOBJSCOPE_MMAP,
	  NEEDED(KEY(UFILE), KEY(PGOFF), KEY(KIND)) },
	{ "vma", UOBJSCOPE_SNAPSHOT, UOBJSCOPE_VMA,
	  NEEDED(KEY(UFILE), KEY(START), KEY(END)) },
	{ "attach", UOBJSCOPE_SNAPSHOT, UOBJSCOPE_ATTACH, NEEDED(KEY(UFILE), KEY(INO)) },
	{ "fd", UOBJSCOPE_FDS, UOBJSCOPE_FD, NEEDED(KEY(PID), KEY(FD), KEY(KIND)) },
	{ "struct", UOBJSCOPE_LAYOUT, UOBJSCOPE_STRUCT, NEEDED(KEY(NAME)) },
	{ "member", UOBJSCOPE_LAYOUT, UOBJSCOPE_MEMBER, NEEDED(KEY(STRUCT), KEY(NAME)) },
	{ "probe", UOBJSCOPE_INFO, UOBJSCOPE_PROBE, NEEDED(KEY(SYMBOL)) },
	{ "registry", UOBJSCOPE_INFO, UOBJSCOPE_REGISTRY, NEEDED(KEY(KIND)) },
	{ "device", UOBJSCOPE_INFO, UOBJSCOPE_DEVICE, NEEDED(KEY(NAME)) },
	{ "lock", UOBJSCOPE_INFO, UOBJSCOPE_LOCK, NEEDED(KEY(NAME)) },
};

const struct record_info *uobjscope_record_info(enum uobjscope_section section,
						const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(records); i++)
		if (records[i].section == section && !strcmp(records[i].name, name))
			return &records[i];
	return NULL;
}

enum uobjscope_key uobjscope_key_by_name(const char *name)
{
	for (int key = 0; key < UOBJSCOPE_KEYS; key++)
		if (uobjscope_key_info[key].name[0] == name[0] &&
		    !strcmp(uobjscope_key_info[key].name, name))
			return key;
	return UOBJSCOPE_KEY_OTHER;
}

const char *uobjscope_key_name(enum uobjscope_key key)
{
	return key < UOBJSCOPE_KEYS ? uobjscope_key_info[key].name : NULL;
}
