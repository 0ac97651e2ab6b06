/* SPDX-License-Identifier: GPL-2.0 */
/*
 * libuobjscope: read what uobjscope.ko shows of RDMA user objects.
 *
 * uobjscope.ko prints every count that decides the lifetime of a uobject, an
 * mmap entry, a VAR, a MEMIC or a dma-buf as text, one record a line.  This
 * library is the only parser of that text.  It takes a text whole or not at
 * all: a truncated, foreign or altered one is an error that names the line, and
 * never a shorter snapshot.
 *
 * A snapshot does not change after it was loaded.  Several threads may look
 * things up in one snapshot at the same time.  All pointers to records and
 * strings belong to the snapshot and are valid until uobjscope_free().
 *
 * A key that is absent means "not known", never 0; that is why every getter
 * says whether the key is there.
 */
#ifndef UOBJSCOPE_H
#define UOBJSCOPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/** UOBJSCOPE_FORMAT_VERSION - the version of the text formats that is read */
#define UOBJSCOPE_FORMAT_VERSION	1
/** UOBJSCOPE_LINE_MAX - longest line of a text, in bytes, without its newline */
#define UOBJSCOPE_LINE_MAX		1024
/** UOBJSCOPE_RETRIES - how often a snapshot is read again by default */
#define UOBJSCOPE_RETRIES		3
/** UOBJSCOPE_DIR - where uobjscope.ko has its files */
#define UOBJSCOPE_DIR			"/sys/kernel/debug/uobjscope"

struct uobjscope;
struct uobjscope_record;

/**
 * enum uobjscope_status - why a call failed
 * @UOBJSCOPE_OK:		it did not
 * @UOBJSCOPE_ERR_NOMEM:	no memory, here or in the kernel
 * @UOBJSCOPE_ERR_IO:		a file could not be opened, read or written
 * @UOBJSCOPE_ERR_ACCESS:	the caller may not read the file (not root, lockdown)
 * @UOBJSCOPE_ERR_NO_DEBUGFS:	debugfs is not mounted
 * @UOBJSCOPE_ERR_NO_MODULE:	uobjscope.ko is not loaded
 * @UOBJSCOPE_ERR_NO_DEVICE:	there is no such RDMA device
 * @UOBJSCOPE_ERR_FOREIGN:	the text is something else
 * @UOBJSCOPE_ERR_VERSION:	the text is of another version of the format
 * @UOBJSCOPE_ERR_TRUNCATED:	the text is not whole
 * @UOBJSCOPE_ERR_SYNTAX:	a line is not as the format wants it
 * @UOBJSCOPE_ERR_ARGUMENT:	the caller's argument makes no sense
 */
enum uobjscope_status {
	UOBJSCOPE_OK,
	UOBJSCOPE_ERR_NOMEM,
	UOBJSCOPE_ERR_IO,
	UOBJSCOPE_ERR_ACCESS,
	UOBJSCOPE_ERR_NO_DEBUGFS,
	UOBJSCOPE_ERR_NO_MODULE,
	UOBJSCOPE_ERR_NO_DEVICE,
	UOBJSCOPE_ERR_FOREIGN,
	UOBJSCOPE_ERR_VERSION,
	UOBJSCOPE_ERR_TRUNCATED,
	UOBJSCOPE_ERR_SYNTAX,
	UOBJSCOPE_ERR_ARGUMENT,
};

/**
 * struct uobjscope_error - what went wrong, for a program and for a person
 * @status:	for a program
 * @line:	line of the text, counted from 1, or 0 where no line is to blame
 * @message:	one line without a newline that names the file and what was expected
 *
 * Every function that takes one accepts NULL.  It is only written on failure.
 */
struct uobjscope_error {
	enum uobjscope_status status;
	unsigned long line;
	char message[512];
};

/**
 * enum uobjscope_section - the texts of uobjscope.ko, as bits
 * @UOBJSCOPE_SNAPSHOT:	file `snapshot`, header `uobjscope`
 * @UOBJSCOPE_FDS:	file `fds`
 * @UOBJSCOPE_LAYOUT:	file `layout`
 * @UOBJSCOPE_INFO:	file `info`
 *
 * One file may hold several texts, one after the other; a saved snapshot is
 * `fds` followed by `uobjscope`, so that every part of it that could be left
 * when it is cut short is refused.
 */
enum uobjscope_section {
	UOBJSCOPE_SNAPSHOT	= 1 << 0,
	UOBJSCOPE_FDS		= 1 << 1,
	UOBJSCOPE_LAYOUT	= 1 << 2,
	UOBJSCOPE_INFO		= 1 << 3,
};

