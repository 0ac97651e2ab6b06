/* SPDX-License-Identifier: GPL-2.0 */
/* The page of timeline_html.c. */
	.section .rodata
	.global timeline_page
	.type timeline_page, STT_OBJECT
timeline_page:
	.incbin "cli/timeline.html"
	.byte 0
	.size timeline_page, . - timeline_page
	.section .note.GNU-stack, "", %progbits
