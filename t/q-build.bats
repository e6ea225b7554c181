#!/usr/bin/env bats
# SPDX-License-Identifier: ISC
#
# Q: building, installing and packaging, and the structure of the code. Most tests
# use a stub that records its arguments in place of the compiler.
# shellcheck disable=SC2016,SC2034,SC2154

load helper

# setup_compiler: copies the sources to src, and puts stubs of compilers in PATH.
# An object file that a stub makes contains the stub's command line as a comment.
# A program is a script that contains the comments of all its parts.
setup_compiler() {
	mkdir src bin
	local to=$PWD/src
	(cd "$HERE/.." && cp ./*.[ch] Makefile README "$to" &&
		cp -R base output run session mcp transport doc "$to")
	cat >bin/cc <<-'END'
	#!/bin/sh
	all="${0##*/} $*"
	while [ "$1" != -o ]; do
		shift
	done
	out=$2
	shift 2
	case $out in
	*.o) printf '# %s\n' "$all" >"$out" ;;
	*) { printf '#!/bin/sh\n'; cat "$@"; echo "# $all"; } >"$out"
		chmod +x "$out" ;;
	esac
	END
	chmod +x bin/cc
	cp bin/cc bin/musl-gcc
	cp bin/cc bin/other
	PATH=$PWD/bin:$PATH
	unset MAKEFLAGS MAKELEVEL CC CFLAGS CPPFLAGS LDFLAGS
}

# build ARGS...: runs make in src
build() {
	(cd src && ${MAKE:-make} -s "$@") 3>&- 6>&- 9>&-
}

# made PATTERN: all command lines in src/boris match the pattern
made() {
	is "$(grep '^# ' src/boris | grep -vc -- "$1")" 0 || cat src/boris
}

# break_compiler NAME: makes the stub fail, to prove that it is not needed
break_compiler() {
	printf '#!/bin/sh\nexit 1\n' >"bin/$1"
}

# compiled PATTERN: the command line of each source in src/boris matches it
compiled() {
	is "$(grep -c -- "$1" src/boris)" "$(find src -name '*.c' | wc -l)"
}

# link_line: prints the command line by which src/boris was linked
link_line() {
	tail -n 1 src/boris
}

@test "Q4: make uses CC, CFLAGS and LDFLAGS from its command line" {
	setup_compiler
	build CC=other CFLAGS=-O7 LDFLAGS=-Lx
	made '^# other .*-O7'
	has "$(link_line)" ' -Lx '
}

@test "Q4: make uses CC, CFLAGS, CPPFLAGS and LDFLAGS from the environment" {
	setup_compiler
	CC=other CFLAGS='-O7 -g' CPPFLAGS=-DX LDFLAGS=-Lx build
	compiled '^# other .* -O7 -g -DX -c '
	has "$(link_line)" '# other -O7 -g -Lx -o '
}

@test "Q4: variables on the make command line override the environment" {
	setup_compiler
	CC=cc CFLAGS= build CC=other
	compiled '^# other .* -I. -c '
}

@test "Q4: make rebuilds nothing if no file has changed" {
	setup_compiler
	build
	made '^# cc '
	break_compiler cc
	build
}

@test "Q4: make rebuilds everything if the compiler or its flags have changed" {
	setup_compiler
	build
	build CC=other CFLAGS=-O7
	made '^# other .*-O7'
	build static
	made '^# musl-gcc '
	build
	made '^# cc '
}

@test "Q4: bmake rebuilds everything even if the compiler changes within a second of the last build" {
	needs bmake
	setup_compiler
	MAKE=bmake build
	MAKE=bmake build static
	made '^# musl-gcc '
	MAKE=bmake build CC=other
	made '^# other '
}

@test "Q4: bmake rebuilds nothing if no file has changed" {
	needs bmake
	setup_compiler
	MAKE=bmake build CC=other
	break_compiler other
	MAKE=bmake build CC=other
}

# setup_users: replaces what `make demo` and `make test` run by stubs. Each copies
# the boris that it uses to the file used, and t/boris-fast to used.fast.
setup_users() {
	mkdir src/t
	: >src/t/reply.c
	: >src/t/decide.c
	: >src/t/tables.c
	: >src/t/screen.c
	echo 'cp boris ../used' >src/t/demo
	echo 'cp boris ../used; cp t/boris-fast ../used.fast' >src/t/run
}