/**
 * enum uobjscope_type - type of a record
 * @UOBJSCOPE_DEVICE:	an ib_device (sections uobjscope and info)
 * @UOBJSCOPE_UFILE:	an open (or closed, but still held) uverbs file
 * @UOBJSCOPE_UOBJ:	a uobject
 * @UOBJSCOPE_MMAP:	an rdma_user_mmap_entry
 * @UOBJSCOPE_VMA:	a mapping of an entry in a process
 * @UOBJSCOPE_ATTACH:	a dma_buf_attachment of an exported dma-buf
 * @UOBJSCOPE_FD:	a file descriptor of a process (section fds)
 * @UOBJSCOPE_STRUCT:	a kernel structure (section layout)
 * @UOBJSCOPE_MEMBER:	a member of one (section layout)
 * @UOBJSCOPE_PROBE:	a probed kernel function (section info)
 * @UOBJSCOPE_REGISTRY:	the registry of ufiles (section info)
 * @UOBJSCOPE_LOCK:	a lock and how long it was held (section info)
 * @UOBJSCOPE_OTHER:	a record that this version does not know; kept, not used
 * @UOBJSCOPE_TYPES:	number of types
 */
enum uobjscope_type {
	UOBJSCOPE_DEVICE,
	UOBJSCOPE_UFILE,
	UOBJSCOPE_UOBJ,
	UOBJSCOPE_MMAP,
	UOBJSCOPE_VMA,
	UOBJSCOPE_ATTACH,
	UOBJSCOPE_FD,
	UOBJSCOPE_STRUCT,
	UOBJSCOPE_MEMBER,
	UOBJSCOPE_PROBE,
	UOBJSCOPE_REGISTRY,
	UOBJSCOPE_LOCK,
	UOBJSCOPE_OTHER,
	UOBJSCOPE_TYPES
};

/*
 * enum uobjscope_key - the keys of all records
 *
 * UOBJSCOPE_KEY_X is the key `x` of the text.  What each means stands with the
 * description of the format.  The order here is the order in which keys are
 * written; an unknown key is kept as UOBJSCOPE_KEY_OTHER.
 */
