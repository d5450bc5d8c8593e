/* status.c - a status together with its error text */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "engine/base/status.h"

/* Belongs to the thread: the threads of the unit tests stand for processes. */
static _Thread_local char error_text[512];

wide_status
status_fail(wide_status st, const char *fmt, ...)
{
	char text[sizeof(error_text)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	memcpy(error_text, text, sizeof(text));
	return st;
}

const char *
wide_error_text(void)
{
	return error_text;
}