# compilers_of FILE: prints the names of the compilers that built it
compilers_of() {
	sed -n 's/^# \([^ ]*\) .*/\1/p' "$1" | sort -u
}

# uses TARGET COMPILER [ARG...]: all that `make TARGET ARG...` uses was built by
# COMPILER
uses() {
	local target=$1 compiler=$2
	shift 2
	rm -rf used used.fast root
	build "$target" DESTDIR="$PWD/root" "$@" >/dev/null
	[ "$target" != install ] || cp root/usr/local/bin/boris used
	is "$target $* $(compilers_of used)" "$target $* $compiler"
	[ ! -e used.fast ] || is "$(compilers_of used.fast)" "$compiler"
}

# targets_use_last_build: demo, test and install use what ${MAKE:-make} built last
targets_use_last_build() {
	setup_compiler
	setup_users
	local target
	# Each target is once the first one after a build.
	build static
	for target in demo test install; do
		uses $target musl-gcc
	done
	build
	for target in test install demo; do
		uses $target cc
	done
	build CC=other
	for target in install demo test; do
		uses $target other
	done
	for target in demo test install; do
		build clean
		uses $target cc
	done
}

@test "Q4: make demo, make test and make install use the result of the last build" {
	targets_use_last_build
}

@test "Q4: bmake demo, bmake test and bmake install use the result of the last build" {
	needs bmake
	MAKE=bmake
	targets_use_last_build
}

@test "Q4: make demo, make test and make install rebuild nothing after make static" {
	setup_compiler
	setup_users
	build static
	uses test musl-gcc
	break_compiler musl-gcc
	for target in demo test install demo; do
		uses $target musl-gcc
	done
}

@test "Q4: after make static, make test rebuilds the binary as a static one" {
	setup_compiler
	setup_users
	build static
	has "$(link_line)" ' -static '
	echo >>src/json.h
	uses test musl-gcc
	has "$(tail -n 1 used)" ' -static '
}

@test "Q4: after make static, make install rebuilds a missing static binary" {
	setup_compiler
	setup_users
	build static
	rm src/boris
	uses install musl-gcc
}

@test "Q4: flags given to make demo, make test or make install replace earlier flags" {
	setup_compiler
	setup_users
	for target in demo test install; do
		build static
		uses $target other CC=other
		build static CC=other
		uses $target other CC=other
		has "$(tail -n 1 used)" ' -static '
		uses $target cc CFLAGS=-O7
		lacks "$(tail -n 1 used)" ' -static '
		CC=other uses $target other
	done
}

@test "Q4: make test preserves flags that contain quotes, dollar signs and blanks" {
	setup_compiler
	setup_users
	CFLAGS="-DA='\$x' -DB=\"c  d\" -DE=\\f" build
	made " -DA='\$x' -DB=\"c d\" -DE=.f -c\| -o boris "
	cp src/boris first
	uses test cc
	is "$(<used)" "$(<first)"
}

@test "Q4: make static uses musl-gcc unless CC specifies another compiler" {
	setup_compiler
	build static
	made '^# musl-gcc '
	has "$(link_line)" ' -static '
	build static CC=other CFLAGS=-msoft-float
	made '^# other .* -msoft-float '
	has "$(link_line)" ' -static '
}

@test "Q4: make static omits flags that the linker rejects" {
	setup_compiler
	mv bin/cc bin/real
	cat >bin/other <<-'END'
	#!/bin/sh
	case "$*" in
	*norelro*) exit 1 ;;
	*noseparate-code*) echo 'warning: what is noseparate-code?' >&2 ;;
	esac
	exec real "$@"
	END
	build static CC=other
	has "$(link_line)" ' -static -s -Wl,--gc-sections -o boris '
	is "$(cd src && echo probe*)" 'probe*'
}