enum uobjscope_key {
	/* headers */
	UOBJSCOPE_KEY_V,
	UOBJSCOPE_KEY_KERNEL,
	UOBJSCOPE_KEY_VERSION,
	UOBJSCOPE_KEY_TIME_NS,
	UOBJSCOPE_KEY_SEQ,
	UOBJSCOPE_KEY_DEREF,
	UOBJSCOPE_KEY_REGISTRY,
	/* what identifies a record */
	UOBJSCOPE_KEY_NAME,
	UOBJSCOPE_KEY_STRUCT,
	UOBJSCOPE_KEY_SYMBOL,
	UOBJSCOPE_KEY_ID,
	UOBJSCOPE_KEY_UFILE,
	UOBJSCOPE_KEY_PID,
	UOBJSCOPE_KEY_COMM,
	UOBJSCOPE_KEY_FD,
	UOBJSCOPE_KEY_KIND,
	UOBJSCOPE_KEY_TYPE,
	UOBJSCOPE_KEY_TYPE_ID,
	UOBJSCOPE_KEY_CLASS,
	UOBJSCOPE_KEY_HANDLE,
	UOBJSCOPE_KEY_PGOFF,
	UOBJSCOPE_KEY_START,
	UOBJSCOPE_KEY_END,
	UOBJSCOPE_KEY_INO,
	UOBJSCOPE_KEY_DEVICE,
	UOBJSCOPE_KEY_UVERBS,
	UOBJSCOPE_KEY_DRIVER,
	UOBJSCOPE_KEY_PCI,
	UOBJSCOPE_KEY_PARENT,
	/* state and counts */
	UOBJSCOPE_KEY_STATE,
	UOBJSCOPE_KEY_LISTED,
	UOBJSCOPE_KEY_REF,
	UOBJSCOPE_KEY_USECNT,
	UOBJSCOPE_KEY_FILE_OPEN,
	UOBJSCOPE_KEY_UOBJECTS,
	UOBJSCOPE_KEY_RESERVED,
	UOBJSCOPE_KEY_UMAPS,
	UOBJSCOPE_KEY_CTXN,
	UOBJSCOPE_KEY_CHANGED,
	UOBJSCOPE_KEY_UFILES,
	UOBJSCOPE_KEY_VAR_USED,
	UOBJSCOPE_KEY_VAR_ENTRIES,
	UOBJSCOPE_KEY_TLP_VAR_USED,
	UOBJSCOPE_KEY_TLP_VAR_ENTRIES,
	UOBJSCOPE_KEY_MEMIC_PAGES_USED,
	UOBJSCOPE_KEY_MEMIC_PAGES,
	UOBJSCOPE_KEY_NPAGES,
	UOBJSCOPE_KEY_DRIVER_REMOVED,
	UOBJSCOPE_KEY_VMAS,
	UOBJSCOPE_KEY_DMABUFS,
	/* the driver's objects, as rdma(8) names them where it does */
	UOBJSCOPE_KEY_PDN,
	UOBJSCOPE_KEY_CQN,
	UOBJSCOPE_KEY_CQE,
	UOBJSCOPE_KEY_LQPN,
	UOBJSCOPE_KEY_SRQN,
	UOBJSCOPE_KEY_MRN,
	UOBJSCOPE_KEY_LKEY,
	UOBJSCOPE_KEY_RKEY,
	UOBJSCOPE_KEY_MRLEN,
	UOBJSCOPE_KEY_USERS,
	UOBJSCOPE_KEY_DMABUF_INO,
	UOBJSCOPE_KEY_PAGE_ID,
	UOBJSCOPE_KEY_VAR_BIT,
	UOBJSCOPE_KEY_DM_TYPE,
	UOBJSCOPE_KEY_LENGTH,
	UOBJSCOPE_KEY_DM_SIZE,
	UOBJSCOPE_KEY_ADDR,
	UOBJSCOPE_KEY_DEV_ADDR,
	UOBJSCOPE_KEY_DM_REF,
	UOBJSCOPE_KEY_DM_USERS,
	UOBJSCOPE_KEY_OPS,
	UOBJSCOPE_KEY_OP,
	UOBJSCOPE_KEY_OBJ_ID,
	/* dma-bufs, attachments, files */
	UOBJSCOPE_KEY_FILE_REF,
	UOBJSCOPE_KEY_SIZE,
	UOBJSCOPE_KEY_KREF,
	UOBJSCOPE_KEY_REVOKED,
	UOBJSCOPE_KEY_EXPORTER,
	UOBJSCOPE_KEY_PEER2PEER,
	UOBJSCOPE_KEY_INVALIDATE,
	UOBJSCOPE_KEY_IMPORTER,
	UOBJSCOPE_KEY_UMEM,
	UOBJSCOPE_KEY_IBDEV,
	UOBJSCOPE_KEY_MAPPED,
	UOBJSCOPE_KEY_PINNED,
	UOBJSCOPE_KEY_OFFSET,
	/* tokens: they correlate within one snapshot and identify nothing */
	UOBJSCOPE_KEY_TOKEN,
	UOBJSCOPE_KEY_OBJECT,
	UOBJSCOPE_KEY_ENTRY,
	UOBJSCOPE_KEY_DM,
	UOBJSCOPE_KEY_FILE,
	/* about the module itself */
	UOBJSCOPE_KEY_REFUSED,
	UOBJSCOPE_KEY_REASON,
	UOBJSCOPE_KEY_ON,
	UOBJSCOPE_KEY_MISSED,
	UOBJSCOPE_KEY_ERROR,
	UOBJSCOPE_KEY_MAX_HELD_NS,
	UOBJSCOPE_KEY_DROPPED,
	UOBJSCOPE_KEYS,
	UOBJSCOPE_KEY_OTHER = UOBJSCOPE_KEYS
};

/**
 * enum uobjscope_form - what the value of a key is
 * @UOBJSCOPE_FORM_STRING:	text; also the form of every unknown key
 * @UOBJSCOPE_FORM_NUMBER:	a number that is usually read as decimal
 * @UOBJSCOPE_FORM_HEX:		a number that is usually read as hexadecimal
 * @UOBJSCOPE_FORM_SIGNED:	a number that may be negative
 * @UOBJSCOPE_FORM_BOOL:	0 or 1
 * @UOBJSCOPE_FORM_TOKEN:	16 hexadecimal digits
 */
enum uobjscope_form {
	UOBJSCOPE_FORM_STRING,
	UOBJSCOPE_FORM_NUMBER,
	UOBJSCOPE_FORM_HEX,
	UOBJSCOPE_FORM_SIGNED,
	UOBJSCOPE_FORM_BOOL,
	UOBJSCOPE_FORM_TOKEN,
};

/**
 * struct uobjscope_field - one `key=value`
 * @key:	the key, UOBJSCOPE_KEY_OTHER for an unknown one
 * @form:	what @value is
 * @none:	the value is `-`: there is none, as opposed to not known
 * @name:	the key's name
 * @text:	the value without its escapes
 * @value:	the number or token; a negative one in two's complement; else 0
 */
struct uobjscope_field {
	enum uobjscope_key key;
	enum uobjscope_form form;
	bool none;
	const char *name;
	const char *text;
	uint64_t value;
};

/* ---- load ---- */

