/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Text from records, see Documentation/uobjscope.rst for the format.
 */
#ifndef UOBJSCOPE_REPORT_H
#define UOBJSCOPE_REPORT_H

#include "line.h"
#include "record.h"

/** define SCOPE_FORMAT - the version that the first line names */
#define SCOPE_FORMAT	1

/**
 * typedef scope_token_function - what stands for an address in a report
 * @address: not 0
 */
typedef u64 scope_token_function(unsigned long address);

void scope_report_header(struct scope_line *line, const struct scope_header *header);
void scope_report_device(struct scope_line *line, const struct scope_device_record *r);
void scope_report_ufile(struct scope_line *line, const struct scope_ufile_record *r);
void scope_report_uobj(struct scope_line *line, const struct scope_uobj_record *r,
		       scope_token_function *token);
void scope_report_mmap(struct scope_line *line, const struct scope_mmap_record *r,
		       scope_token_function *token);
void scope_report_vma(struct scope_line *line, const struct scope_vma_record *r,
		      scope_token_function *token);
void scope_report_attach(struct scope_line *line, const struct scope_attach_record *r,
			 scope_token_function *token);
void scope_report_fd(struct scope_line *line, const struct scope_fd_record *r,
		     scope_token_function *token);
void scope_report_end(struct scope_line *line, u64 records);

#endif /* UOBJSCOPE_REPORT_H */