# count_lines FOLDER NAME...: prints the number of lines of the files below FOLDER
# whose names match
count_lines() {
	local folder=$1 names=()
	shift
	while (($# > 0)); do
		names+=(-o -name "$1")
		shift
	done
	find "$HERE/../$folder" -type f \( "${names[@]:1}" \) \
		! -path '*/node_modules/*' ! -name reply ! -name boris-fast \
		-exec cat {} + | wc -l
}

@test "Q7: the test run prints the line counts of the code, the tests, the manual and the Makefile" {
	local sources tests
	sources=$(($(count_lines . '*.[ch]') - $(count_lines t '*.[ch]')))
	tests=$(count_lines t '*')
	echo "# code $sources, tests $tests," \
		"manual $(wc -l <"$HERE/../doc/boris.1")," \
		"Makefile $(wc -l <"$HERE/../Makefile") lines" >&3
}

# modules: prints the modules, each of which is NAME.c with NAME.h
modules() {
	(cd "$HERE/.." && ls ./*.c ./*/*.c) | module_of | grep -v '^t/'
}

# module_of: replaces the names of files by the names of their modules
module_of() {
	sed -E 's,(^| )\./,\1,g; s,\.[cho]( |$),\1,g'
}

# included: prints a line "A B" if module A includes the header of module B
included() {
	(
		cd "$HERE/.." || return
		for module in $(modules); do
			for file in "$module".[ch]; do
				[ ! -e "$file" ] ||
					sed -n "s,^#include \"\(.*\)\",$module \1,p" "$file"
			done
		done
	) | module_of | sort -u | awk '$1 != $2'
}

# called: prints a line "A B" if module A uses a symbol that module B defines
called() {
	(
		cd "$HERE/.." || return
		nm -A $(modules | sed 's/$/.o/') | awk '{ sub(/:.*/, "", $1) }
			$(NF - 1) == "U" { print "uses", $1, $NF; next }
			$(NF - 1) ~ /[A-Z]/ { print "has", $1, $NF }' | sort | awk '
			$1 == "has" { of[$3] = $2 }
			$1 == "uses" && of[$3] { print $2, of[$3] }'
	) | module_of | sort -u | awk '$1 != $2'
}

# needs_objects: skips the test if the object files do not exist
needs_objects() {
	needs nm tsort
	[ -f "$HERE/../boris.o" ] || skip 'needs what make leaves'
}

@test "Q7: module dependencies contain no cycles" {
	needs_objects
	{ included; called; } | sort -u >needs
	least "$(wc -l <needs)" 60
	is "$(tsort needs 2>&1 >/dev/null)" ''
}

@test "Q7: modules depend only on modules in the same or a lower layer" {
	needs_objects
	{ included; called; } | sort -u | awk '
		BEGIN {
			n = split("base json output run exec session mcp transport boris", layers)
			for (i = 1; i <= n; i++)
				rank[layers[i]] = i
		}
		{
			from = to = $0
			sub(/ .*/, "", from)
			sub(/.* /, "", to)
			sub(/\/.*/, "", from)
			sub(/\/.*/, "", to)
		}
		!rank[from] || !rank[to] || rank[from] < rank[to]' >up
	is "$(cat up)" ''
}

@test "Q7: the top-level directory contains at most 20 entries" {
	[ -e "$HERE/../.git" ] || skip 'needs a git checkout'
	most "$(cd "$HERE/.." && git ls-files | cut -d/ -f1 | sort -u | wc -l)" 20
}

@test "Q7: SPEC names each module" {
	for module in $(modules); do
		grep -q "\b${module##*/}\.c\b" "$HERE/../doc/SPEC" || fail "SPEC does not name $module"
	done
}

@test "Q7: signal_pipe is the only variable at file scope" {
	needs_objects
	needs gcc
	mkdir o
	local sources
	sources=$(modules | sed "s,.*,$HERE/../&.c,")
	(cd o && gcc -std=c99 -fno-pie -I"$HERE/.." -c $sources 2>/dev/null) || :
	is "$(nm o/*.o | sed -n 's/.* [bBdDC] //p')" signal_pipe
}

@test "Q4: make install installs the result of the last build" {
	setup_compiler
	build static
	build install DESTDIR="$PWD/a b" PREFIX=/usr
	cmp src/boris 'a b/usr/bin/boris'
	cmp src/doc/boris.1 'a b/usr/share/man/man1/boris.1'
	made '^# musl-gcc '
}

@test "Q4: make install builds boris if no binary exists" {
	setup_compiler
	build install DESTDIR="$PWD/d"
	made '^# cc '
	cmp src/boris d/usr/local/bin/boris
}

@test "Q4: make uninstall removes all files installed by make install" {
	setup_compiler
	build
	for dirs in PREFIX=/usr 'BINDIR=/b MANDIR=/m DOCDIR=/o UNITDIR=/u'; do
		build install DESTDIR="$PWD/a b" $dirs
		isnt "$(find 'a b' -type f)" ''
		build uninstall DESTDIR="$PWD/a b" $dirs
		is "$(find 'a b' -type f)" ''
	done
}

@test "Q4: make install honours BINDIR, MANDIR, DOCDIR and UNITDIR" {
	setup_compiler
	build
	build install DESTDIR="$PWD/d" BINDIR=/b MANDIR=/m DOCDIR=/o UNITDIR=/u
	is "$(cd d && find . -type f | sort | xargs)" \
		'./b/boris ./m/man1/boris.1 ./o/README ./o/SECURITY ./u/boris.service'
}

@test "Q4: with umask 077, make install installs files that all users can read" {
	setup_compiler
	umask 077
	build install DESTDIR="$PWD/d" BINDIR=/b MANDIR=/m DOCDIR=/o UNITDIR=/u
	umask 022
	is "$(find d/* -type d ! -perm 755)" ''
	is "$(find d -name boris ! -perm 755)" ''
	is "$(find d -type f ! -name boris ! -perm 644)" ''
	is "$(find d -type f | wc -l)" 5
}

@test "Q4: make install writes boris's installed path to the systemd unit" {
	setup_compiler
	build
	build install DESTDIR="$PWD/d" BINDIR=/b UNITDIR=/u
	has "$(<d/u/boris.service)" 'ExecStart=/b/boris '
	build install DESTDIR="$PWD/d" PREFIX='/r&d|x' UNITDIR=/u
	has "$(<d/u/boris.service)" 'ExecStart=/r&d|x/bin/boris '
}

@test "Q4: make install can replace the binary of a running boris" {
	setup_compiler
	build
	mkdir -p d/usr/local/bin
	cp "$(command -v sleep)" d/usr/local/bin/boris
	d/usr/local/bin/boris 60 3>&- 6>&- 9>&- &
	build install DESTDIR="$PWD/d"
	kill -0 $!
	cmp src/boris d/usr/local/bin/boris
	kill $!
}

@test "Q: systemd-analyze verify accepts the systemd unit" {
	needs systemd-analyze
	[ -d /run/systemd ] || mkdir /run/systemd 2>/dev/null ||
		skip 'systemd does not run here'
	sed "s|/usr/local/bin/boris|$BORIS|" "$HERE/../doc/packaging/boris.service" \
		>boris.service
	is "$(systemd-analyze verify --man=no ./boris.service 2>&1)" ''
}

@test "Q: the formatted manual fits in 80 columns" {
	needs groff
	groff -mandoc -Tascii -P-cbou -rLL=78n "$HERE/../doc/boris.1" >out 2>err
	is "$(cat err)" ''
	is "$(awk 'length > 80' out)" ''
}

# clone: clones this repository to a, and sets $version
clone() {
	git clone -q "$HERE/.." a 2>/dev/null || skip 'the repository cannot be cloned'
	version=$("$BORIS" --version | cut -d' ' -f2)
	unset MAKEFLAGS MAKELEVEL CC CFLAGS CPPFLAGS LDFLAGS
}

@test "Q: make tarball creates identical archives from the same sources" {
	clone
	cp -R a b
	make -s -C a tarball
	make -s -C b tarball
	cmp a/boris-*.tar.gz b/boris-*.tar.gz
	is "$(cd a && echo boris-*.tar.gz)" "boris-$version.tar.gz"
}

# commit_newest_version HEADING: commits a CHANGES whose first version has this
# heading
commit_newest_version() {
	sed "1,/^[0-9]/s/^[0-9].*/$1/" a/doc/CHANGES >CHANGES
	mv CHANGES a/doc
	git -C a -c user.name=a -c user.email=b commit -q -a -m "$1" || :
}

# dist_fails ERROR: `make dist` exits with an error that contains this text
dist_fails() {
	run make -s -C a dist
	is "$status" 2
	has "$output" "$1"
}

@test "Q: make dist fails if CHANGES does not give a date for the current version" {
	clone
	commit_newest_version "$version"
	dist_fails "the newest entry of CHANGES is '$version', not '$version, DAY'"
}

@test "Q: make dist fails if the newest version in CHANGES is not the current one" {
	clone
	commit_newest_version '9.9.9, 2031-01-01'
	dist_fails "the newest entry of CHANGES is '9.9.9, 2031-01-01', not '$version, DAY'"
}

@test "Q: make dist fails if there are uncommitted changes" {
	clone
	echo >a/new
	dist_fails 'there are uncommitted changes; see git status'
}

# setup_bundle: puts what doc/packaging/release needs in src, with a copy of boris
# as the binary for each processor
setup_bundle() {
	mkdir -p src/cross
	cp -R "$HERE"/../{LICENSE,README,doc} src
	mkdir -p src/base
	echo '#define BORIS_VERSION "9.8.0"' >src/base/options.h
	for processor in amd64 arm64 armel armhf i386 ppc64el riscv64 s390x; do
		cp "$BORIS" "src/cross/boris-9.8.0-$processor"
	done
}

# setup_launcher: puts the launcher of the npm package in bin, with a binary for
# each of three processors, and a stub of uname that prints $MACHINE
setup_launcher() {
	mkdir -p bin a/amd64 a/armhf a/armel
	cp "$HERE/../doc/packaging/npm/boris" a
	for processor in amd64 armhf armel; do
		printf '#!/bin/sh\necho %s $$ "$@"\n' $processor >a/$processor/boris
		chmod +x a/$processor/boris
	done
	ln -s ../a/boris bin/boris
	printf '#!/bin/sh\necho $MACHINE\n' >bin/uname
	chmod +x bin/uname
	PATH=$PWD/bin:$PATH
}

@test "Q: the npm launcher runs the binary for the current processor" {
	setup_launcher
	while read -r machine processor; do
		MACHINE=$machine bin/boris 'a  b' >out 3>&- 6>&- 9>&- &
		wait $!
		is "$(cat out)" "$processor $! a  b"
	done <<-'END'
	x86_64 amd64
	armv7l armhf
	armv6l armel
	END
}

@test "Q: the npm launcher fails on an unsupported processor architecture" {
	setup_launcher
	run env MACHINE=sparc bin/boris
	is "$status" 1
	has "$output" 'sparc'
}

@test "B4: the npm launcher removes environment variables set by npx" {
	mkdir -p a/amd64 bin
	cp "$HERE/../doc/packaging/npm/boris" a
	printf '#!/bin/sh\nenv\n' >a/amd64/boris
	printf '#!/bin/sh\necho x86_64\n' >bin/uname
	chmod +x a/amd64/boris bin/uname
	env PATH="$PWD/bin:$PATH" npm_config_yes=true npm_execpath=/x NODE=/x INIT_CWD=/x \
		npm_lifecycle_script=$'a b\nnpm_x; touch ran=1' NPM_TOKEN=kept MY_npm_x=kept \
		a/boris >out
	is "$(grep -c -e '^npm_' -e ^NODE= -e ^INIT_CWD= out)" 0
	is "$(grep -c =kept out)" 2
	[ ! -e ran ]
}

# make_npm_package: makes the package from the files of setup_bundle
make_npm_package() {
	(cd src && OWNER=someone sh doc/packaging/release npm) >/dev/null 3>&- 6>&- 9>&-
}

# get_npm_package: makes 1.tgz, or takes the one that another test has made
get_npm_package() {
	local kept=$BATS_FILE_TMPDIR/1.tgz
	if [ ! -e "$kept" ]; then
		setup_bundle
		make_npm_package
		mv src/boris-mcp-9.8.0.tgz "$kept"
	fi
	cp "$kept" 1.tgz
}

@test "Q: repeated runs of make npm on the same files produce identical packages" {
	needs npm
	get_npm_package
	rm -rf src
	setup_bundle
	make_npm_package
	cmp 1.tgz src/boris-mcp-9.8.0.tgz
}

@test "Q: the npm package can be installed" {
	needs npm
	case $(uname -m) in
	x86_64 | aarch64) ;;
	*) skip 'no binary for this processor' ;;
	esac
	get_npm_package
	has "$(tar xzOf 1.tgz package/package.json)" '"io.github.someone/boris"'
	HOME=$PWD npm install -g --offline --no-audit --prefix "$PWD/d" ./1.tgz \
		>/dev/null 2>&1 3>&- 6>&- 9>&-
	is "$(d/bin/boris --version)" "$("$BORIS" --version)"
}