/**
 * uobjscope_parse() - make a snapshot from text
 * @text:	the text; need not end in a NUL, is copied
 * @length:	its length in bytes
 * @name:	what to call it in messages, usually the file's name
 * @want:	the sections (&enum uobjscope_section bits) that must be there
 * @error:	filled on failure
 *
 * Return: the snapshot, to be given to uobjscope_free(), or NULL.
 */
struct uobjscope *uobjscope_parse(const char *text, size_t length, const char *name,
				  unsigned int want, struct uobjscope_error *error);

/**
 * uobjscope_load_file() - read a snapshot from a file
 * @path:	the file, "-" for standard input
 * @want:	as for uobjscope_parse()
 * @error:	filled on failure
 *
 * Return: the snapshot or NULL.
 */
struct uobjscope *uobjscope_load_file(const char *path, unsigned int want,
				      struct uobjscope_error *error);

/**
 * uobjscope_load_fd() - read a snapshot from a file descriptor up to its end
 * @fd:		the descriptor; stays open
 * @name:	what to call it in messages
 * @want:	as for uobjscope_parse()
 * @error:	filled on failure
 *
 * Reading stops early where the first line already shows a foreign text, so
 * that an endless device is refused at once.
 *
 * Return: the snapshot or NULL.
 */
struct uobjscope *uobjscope_load_fd(int fd, const char *name, unsigned int want,
				    struct uobjscope_error *error);

/**
 * struct uobjscope_kernel - how to read the running kernel; all zero is fine
 * @dir:	folder of uobjscope.ko, NULL for %UOBJSCOPE_DIR
 * @device:	only this RDMA device (mlx5_0) or uverbs device (uverbs0), NULL for all
 * @no_fds:	do not read `fds`; nobody's file descriptors will be known then
 * @no_retry:	read once, even if a ufile changed meanwhile
 */
struct uobjscope_kernel {
	const char *dir;
	const char *device;
	bool no_fds;
	bool no_retry;
};

/**
 * uobjscope_load_kernel() - read a snapshot of the running kernel
 * @how:	what to read, NULL for everything
 * @error:	filled on failure
 *
 * While any ufile says changed=1 the snapshot is read again, up to
 * %UOBJSCOPE_RETRIES times; see uobjscope_changed() for what is left.
 *
 * Return: the snapshot or NULL.
 */
struct uobjscope *uobjscope_load_kernel(const struct uobjscope_kernel *how,
					struct uobjscope_error *error);

/**
 * uobjscope_add_fds() - add the descriptors of a separate `fds` file
 * @scope:	a snapshot without the section fds
 * @path:	the file, "-" for standard input
 * @error:	filled on failure, @scope is then unchanged
 *
 * Pointers to records that were taken before the call are no longer valid.
 *
 * Return: 0 or -1.
 */
int uobjscope_add_fds(struct uobjscope *scope, const char *path, struct uobjscope_error *error);

/**
 * uobjscope_select_device() - forget all but one device
 * @scope:	the snapshot; unchanged on failure
 * @device:	name of an RDMA device (mlx5_0) or of its uverbs device (uverbs0)
 * @error:	filled on failure; names the devices that there are
 *
 * A disassociated ufile has no RDMA device any more, but is still found by the
 * name of its uverbs device.  Pointers taken before are no longer valid.
 *
 * Return: 0 or -1.
 */
int uobjscope_select_device(struct uobjscope *scope, const char *device,
			    struct uobjscope_error *error);

/**
 * uobjscope_free() - give back a snapshot and all that points into it
 * @scope:	the snapshot, may be NULL
 */
void uobjscope_free(struct uobjscope *scope);

/**
 * uobjscope_write() - write a snapshot as text that can be loaded again
 * @scope:	the snapshot
 * @stream:	where to
 *
 * Unknown records and keys are written as well.
 *
 * Return: 0, or -1 with errno set.
 */
int uobjscope_write(const struct uobjscope *scope, FILE *stream);

/* ---- look at it ---- */

/**
 * uobjscope_sections() - which texts the snapshot was made from
 * @scope:	the snapshot
 *
 * Return: &enum uobjscope_section bits.
 */
unsigned int uobjscope_sections(const struct uobjscope *scope);

/**
 * uobjscope_header() - first line of a section
 * @scope:	the snapshot
 * @section:	which one
 *
 * Return: its header as a record of type %UOBJSCOPE_OTHER, NULL if it is not there.
 */
const struct uobjscope_record *uobjscope_header(const struct uobjscope *scope,
						enum uobjscope_section section);

/**
 * uobjscope_changed() - ufiles that changed while they were walked
 * @scope:	the snapshot
 *
 * The records of such a ufile may not fit each other.
 *
 * Return: number of ufile records with changed=1.
 */
size_t uobjscope_changed(const struct uobjscope *scope);

