.POSIX:

# CC, CFLAGS, CPPFLAGS and LDFLAGS are the user's, given to make or in the
# environment. POSIX make takes a macro of this file before the environment's,
# and has defaults of its own (c99), so it is the shell that expands them.
COMPILE = $${CC:-cc} $(NEEDS) $${CFLAGS--O2} $$CPPFLAGS
LINK = $${CC:-cc} $${CFLAGS--O2} $$LDFLAGS

# The user's as well
PREFIX = /usr/local
BINDIR = $(PREFIX)/bin
MANDIR = $(PREFIX)/share/man
DESTDIR =
UNITDIR =
SECONDS = 60
OWNER =
VERSION = $$(sed -n 's/^.define BORIS_VERSION "\(.*\)"/\1/p' *.h)

# The code's own needs, apart from the user's; and those of make static, whose
# flags for the linker are left out where it does not know them
NEEDS = -std=c99 -Wall -Wextra -pedantic
SMALL = -fno-asynchronous-unwind-tables -fno-pie
TIGHT = -Wl,-z,noseparate-code -Wl,-z,norelro -Wl,--gc-sections

MOST = boris.o options.o ask.o fence.o guard.o \
	stdio.o http.o connection.o httprules.o httpmsg.o \
	mcp.o clients.o answers.o calls.o until.o \
	tools.o arguments.o results.o notes.o \
	session.o secret.o records.o job.o log.o edit.o \
	exec.o script.o terminal.o proc.o output.o cut.o spool.o \
	path.o pattern.o buf.o json.o
OBJ = $(MOST) io.o
HDR = options.h ask.h fence.h guard.h \
	stdio.h http.h connection.h httprules.h httpmsg.h \
	mcp.h clients.h reader.h answers.h calls.h until.h \
	tools.h arguments.h limits.h results.h notes.h session.h \
	secret.h records.h job.h log.h edit.h \
	exec.h script.h terminal.h proc.h output.h cut.h spool.h \
	path.h pattern.h buf.h json.h io.h

all: boris

boris: $(OBJ)
	$(LINK) -o $@ $(OBJ)

.c.o:
	$(COMPILE) -c -o $@ $<

$(OBJ): $(HDR)

# What all is built with: where that is new, what there is goes. (Its time alone
# would not do: some makes see no difference within a second.)
$(OBJ): flags
flags: ALWAYS
	@echo $(COMPILE) $$LDFLAGS >flags.new; \
	if cmp -s flags.new flags; then rm flags.new; \
	else rm -f boris $(OBJ); mv flags.new flags; fi
ALWAYS:

# One small binary that needs nothing: by musl-gcc, where it is there and CC
# names no other compiler
static:
	@cc=$${CC:-cc}; \
	if [ "$$cc" = cc ] && command -v musl-gcc >/dev/null; then \
	    cc=musl-gcc; fi; \
	echo 'int main(void) { return 0; }' >probe.c; \
	flags="$$LDFLAGS -static -s"; size=-Os; \
	said=$$($$cc -Oz -c -o probe probe.c 2>&1) && \
	    [ -z "$$said" ] && size=-Oz; \
	for flag in $(TIGHT); do \
	    said=$$($$cc $${CFLAGS-} $$flags $$flag -o probe probe.c 2>&1) && \
	    [ -z "$$said" ] && flags="$$flags $$flag"; \
	done; \
	rm -f probe probe.c; \
	$(MAKE) CC="$$cc" CFLAGS="$${CFLAGS--O2} $$size $(SMALL)" LDFLAGS="$$flags" boris

demo: boris
	@sh t/demo

# What the tests are made of besides bats
t/reply: t/reply.c json.o buf.o json.h
	$(COMPILE) $$LDFLAGS -o $@ t/reply.c json.o buf.o

t/exec_states: t/exec_states.c exec.c proc.o script.o terminal.o buf.o io.o
	$(COMPILE) $$LDFLAGS -o $@ t/exec_states.c proc.o script.o \
	    terminal.o buf.o io.o

# boris with a clock that runs ten times as fast, for tests that wait long
t/boris-fast: boris io.c
	$(COMPILE) -DCLOCK_FACTOR=10 -c -o t/io-fast.o io.c
	$(LINK) -o $@ $(MOST) t/io-fast.o

test: boris t/boris-fast t/reply t/exec_states
	@sh t/run

test-clients: boris
	@sh t/clients/run

test-agents: boris
	@sh t/clients/run agents

test-portable:
	@sh t/portable

bench:
	@sh t/bench

fuzz:
	@sh t/fuzz $(SECONDS)

# Each call of boris's fails in turn: all of it takes up to half an hour
torture:
	@sh t/torture

# Which lines and branches the tests reach, by gcov
coverage: ALWAYS
	@sh t/coverage

# What was built last; a binary that runs can be removed, but not written to
install:
	test -x boris || $(MAKE) boris
	umask 022; mkdir -p "$(DESTDIR)$(BINDIR)" "$(DESTDIR)$(MANDIR)/man1"
	rm -f "$(DESTDIR)$(BINDIR)/boris"
	cp boris "$(DESTDIR)$(BINDIR)/boris"
	chmod 755 "$(DESTDIR)$(BINDIR)/boris"
	cp boris.1 "$(DESTDIR)$(MANDIR)/man1/boris.1"
	chmod 644 "$(DESTDIR)$(MANDIR)/man1/boris.1"
	test -z "$(UNITDIR)" || { umask 022; mkdir -p "$(DESTDIR)$(UNITDIR)" && \
	    bin=$$(echo "$(BINDIR)" | sed 's/[&|\\]/\\&/g') && \
	    sed "s|/usr/local/bin|$$bin|" packaging/boris.service \
	        >"$(DESTDIR)$(UNITDIR)/boris.service" && \
	    chmod 644 "$(DESTDIR)$(UNITDIR)/boris.service"; }

uninstall:
	rm -f "$(DESTDIR)$(BINDIR)/boris"
	rm -f "$(DESTDIR)$(MANDIR)/man1/boris.1"
	test -z "$(UNITDIR)" || rm -f "$(DESTDIR)$(UNITDIR)/boris.service"

# What is given away, all of it in the folder dist, and the parts alone
dist: ALWAYS
	@sh t/dist "$(VERSION)" "$(OWNER)"

sign:
	gpg --yes --armor --detach-sign dist/SHA256SUMS

tarball:
	git -c tar.tar.gz.command='gzip -cn9' archive HEAD \
	    --prefix="boris-$(VERSION)/" -o "boris-$(VERSION).tar.gz"

cross: ALWAYS
	@sh t/cross "$(VERSION)"

deb:
	@sh t/deb "$(VERSION)"

npm mcpb:
	@sh t/bundle $@ "$(VERSION)" "$(OWNER)"

clean:
	rm -f boris flags $(OBJ) t/boris-fast t/io-fast.o t/reply \
	    t/exec_states

distclean: clean
	rm -rf coverage cross dist boris-*.tar.gz boris_*.deb boris-*.tgz boris-*.mcpb
