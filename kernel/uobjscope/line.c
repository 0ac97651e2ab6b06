// SPDX-License-Identifier: GPL-2.0
/*
 * Makes lines of key=value pairs.
 *
 * Nothing of the kernel is used here but its types, so that the same code can
 * be compiled and tested outside of it.  The digits are made by hand: snprintf
 * of ten keys is the larger part of the time that a snapshot of many objects
 * takes.
 */
#include <linux/types.h>

#include "line.h"

static const char hex_digit[] = "0123456789abcdef";
static const char upper_digit[] = "0123456789ABCDEF";

/* The last byte of the buffer is the newline's. */
static void put(struct scope_line *line, char c)
{
	if (line->used < SCOPE_LINE - 1)
		line->text[line->used++] = c;
}

static void put_plain(struct scope_line *line, const char *s)
{
	while (*s)
		put(line, *s++);
}

static void put_key(struct scope_line *line, const char *key)
{
	put(line, ' ');
	put_plain(line, key);
	put(line, '=');
}

/*
 * An escape is three bytes or none: half of one would be read as something else.
 */
static void put_escaped(struct scope_line *line, unsigned char c)
{
	if (c > ' ' && c < 0x7f && c != '=' && c != '%') {
		put(line, c);
	} else if (line->used + 3 < SCOPE_LINE) {
		put(line, '%');
		put(line, upper_digit[c >> 4]);
		put(line, upper_digit[c & 15]);
	}
}

/* Of a value: @width digits, or as many as it takes for 0. */
static void put_hex(struct scope_line *line, u64 value, int width)
{
	int digit = 15;

	while (digit > 0 && digit >= width && !(value >> (digit * 4)))
		digit--;
	for (; digit >= 0; digit--)
		put(line, hex_digit[(value >> (digit * 4)) & 15]);
}

static void put_number(struct scope_line *line, u64 value)
{
	char digits[20];
	int n = 0;

	/* Most values fit 32 bits, and not every machine divides 64 of them. */
	while (value >> 32) {
		u64 rest = 0, quotient = 0;
		int bit;

		for (bit = 63; bit >= 0; bit--) {
			rest = rest << 1 | (value >> bit & 1);
			quotient = quotient << 1 | (rest >= 10);
			if (rest >= 10)
				rest -= 10;
		}
		digits[n++] = '0' + rest;
		value = quotient;
	}
	do {
		digits[n++] = '0' + (u32)value % 10;
		value = (u32)value / 10;
	} while (value);
	while (n)
		put(line, digits[--n]);
}

/**
 * scope_line_begin - start a line
 * @line: to be overwritten
 * @record: its first word, put as it is
 */
void scope_line_begin(struct scope_line *line, const char *record)
{
	line->used = 0;
	put_plain(line, record);
}

/**
 * scope_line_word - add a pair whose value needs no escapes
 * @line: begun
 * @key: put as it is
 * @value: one of this module's own words
 */
void scope_line_word(struct scope_line *line, const char *key, const char *value)
{
	put_key(line, key);
	put_plain(line, value);
}

/**
 * scope_line_text - add a pair whose value can hold any byte
 * @line: begun
 * @key: put as it is
 * @value: ends at its first 0.  What is not printable ASCII, and blanks, '='
 *	and '%', become %XX.
 */
void scope_line_text(struct scope_line *line, const char *key, const char *value)
{
	put_key(line, key);
	while (*value)
		put_escaped(line, *value++);
}

/**
 * scope_line_number - add a decimal number
 * @line: begun
 * @key: put as it is
 * @value: the number
 */
void scope_line_number(struct scope_line *line, const char *key, u64 value)
{
	put_key(line, key);
	put_number(line, value);
}

/**
 * scope_line_signed - add a decimal number that can be negative
 * @line: begun
 * @key: put as it is
 * @value: the number
 */
void scope_line_signed(struct scope_line *line, const char *key, s64 value)
{
	put_key(line, key);
	if (value < 0)
		put(line, '-');
	put_number(line, value < 0 ? -(u64)value : (u64)value);
}

/**
 * scope_line_hex - add a hexadecimal number with 0x before it
 * @line: begun
 * @key: put as it is
 * @value: the number
 */
void scope_line_hex(struct scope_line *line, const char *key, u64 value)
{
	put_key(line, key);
	put_plain(line, "0x");
	put_hex(line, value, 0);
}

/**
 * scope_line_token - add a token: 16 hexadecimal digits
 * @line: begun
 * @key: put as it is
 * @value: the token
 */
void scope_line_token(struct scope_line *line, const char *key, u64 value)
{
	put_key(line, key);
	put_hex(line, value, 16);
}

/**
 * scope_line_end - finish a line
 * @line: begun.  A line that did not fit ends early, which no record of this
 *	module comes near to.
 */
void scope_line_end(struct scope_line *line)
{
	line->text[line->used++] = '\n';
}