/**
 * uobjscope_count() - number of records of a type
 * @scope:	the snapshot
 * @type:	the type
 */
size_t uobjscope_count(const struct uobjscope *scope, enum uobjscope_type type);

/**
 * uobjscope_record() - a record by its place among those of its type
 * @scope:	the snapshot
 * @type:	the type
 * @n:		place, from 0
 *
 * Return: the record, NULL behind the last one.
 */
const struct uobjscope_record *uobjscope_record(const struct uobjscope *scope,
						enum uobjscope_type type, size_t n);

/** uobjscope_record_type() - type of a record */
enum uobjscope_type uobjscope_record_type(const struct uobjscope_record *record);

/** uobjscope_record_name() - first word of a record's line */
const char *uobjscope_record_name(const struct uobjscope_record *record);

/** uobjscope_record_line() - line of the text that a record stood in, from 1 */
unsigned long uobjscope_record_line(const struct uobjscope_record *record);

/**
 * uobjscope_fields() - all fields of a record
 * @record:	the record
 * @count:	set to their number
 *
 * Return: the fields, known keys in the order of &enum uobjscope_key, then the
 * unknown ones as they came.
 */
const struct uobjscope_field *uobjscope_fields(const struct uobjscope_record *record,
					       size_t *count);

/**
 * uobjscope_field() - a field by its key
 * @record:	the record, NULL is like one without fields
 * @key:	a known key
 *
 * Return: the field, NULL if the key is absent ("not known").
 */
const struct uobjscope_field *uobjscope_field(const struct uobjscope_record *record,
					      enum uobjscope_key key);

/**
 * uobjscope_has() - whether a key is there and has a value
 * @record:	the record
 * @key:	a known key
 *
 * Return: false if it is absent or `-`.
 */
bool uobjscope_has(const struct uobjscope_record *record, enum uobjscope_key key);

/**
 * uobjscope_get() - a number
 * @record:	the record
 * @key:	a key that is a number, a bool or a token
 * @value:	set if the key is there and has a value, else untouched
 *
 * Return: whether @value was set.
 */
bool uobjscope_get(const struct uobjscope_record *record, enum uobjscope_key key,
		   uint64_t *value);

/**
 * uobjscope_get_signed() - a number that may be negative (usecnt, error)
 * @record:	the record
 * @key:	the key
 * @value:	set if the key is there and has a value, else untouched
 *
 * Return: whether @value was set.
 */
bool uobjscope_get_signed(const struct uobjscope_record *record, enum uobjscope_key key,
			  int64_t *value);

/**
 * uobjscope_text() - a value as text, without escapes
 * @record:	the record
 * @key:	the key
 *
 * Return: the text, NULL if the key is absent or `-`.
 */
const char *uobjscope_text(const struct uobjscope_record *record, enum uobjscope_key key);

/** uobjscope_key_name() - name of a known key */
const char *uobjscope_key_name(enum uobjscope_key key);

/* ---- look things up ---- */

/**
 * enum uobjscope_index - records by a key, and within that by a second one
 * @UOBJSCOPE_UFILES_BY_ID:	ufile by id
 * @UOBJSCOPE_UFILES_BY_PID:	ufile by the pid of its opener
 * @UOBJSCOPE_UOBJS_BY_UFILE:	uobj by ufile, then handle (those without come last)
 * @UOBJSCOPE_UOBJS_BY_INO:	DMABUF uobj by inode
 * @UOBJSCOPE_UOBJS_BY_ENTRY:	uobj by the token of its mmap entry
 * @UOBJSCOPE_UOBJS_BY_MRN:	MR by mrn (unique on a device, not among devices)
 * @UOBJSCOPE_UOBJS_BY_PDN:	PD and what uses one by pdn (the same holds)
 * @UOBJSCOPE_MMAPS_BY_UFILE:	mmap entry by ufile, then pgoff
 * @UOBJSCOPE_UOBJS_BY_OBJECT: uobj by the token of its object
 * @UOBJSCOPE_UOBJS_BY_DM:	MR of device memory by the token of the DM
 * @UOBJSCOPE_MMAPS_BY_ENTRY:	mmap entry by its token
 * @UOBJSCOPE_MMAPS_BY_OBJECT:	mmap entries of a DM by the token of its object
 * @UOBJSCOPE_VMAS_BY_UFILE:	vma by ufile, then start
 * @UOBJSCOPE_VMAS_BY_PID:	vma by pid, then start
 * @UOBJSCOPE_VMAS_BY_ENTRY:	vma by the token of the entry that it maps
 * @UOBJSCOPE_ATTACHES_BY_UFILE: attachment by the exporter's ufile
 * @UOBJSCOPE_ATTACHES_BY_INO:	attachment by the dma-buf's inode
 * @UOBJSCOPE_FDS_BY_PID:	fd by pid, then fd
 * @UOBJSCOPE_FDS_BY_UFILE:	fd by ufile
 * @UOBJSCOPE_FDS_BY_INO:	fd of a dma-buf by its inode
 * @UOBJSCOPE_INDEXES:		number of them
 */
