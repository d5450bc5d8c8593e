# widetable: a column-family storage engine inside PostgreSQL.
#
#   make && make install            build and install (PG_CONFIG, DESTDIR as in PGXS)
#   make installcheck               regression tests against a running server
#   make check                      everything on a private cluster (./test/check)
#   make demo                       the demo (./test/demo)
#   make check-engine               engine unit tests only
#   make check-sanitize             engine unit tests under address and undefined sanitizers (./test/check sanitize: fuzzers, and the server)
#   make check-clang                build with clang and its warnings
#   make deb                        Debian packages for all installed versions of PostgreSQL, in dist/ (debian/build)
#   make dist                       the release as PGXN wants it, of the last commit: dist/widetable-VERSION.zip
#   make check-clients              programs and libraries that read and write wide tables (./test/clients)

EXTENSION = widetable
MODULE_big = widetable
DATA = sql/widetable--1.0.sql sql/widetable--1.0--1.1.sql
DOCS = README.md
SCRIPTS = bin/widetable_dump bin/widetable_restore
SCRIPTS_built = program/widetable_check

# The directory of this file, with a slash at the end: the checkout, also when
# the build is somewhere else (make -f /path/of/checkout/Makefile).
TOP := $(dir $(lastword $(MAKEFILE_LIST)))
THIS := $(lastword $(MAKEFILE_LIST))

# the sources of all rooms (engine/*/, fdw/*/) and those above the rooms
SOURCES := $(sort $(foreach d,engine fdw,$(wildcard $(TOP)$d/*.c $(TOP)$d/*/*.c)))
OBJS = $(patsubst $(TOP)%.c,%.o,$(SOURCES))

# The engine "hbase" (hbase/, fdw/remote/) needs protobuf-c, its library and its compiler.  HBASE=0
# builds without it.  It authenticates by Kerberos where MIT's GSSAPI library is there, too;
# HBASE_KERBEROS=0 builds without that.
HBASE ?= $(shell pkg-config --exists libprotobuf-c 2>/dev/null && command -v protoc-c >/dev/null && echo 1)
ifeq ($(HBASE),1)
# hbase.mk has rules, the first target is still PGXS's
.DEFAULT_GOAL := all
include $(TOP)hbase/hbase.mk
OBJS += $(HBASE_OBJS)
else
OBJS := $(filter-out fdw/remote/%,$(OBJS))
endif
# includes are written from the top of the checkout: "engine/wide.h"
PG_CPPFLAGS = -I$(srcdir) -D_GNU_SOURCE
PG_CFLAGS = -std=gnu11 -Wall -Wextra -Wno-unused-parameter -Wno-missing-field-initializers
# a server built with gcc passes clang options and, in its headers, attributes that only gcc knows
ifneq ($(findstring clang,$(CC)),)
PG_CFLAGS += -Wno-unknown-warning-option -Wno-ignored-attributes -Wno-ignored-optimization-argument
endif
# foo.d lists the headers that foo.o was compiled with; it is included at the end
PG_CFLAGS += -MMD -MP
SHLIB_LINK = -lzstd -lxxhash -lpthread -lm
ifeq ($(HBASE),1)
PG_CPPFLAGS += -DWT_HBASE
SHLIB_LINK += $(HBASE_LIBS)
endif
# calls inside the library and into the server are direct
PG_CFLAGS += -fno-semantic-interposition -fno-plt
SHLIB_LINK += -Wl,-Bsymbolic-functions

REGRESS = $(shell cat $(CURDIR)/sql/schedule 2>/dev/null)
REGRESS_OPTS = --inputdir=. --load-extension=widetable

# also objects whose source no longer exists
EXTRA_CLEAN = $(HBASE_CLEAN) program/widetable_check.o program/widetable_check.d $(foreach d,engine fdw,$(wildcard $(foreach e,o d bc,$d/*.$e $d/*/*.$e)))

PG_CONFIG ?= pg_config

# PGXS has a target "check" that only fails, so these targets do not include PGXS
OWN_TARGETS = check demo check-engine check-sanitize check-clang check-clients deb dist
ifneq ($(filter $(OWN_TARGETS),$(MAKECMDGOALS)),)

check:
	./test/check
demo:
	./test/demo
check-engine:
	$(MAKE) -C test/engine check
check-sanitize:
	$(MAKE) -C test/engine SAN=address,undefined check
check-clients:
	./test/clients
check-clang:
	$(MAKE) -C test/engine CC=clang BUILD=build-clang check
deb:
	./debian/build
# the version of the release is the first one in META.json
dist: VERSION = $(shell sed -n 's/^ *"version": *"\([^"]*\)".*/\1/p' META.json | head -n 1)
dist:
	mkdir -p dist
	git archive --format=zip --prefix=widetable-$(VERSION)/ -o dist/widetable-$(VERSION).zip HEAD
	@echo dist/widetable-$(VERSION).zip
.PHONY: $(OWN_TARGETS)

else

PGXS := $(shell $(PG_CONFIG) --pgxs)
include $(PGXS)

# the server's flags warn about declarations after statements, which this code uses
engine/%.o fdw/%.o hbase/%.o: override CFLAGS := $(filter-out -Wdeclaration-after-statement,$(CFLAGS))
# The engine's symbols are not exported: otherwise a function of the server with the
# same name would be called instead.  Symbols of fdw/ begin with wt and are exported:
# before version 16 PostgreSQL's macros do not mark its entry points as visible.
# After the line above, which sets the flags anew.
engine/%.o hbase/%.o: override CFLAGS += -fvisibility=hidden

hbase/gss.o hbase/gss.bc: override CPPFLAGS += $(HBASE_GSS_CFLAGS)

# a program: the engine without a server
program/widetable_check: program/widetable_check.o $(filter engine/%,$(OBJS))
	$(CC) $(CFLAGS) -o $@ $^ $(LDFLAGS) $(LDFLAGS_EX) -lzstd -lxxhash -lpthread -lm
program/%.o: override CFLAGS := $(filter-out -Wdeclaration-after-statement,$(CFLAGS))

# the flags may have changed
$(OBJS) program/widetable_check.o: $(THIS)
# A changed header rebuilds the objects that include it, and these rebuild their bitcode.
$(OBJS:.o=.bc): %.bc: %.o
-include $(OBJS:.o=.d) program/widetable_check.d
# a build outside the checkout needs the directories
$(shell mkdir -p $(sort $(dir $(OBJS)) program))

endif