enum uobjscope_index {
	UOBJSCOPE_UFILES_BY_ID,
	UOBJSCOPE_UFILES_BY_PID,
	UOBJSCOPE_UOBJS_BY_UFILE,
	UOBJSCOPE_UOBJS_BY_INO,
	UOBJSCOPE_UOBJS_BY_ENTRY,
	UOBJSCOPE_UOBJS_BY_MRN,
	UOBJSCOPE_UOBJS_BY_PDN,
	UOBJSCOPE_UOBJS_BY_OBJECT,
	UOBJSCOPE_UOBJS_BY_DM,
	UOBJSCOPE_MMAPS_BY_UFILE,
	UOBJSCOPE_MMAPS_BY_ENTRY,
	UOBJSCOPE_MMAPS_BY_OBJECT,
	UOBJSCOPE_VMAS_BY_UFILE,
	UOBJSCOPE_VMAS_BY_PID,
	UOBJSCOPE_VMAS_BY_ENTRY,
	UOBJSCOPE_ATTACHES_BY_UFILE,
	UOBJSCOPE_ATTACHES_BY_INO,
	UOBJSCOPE_FDS_BY_PID,
	UOBJSCOPE_FDS_BY_UFILE,
	UOBJSCOPE_FDS_BY_INO,
	UOBJSCOPE_INDEXES
};

/**
 * struct uobjscope_group - records that have the same value of a key
 * @value:	the value
 * @records:	the records
 * @count:	their number
 */
struct uobjscope_group {
	uint64_t value;
	const struct uobjscope_record *const *records;
	size_t count;
};

/**
 * uobjscope_find() - all records with a value
 * @scope:	the snapshot
 * @index:	where to look
 * @value:	the value of the index' first key
 *
 * Return: the records; count is 0 if there are none.
 */
struct uobjscope_group uobjscope_find(const struct uobjscope *scope,
				      enum uobjscope_index index, uint64_t value);

/**
 * uobjscope_find_both() - all records with two values
 * @scope:	the snapshot
 * @index:	an index that has a second key
 * @first:	the value of its first key
 * @second:	the value of its second key
 *
 * Return: the records; count is 0 if there are none.
 */
struct uobjscope_group uobjscope_find_both(const struct uobjscope *scope,
					   enum uobjscope_index index,
					   uint64_t first, uint64_t second);

/**
 * uobjscope_groups() - group all records of an index by their value
 * @scope:	the snapshot
 * @index:	the index
 * @groups:	set to an array in ascending order of the value, for free()
 * @count:	set to its length
 *
 * Return: 0, or -1 if there is no memory.
 */
int uobjscope_groups(const struct uobjscope *scope, enum uobjscope_index index,
		     struct uobjscope_group **groups, size_t *count);

/** uobjscope_ufile() - a ufile by its id, NULL if it is not there */
const struct uobjscope_record *uobjscope_ufile(const struct uobjscope *scope, uint64_t id);

/**
 * uobjscope_uobj() - a uobject by its identity
 * @scope:	the snapshot
 * @ufile:	id of its ufile
 * @type:	name of its type, NULL for any (handles are unique within a ufile)
 * @handle:	its handle
 *
 * Return: the record, NULL if there is none.
 */
const struct uobjscope_record *uobjscope_uobj(const struct uobjscope *scope, uint64_t ufile,
					      const char *type, uint32_t handle);

/** uobjscope_dmabuf() - the DMABUF uobject of a dma-buf's inode, NULL if there is none */
const struct uobjscope_record *uobjscope_dmabuf(const struct uobjscope *scope, uint64_t ino);

/** uobjscope_mmap() - an mmap entry by ufile and pgoff, NULL if there is none */
const struct uobjscope_record *uobjscope_mmap(const struct uobjscope *scope, uint64_t ufile,
					      uint64_t pgoff);

/**
 * uobjscope_entry_of() - the mmap entry that a record names
 * @scope:	the snapshot
 * @record:	a uobj, vma or mmap record
 *
 * That is the entry of its `entry` token; for a DM without one, the MEMIC entry
 * that has the same `object` token.
 *
 * Return: the mmap record, NULL if it is not known or there is none.
 */
const struct uobjscope_record *uobjscope_entry_of(const struct uobjscope *scope,
						  const struct uobjscope_record *record);

/**
 * uobjscope_mr_of() - the MR that an attachment serves
 * @scope:	the snapshot
 * @attach:	an attach record
 *
 * Return: the uobj record of the MR with the attachment's mrn on its ibdev,
 * NULL if it is not known.
 */
const struct uobjscope_record *uobjscope_mr_of(const struct uobjscope *scope,
					       const struct uobjscope_record *attach);

/** uobjscope_ufile_of() - the ufile that a record belongs to, NULL if it is not there */
const struct uobjscope_record *uobjscope_ufile_of(const struct uobjscope *scope,
						  const struct uobjscope_record *record);

/** uobjscope_type_is() - whether a uobj is of a type, by name, in any case; VAR is MLX5_VAR */
bool uobjscope_type_is(const struct uobjscope_record *uobj, const char *type);

/* ---- compare ---- */

/**
 * enum uobjscope_change_kind - what became of a record
 * @UOBJSCOPE_ADDED:	it is only in the second snapshot
 * @UOBJSCOPE_REMOVED:	it is only in the first one
 * @UOBJSCOPE_CHANGED:	it is in both and differs
 */
enum uobjscope_change_kind {
	UOBJSCOPE_ADDED,
	UOBJSCOPE_REMOVED,
	UOBJSCOPE_CHANGED,
};

/**
 * struct uobjscope_change - one difference
 * @kind:	what became of the record
 * @type:	its type
 * @before:	the record in the first snapshot, or NULL
 * @after:	the record in the second snapshot, or NULL
 */
struct uobjscope_change {
	enum uobjscope_change_kind kind;
	enum uobjscope_type type;
	const struct uobjscope_record *before;
	const struct uobjscope_record *after;
};

struct uobjscope_diff;

/**
 * uobjscope_diff() - compare two snapshots of one kernel
 * @before:	the first
 * @after:	the second
 * @error:	filled on failure
 *
 * A uobject is the same if ufile, type and handle are, an mmap entry if ufile
 * and pgoff are, a dma-buf if its inode is, a vma if ufile, pid and start are,
 * an fd if pid and fd are.  Records without such an identity (completion
 * channels, say, or several attachments of one dma-buf) are paired if their
 * content is equal, or if one is left on either side; else they count as
 * removed and added.  Tokens are never compared: an entry token is replaced by
 * the pgoff of its entry.  Unknown records and keys, headers and `changed` are
 * not compared; file descriptors are if both have the section fds.
 *
 * Both snapshots must live as long as the result.
 *
 * Return: the differences, for uobjscope_diff_free(), or NULL.
 */
struct uobjscope_diff *uobjscope_diff(const struct uobjscope *before,
				      const struct uobjscope *after,
				      struct uobjscope_error *error);

/** uobjscope_diff_free() - give back the result of uobjscope_diff(), NULL is fine */
void uobjscope_diff_free(struct uobjscope_diff *diff);

/** uobjscope_diff_count() - number of differences */
size_t uobjscope_diff_count(const struct uobjscope_diff *diff);

/** uobjscope_diff_change() - a difference by its place, NULL behind the last one */
const struct uobjscope_change *uobjscope_diff_change(const struct uobjscope_diff *diff,
						     size_t n);

/**
 * uobjscope_diff_key() - the keys that differ in a changed record
 * @diff:	the differences
 * @change:	one of them
 * @key:	the key to begin with, 0 for the first time
 *
 * Return: the first key from @key on that differs, %UOBJSCOPE_KEYS if none does.
 */
enum uobjscope_key uobjscope_diff_key(const struct uobjscope_diff *diff,
				      const struct uobjscope_change *change,
				      enum uobjscope_key key);

/* ---- who holds it ---- */

/**
 * enum uobjscope_holder_kind - what holds references
 * @UOBJSCOPE_HOLDER_FD:	a process' file descriptor; record: the fd
 * @UOBJSCOPE_HOLDER_VMA:	a process' mapping; record: the vma
 * @UOBJSCOPE_HOLDER_ATTACH:	an attachment, and its MR if known; record: the attach
 * @UOBJSCOPE_HOLDER_UOBJ:	a uobject; record: the uobj
 * @UOBJSCOPE_HOLDER_DMABUF:	a dma-buf whose uobject is destroyed; record: fd or attach
 * @UOBJSCOPE_HOLDER_ENTRY:	an mmap entry; record: the mmap
 * @UOBJSCOPE_HOLDER_FILE:	the open file itself (its struct file)
 * @UOBJSCOPE_HOLDER_LIST:	the ufile's list of uobjects
 * @UOBJSCOPE_HOLDER_HANDLE:	the handle, in the ufile's idr
 * @UOBJSCOPE_HOLDER_DRIVER:	the driver, until it removes the entry
 * @UOBJSCOPE_HOLDER_EXPORTER:	the exporter, until it revokes the dma-buf
 */
enum uobjscope_holder_kind {
	UOBJSCOPE_HOLDER_FD,
	UOBJSCOPE_HOLDER_VMA,
	UOBJSCOPE_HOLDER_ATTACH,
	UOBJSCOPE_HOLDER_UOBJ,
	UOBJSCOPE_HOLDER_DMABUF,
	UOBJSCOPE_HOLDER_ENTRY,
	UOBJSCOPE_HOLDER_FILE,
	UOBJSCOPE_HOLDER_LIST,
	UOBJSCOPE_HOLDER_HANDLE,
	UOBJSCOPE_HOLDER_DRIVER,
	UOBJSCOPE_HOLDER_EXPORTER,
};

/**
 * struct uobjscope_holder - one holder
 * @kind:	what it is
 * @refs:	how many references it has
 * @record:	the record that names it, NULL where it is named by @kind alone
 * @mr:		of an attachment: the MR it serves, NULL if not known
 */
struct uobjscope_holder {
	enum uobjscope_holder_kind kind;
	uint64_t refs;
	const struct uobjscope_record *record;
	const struct uobjscope_record *mr;
};

/**
 * struct uobjscope_tally - one count of an object and who makes it up
 * @name:	name of the count, as the key that it was read from
 * @known:	whether @total was read
 * @total:	the count; negative if the kernel's has saturated or run below 0
 * @holders:	those that are known for certain
 * @count:	length of @holders
 * @explained:	sum of their references
 * @unexplained: @total - @explained, or how many more must exist where the
 *		total is not known (an open file that nobody is seen to hold)
 * @surplus:	@explained - @total: the two were read at different instants
 * @note:	what to know about it, NULL if there is nothing
 */
struct uobjscope_tally {
	const char *name;
	bool known;
	int64_t total;
	struct uobjscope_holder *holders;
	size_t count;
	uint64_t explained;
	uint64_t unexplained;
	uint64_t surplus;
	const char *note;
};

/**
 * enum uobjscope_object_kind - what an object is
 * @UOBJSCOPE_OBJECT_DMABUF:	a dma-buf; record: its uobj, else an fd or attach
 * @UOBJSCOPE_OBJECT_UFILE:	a ufile; record: the ufile, NULL if only fds name it
 * @UOBJSCOPE_OBJECT_UOBJ:	a uobject; record: the uobj
 * @UOBJSCOPE_OBJECT_MMAP:	an mmap entry; record: the mmap
 * @UOBJSCOPE_OBJECT_FILE:	the file of an fd uobject; record: the fd
 */
enum uobjscope_object_kind {
	UOBJSCOPE_OBJECT_DMABUF,
	UOBJSCOPE_OBJECT_UFILE,
	UOBJSCOPE_OBJECT_UOBJ,
	UOBJSCOPE_OBJECT_MMAP,
	UOBJSCOPE_OBJECT_FILE,
};

/**
 * struct uobjscope_report - who holds one object
 * @kind:	what the object is
 * @id:		inode of a dma-buf, else id of the ufile
 * @record:	the record that describes it
 * @tallies:	its counts
 * @count:	length of @tallies
 */
struct uobjscope_report {
	enum uobjscope_object_kind kind;
	uint64_t id;
	const struct uobjscope_record *record;
	struct uobjscope_tally *tallies;
	size_t count;
};

struct uobjscope_holders;

/**
 * uobjscope_holders() - who keeps objects alive
 * @scope:	the snapshot; must live as long as the result
 * @object:	ino:N, pid:N, pid:N/fd:N, ufile:N, ufile:N/TYPE, ufile:N/TYPE:HANDLE,
 *		ufile:N/HANDLE or ufile:N/mmap:PGOFF
 * @error:	filled on failure; %UOBJSCOPE_ERR_ARGUMENT if @object is none of these
 *
 * Only what the records prove is counted; the rest is unexplained.
 *
 * Return: the reports, one an object and none if nothing was found, for
 * uobjscope_holders_free(); or NULL on failure.
 */
struct uobjscope_holders *uobjscope_holders(const struct uobjscope *scope, const char *object,
					    struct uobjscope_error *error);

/** uobjscope_holders_free() - give back the result of uobjscope_holders(), NULL is fine */
void uobjscope_holders_free(struct uobjscope_holders *holders);

/** uobjscope_holders_count() - number of reports */
size_t uobjscope_holders_count(const struct uobjscope_holders *holders);

/** uobjscope_holders_report() - a report by its place, NULL behind the last one */
const struct uobjscope_report *uobjscope_holders_report(const struct uobjscope_holders *holders,
							size_t n);

/** uobjscope_version() - version of the library, as text */
const char *uobjscope_version(void);

#ifdef __cplusplus
}
#endif

#endif
