#!/usr/bin/env bats
# SPDX-License-Identifier: ISC
#
# F: fences, which are the restrictions --write, --no-network and --hide
# shellcheck disable=SC1003,SC1010,SC2012,SC2016,SC2017,SC2030,SC2031,SC2034
# shellcheck disable=SC2054,SC2086,SC2089,SC2090,SC2094,SC2154,SC2238

load http
load helper # Load it again: in these tests, closing stdin stops the server.

# setup_fences: Creates the directories `in`, which the tests pass to --write, and
# `out`.
setup_fences() {
	needs_linux_parts
	mkdir -p in out
	echo before >out/file
}

# needs_landlock: Skips the test if the kernel has no Landlock, or an old one.
needs_landlock() {
	setup_fences
	filter --write=in </dev/null >seen
	case $status:$(<err) in
	*Landlock*'Function not implemented' | *Landlock*'not supported')
		skip "$(<err)"
		;;
	esac
	is "$status: $(cat err seen)" '0: '
}

# needs_namespaces: Skips the test if this user cannot create namespaces.
needs_namespaces() {
	setup_fences
	needs unshare
	if [ "$(id -u)" = 0 ]; then
		unshare -n true || skip 'no network namespace here'
	else
		unshare -Un true || skip 'no user namespace here'
	fi
}

# as_other: Makes the server run as an unprivileged user.
as_other() {
	[ "$(id -u)" = 0 ] || return 0
	needs setpriv
	cp "$BORIS" boris
	chmod 755 "$BATS_RUN_TMPDIR" "$BATS_FILE_TMPDIR" .. . 2>/dev/null || :
	chmod 777 in out tmp
	chmod 666 out/file gate
	BORIS=$PWD/boris
	wrap=(setpriv --reuid=54321 --regid=54322 --clear-groups)
	"${wrap[@]}" test -x "$BORIS" || skip 'no other user can run boris here'
}

# as_other_with_namespaces: Makes the server run as an unprivileged user who can
# create namespaces.
as_other_with_namespaces() {
	as_other
	[ ${#wrap[@]} = 0 ] || "${wrap[@]}" unshare -Un true ||
		skip 'no user namespace for others here'
}

# as_process_1: Makes the server run as process 1 of a pid namespace.
as_process_1() {
	needs_root
	unshare -pf --mount-proc true || skip 'no pid namespace here'
	wrap=(unshare -pf --mount-proc)
}

# fails COMMAND...: Fails if the kernel does not prevent each command with one of
# the errors of Landlock.
fails() {
	local command
	for command; do
		run_bash "$command"
		isnt "$command: $(result exit_code)" "$command: 0"
		like "$command: $(plain stderr)" \
			'*@([Pp]ermission denied|Invalid cross-device link|Operation not permitted)*'
	done
}

# works COMMAND...: Fails if a command does not exit with code 0.
works() {
	local command
	for command; do
		run_bash "$command"
		is "$command: $(result exit_code) $(plain stderr)" "$command: 0 "
	done
}

# only_in_is_writable: Fails if commands can change anything in `out`, or cannot
# write in `in`.
only_in_is_writable() {
	works 'echo x >in/file'
	fails 'echo x >out/new' 'echo x >>out/file' ': >out/file' \
		'truncate -s 0 out/file' 'dd if=/dev/null of=out/file' \
		'rm out/file' 'mkdir out/dir' 'rmdir out' 'mkfifo out/fifo' \
		'ln -s x out/link' 'mv in/file out/file2' 'mv out/file in/file2' \
		'mv out out2' 'ln in/file out/file2' 'ln out/file in/file2' \
		'cp in/file out/file2' '(cd out; echo x >new)' \
		'ln -s ../out in/out; echo x >in/out/new' \
		'echo x >/proc/self/cwd/out/new' 'exec 5<out/file; echo x >/dev/fd/5' \
		'echo x >/proc/self/comm'
	is "$(ls out)" file
	is "$(cat out/file)" before
}

# unreachable ADDRESS: Fails if a connection to the address does not fail at once.
unreachable() {
	start_timer
	run_bash "echo x >/dev/tcp/$1/80"
	within 2000
	is "$(result exit_code)" 1
	like "$(plain stderr)" '*Network is unreachable*'
}

# write_steal: Writes a Perl program to the file steal.pl. The program tries to
# take each descriptor of a process and prints the last error. The numbers of
# pidfd_open() and pidfd_getfd() are the same on all processors.
write_steal() {
	cat >steal.pl <<-'END'
	use POSIX;
	my $p = syscall(434, $ARGV[0] + 0, 0);
	exit 3 if $p < 0;
	for (0 .. 40) { print "got $_\n" if syscall(438, $p, $_, 0) >= 0 }
	print POSIX::strerror($!), "\n";
	END
}

STEALING_FAILED='@(Operation not permitted|Function not implemented)'

# --- F1: --write

@test "F1: with --write, commands can write to the given directory and the temporary directory" {
	needs_landlock
	boris --write=in
	works 'echo a >in/a' 'echo b >>in/a' 'mkdir -p in/d/e' 'mv in/a in/d/e/b' \
		'ln in/d/e/b in/c' 'ln -s c in/l' 'mkfifo in/f' 'truncate -s 1 in/c' \
		'chmod 600 in/c' 'touch in/c' 'rm in/f in/l' 'rm -r in/d' \
		'file=$(mktemp); echo x >$file; rm $file'
	is "$(ls in)" c
	is "$(cat in/c; echo .)" a.
}

@test "F1: with --write, boris can save long output to a file" {
	needs_landlock
	boris --write=in
	run_bash 'head -c 40000 /dev/zero | tr "\0" a'
	is "$(wc -c <"$(plain stdout_file)")" 40000
}

@test "F1: with --write, commands cannot change files outside the writable directory" {
	needs_landlock
	boris --write=in
	only_in_is_writable
}

@test "F1: with --write, truncate(2) fails outside the writable directory" {
	needs_landlock
	needs perl
	boris --write=in
	works 'echo x >in/file; perl -e "truncate q(in/file), 0 or die"'
	run_bash 'perl -e "truncate q(out/file), 0 or die qq(\$!\n)"'
	is "$(plain stderr)" 'Permission denied'
	is "$(cat in/file out/file)" before
}

# write_overlay: Writes a Perl program to the file overlay.pl. The program creates
# an overlay whose work directory is out/work, which the kernel would empty.
write_overlay() {
	cat >overlay.pl <<-'EOF'
	my ($unshare, $type, $fd, $end) = (shift, 'overlay', 0, 0);
	syscall($unshare, 0x10020000);
	$fd = syscall(430, $type, 0);
	for my $set (['lowerdir', 'in'], ['upperdir', 'up'], ['workdir', 'out']) {
		my ($name, $value) = @$set;
		syscall(431, $fd, 1, $name, $value, 0);
	}
	syscall(431, $fd, 6, $end, $end, 0);
	EOF
	mkdir up
}

@test "F1: with --write, an overlay mount cannot be used to empty a directory outside the writable one" {
	needs_landlock
	needs perl
	case $(uname -m) in x86_64) unshare=272 ;; *) unshare=97 ;; esac
	write_overlay
	mkdir out/work
	touch out/work/file
	perl overlay.pl "$unshare"
	[ ! -e out/work/file ] || skip 'no overlay can be made here'
	rm -r out/work
	mkdir out/work
	touch out/work/file
	boris --write=in
	run_bash "perl overlay.pl $unshare"
	test -e out/work/file
}

@test "F1: with --write, root cannot mount file systems or create devices" {
	needs_landlock
	needs_root
	needs mount mknod unshare
	mknod probe c 1 3 || skip 'no device can be made here'
	boris --write=in
	fails 'mount -t tmpfs none in' 'mount --bind out in' \
		'unshare -m mount --bind out in' 'mknod in/null c 1 3' \
		'mknod in/disk b 7 0' 'echo 0 >/proc/sys/kernel/printk'
}

@test "F1: with --write, files outside the writable directory can be read and executed" {
	needs_landlock
	printf '#!/bin/sh\ncat "$0" >in/copy\n' >out/program
	chmod 755 out/program
	boris --write=in
	works 'cat out/file' 'ls out' 'out/program'
	is "$(cat in/copy)" "$(cat out/program)"
}

@test "F1: with --write, commands can write to /dev/null and /dev/shm" {
	needs_landlock
	boris --write=in
	works 'echo x >/dev/null' 'echo x | tee /dev/stdout /dev/fd/1' \
		'cat <(echo x)' 'echo x > >(cat)' 'cat <<<x'
	run_bash 'echo err >/dev/stderr'
	is "$(plain stderr)" err
	if [ -w /dev/shm ]; then
		works 'file=$(mktemp -p /dev/shm); echo x >$file; rm $file'
	fi
}

@test "F1: with --write, commands can run on a terminal" {
	needs_landlock
	boris --write=in
	run_bash 'stty size' '{"tty":true}'
	is "$(plain stdout)" '50 200'
}

@test "F1: with --write, git, cc and sqlite3 work in the writable directory" {
	needs_landlock
	unset "${!GIT_@}" # Git sets some of them for its hooks.
	boris --write=in
	run_bash 'cd in'
	if [ -n "$(type -P git)" ]; then
		works 'git init -q . && echo x >file && git add file &&
			git -c user.name=n -c user.email=e commit -qm first && git log'
	fi
	if [ -n "$(type -P cc)" ]; then
		works 'echo "int main(void) { return 0; }" >a.c && cc -o a a.c && ./a'
	fi
	if [ -n "$(type -P sqlite3)" ]; then
		works 'sqlite3 db "pragma journal_mode = wal; create table t (a);
			insert into t values (1); select * from t"'
	fi
}

@test "F1: files can be moved and linked between two --write directories" {
	needs_landlock
	mkdir -p 'also this' no
	boris --write=in --write "$PWD/also this"
	works 'echo x >in/a' 'mv in/a "also this/b"' 'ln "also this/b" in/c'
	is "$(cat in/c)" x
	fails 'echo x >no/a'
}

@test "F1: BORIS_WRITE makes a directory writable, as --write does" {
	needs_landlock
	mkdir -p 'also this'
	BORIS_WRITE='also this' boris
	works 'echo x >"also this/file"'
	fails 'echo x >in/file'
}

@test "F1: --write overrides BORIS_WRITE" {
	needs_landlock
	mkdir -p 'also this'
	BORIS_WRITE=$BATS_FILE_TMPDIR boris --write=. --workdir=/
	works "echo x >'$PWD/in/file'"
	fails "echo x >'$BATS_FILE_TMPDIR/file'"
}

@test "F1: --write restricts background tasks and processes left running" {
	needs_landlock
	boris --write=in
	start_task 'echo x >out/new'
	read_task "$task" '{"wait":10000}'
	has "$(plain stderr)" 'Permission denied'
	run_bash '(echo x >out/new; echo done >in/left) &'
	await_file in/left
	is "$(ls out)" file
}

@test "F1: over HTTP, --write restricts the commands of every session and stateless client" {
	needs_landlock
	start_http --write=in
	open_session a b
	connect c
	post_bash_and_read a 'echo x >out/new'
	has "$(plain stderr)" 'Permission denied'
	post_bash_and_read b 'echo x >out/new'
	has "$(plain stderr)" 'Permission denied'
	stateless_ran c 'echo x >out/new'
	has "$(plain stderr)" 'Permission denied'
	kill "$server"
	await_exit
	is $status 0
	is "$(ls out)" file
}

@test "F1: with --write, set-user-ID programs such as su do not grant privileges" {
	needs_landlock
	boris --write=in
	run_bash 'grep NoNewPrivs /proc/self/status'
	is "$(plain stdout)" $'NoNewPrivs:\t1'
	if [ -n "$(type -P su)" ] && [ "$(id -u)" != 0 ]; then
		run_bash 'su -c id'
		isnt "$(result exit_code)" 0
	fi
}

@test "F1: without --write, commands run with all of the user's permissions" {
	setup_fences
	boris
	works 'echo x >out/new' 'mv out/new in/new'
	run_bash 'grep NoNewPrivs /proc/self/status'
	is "$(plain stdout)" "$(grep NoNewPrivs /proc/self/status)"
}

# --- F2: --no-network

@test "F2: with --no-network, connections to other hosts fail immediately" {
	needs_namespaces
	boris --no-network
	unreachable 198.51.100.1
	unreachable 2001:db8::1
}

@test "F2: BORIS_NO_NETWORK=1 enables --no-network" {
	needs_namespaces
	BORIS_NO_NETWORK=1 boris
	unreachable 192.0.2.1
	unreachable 2001:db8::1
}

# print_ids [PROGRAM [ARG]...]: Prints the user and group ids with which PROGRAM
# runs others.
print_ids() {
	"$@" id -u
	"$@" id -ru
	"$@" id -g
	"$@" id -rg
}

@test "F2: --no-network does not change the user and group ids of commands" {
	needs_namespaces
	boris --no-network
	run_bash 'id -u; id -ru; id -g; id -rg; stat -c "%u %g" out/file'
	is "$(plain stdout)" "$(print_ids; stat -c '%u %g' out/file)"
	works 'echo x >in/file'
	is "$(stat -c '%u %g' in/file)" "$(stat -c '%u %g' out/file)"
}

# commands_connect: Fails if commands cannot connect to each other over loopback.
commands_connect() {
	run_bash 'busybox nc -l -p 4711 -e echo hello & server=$!
		until exec 3<>/dev/tcp/127.0.0.1/4711; do
			sleep 0.02
		done 2>/dev/null
		cat <&3; wait $server'
	is "$(plain stdout)" hello
}

@test "F2: with --no-network, the processes of a command can communicate over loopback" {
	needs_namespaces
	needs busybox
	boris --no-network
	commands_connect
}

@test "F2: with --no-network, a command can connect to a background task over loopback" {
	needs_namespaces
	needs busybox
	boris --no-network
	start_task 'busybox nc -l -p 4712 -e echo task'
	run_bash 'until exec 3<>/dev/tcp/localhost/4712; do
			sleep 0.02
		done 2>/dev/null
		cat <&3'
	is "$(plain stdout)" task
}

@test "F2: --no-network works when boris runs as an unprivileged user" {
	needs_namespaces
	as_other_with_namespaces
	boris --no-network
	unreachable 192.0.2.1
	[ -z "$(type -P busybox)" ] || commands_connect
}

@test "F2: --no-network does not change an unprivileged user's ids" {
	needs_namespaces
	as_other_with_namespaces
	boris --no-network
	run_bash 'id -u; id -ru; id -g; id -rg'
	is "$(plain stdout)" "$(print_ids "${wrap[@]}")"
	works 'echo x >in/file'
	is "$(stat -c '%u %g' in/file)" \
		"$("${wrap[@]}" id -u) $("${wrap[@]}" id -g)"
}

@test "F2: --no-network does not give an unprivileged user any capabilities" {
	needs_namespaces
	as_other_with_namespaces
	boris --no-network
	run_bash 'grep -h Cap[IPEA] /proc/self/status /proc/$PPID/status'
	is "$(plain stdout | sed 's/.*\t0*$/none/' | uniq)" none
}

@test "F2: with --no-network, commands cannot rejoin the host's network namespace" {
	needs_namespaces
	needs nsenter ip
	boris --no-network
	run_bash "nsenter --net=/proc/$BASHPID/ns/net true"
	isnt "$(result exit_code)" 0
	run_bash "ip link add name v0 type veth peer name boris$$ netns $BASHPID"
	isnt "$(result exit_code)" 0
	run_bash "unshare -n nsenter --net=/proc/$BASHPID/ns/net true"
	isnt "$(result exit_code)" 0
	run_bash "ip -br link | wc -l; readlink /proc/self/ns/net"
	isnt "$(plain stdout | sed -n 2p)" "$(readlink /proc/self/ns/net)"
}

@test "F2: boris still accepts HTTP requests with --no-network" {
	needs_namespaces
	start_http --no-network
	open_session a
	post_bash_and_read a 'echo hi'
	is "$(plain stdout)" hi
	connect b
	send_http b GET /health
	read_response b
	is "$http $body" '200 {"status":"ok"}'
	kill "$server"
	await_exit
	is $status 0
}

@test "F2: with --no-network, commands cannot connect to boris's HTTP port" {
	needs_namespaces
	start_http --no-network
	open_session a
	post_bash_and_read a "exec 2>&1; echo x >/dev/tcp/127.0.0.1/$port"
	like "$(plain stdout)" '*Connection refused*'
	post_bash_and_read a 'exec 2>&1; echo x >/dev/tcp/192.0.2.1/80'
	like "$(plain stdout)" '*Network is unreachable*'
	kill "$server"
	await_exit
	is $status 0
}

@test "F2: with --no-network, commands cannot duplicate boris's HTTP socket" {
	needs_namespaces
	needs perl
	write_steal
	start_http --no-network
	open_session a
	post_bash_and_read a 'perl steal.pl $PPID'
	like "$(plain stdout)" "$STEALING_FAILED"
	kill "$server"
	await_exit
	is $status 0
}

@test "F2: --no-network works if boris is PID 1 in a container" {
	needs_namespaces
	as_process_1
	boris --no-network
	unreachable 192.0.2.1
}

@test "F: --write and --no-network can be combined" {
	needs_namespaces
	needs_landlock
	boris --write=in --no-network
	only_in_is_writable
	unreachable 192.0.2.1
}

@test "F: an unprivileged user can combine --write and --no-network" {
	needs_namespaces
	needs_landlock
	as_other_with_namespaces
	boris --write=in --no-network
	only_in_is_writable
	unreachable 192.0.2.1
}

# --- F5: --hide

# setup_hidden: Creates the directory secrets/dir, with the file `key` in it, and
# the file secrets/p/file. Sets `hide` to the options that hide them.
setup_hidden() {
	needs_namespaces
	needs_landlock # Root needs it so that no process outside can be used.
	unshare -m true || [ "$(id -u)" != 0 ] || skip 'no mount namespace here'
	mkdir -p secrets/dir secrets/p secrets/r
	secret=secret-$RANDOM$RANDOM
	echo $secret | tee secrets/dir/key >secrets/p/file
	hide=("--hide=$PWD/secrets/dir" --hide=secrets/p/file)
}

# setup_hidden_as_other: Creates hidden paths that belong to an unprivileged user,
# and makes the server run as this user.
setup_hidden_as_other() {
	setup_hidden
	as_other_with_namespaces
	[ ${#wrap[@]} = 0 ] || chown -R 54321:54322 secrets
}

# secrets_are_unchanged: Fails if a hidden file has changed.
secrets_are_unchanged() {
	is "$(cat secrets/dir/key secrets/p/file)" "$secret"$'\n'"$secret"
}

# secrets_are_covered: Fails if the hidden paths do not exist, are not empty, or
# can be changed.
secrets_are_covered() {
	run_bash 'ls -a secrets/dir; cat secrets/p/file; cat secrets/dir/key
		test -f secrets/p/file && test -d secrets/dir'
	is "$(result exit_code) $(plain stdout)" $'0 .\n..'
	run_bash 'echo x >secrets/p/file || echo x >secrets/dir/new ||
		rm -r secrets/dir || rmdir secrets/dir || mv secrets/dir secrets/x'
	isnt "$(result exit_code)" 0
	like "$(plain stderr)" '*Read-only*Read-only*busy*busy*busy*'
	secrets_are_unchanged
}

# hold_open: Starts a process outside that has the hidden paths open and the
# directory above them as its working directory. Sets $outside to its pid.
hold_open() {
	cat >hold.pl <<-'END'
	open(A, "<", "dir/key");
	open(B, "<", "p/file");
	opendir(C, "dir");
	open(D, ">", "r/ready");
	sleep 600;
	END
	(cd secrets && exec "${wrap[@]}" perl ../hold.pl) 3>&- 6>&- 9>&- &
	outside=$!
	eventually test -e secrets/r/ready
}

# file_handle: Prints the file handle of secrets/dir/key, which
# name_to_handle_at() returns, in hexadecimal digits.
file_handle() {
	perl - <<-'END'
	my $path = "secrets/dir/key";
	my $handle = pack("Il", 128, 0) . "\0" x 128;
	my $mount = pack("i", 0);
	my $number = `uname -m` =~ /x86_64/ ? 303 : 264;
	syscall($number, -100, $path, $handle, $mount, 0);
	print unpack("H*", substr($handle, 0, 8 + unpack("I", $handle)));
	END
}

# cannot_uncover ARGS...: Fails if one of the many ways in the script `uncover`
# shows a command the hidden text, or changes it.
cannot_uncover() {
	needs perl unshare nsenter
	cp "$HERE/uncover" uncover
	chmod 755 uncover
	hold_open
	SLOW=$((SLOW * 10)) # The script takes two seconds on an idle machine.
	boris "${hide[@]}" "$@"
	run_bash "./uncover $secret '$PWD/secrets' $outside $(file_handle)" \
		'{"timeout":300000}'
	kill $outside
	lacks "$reply" "uncovered by"
	like "$(plain stdout)" '[4-9][0-9] ways'
	secrets_are_unchanged
}

@test "F5: with --hide, a hidden file or directory appears empty and is not writable" {
	setup_hidden
	boris "${hide[@]}"
	secrets_are_covered
}

@test "F5: hidden paths appear empty even if boris runs as an unprivileged user" {
	setup_hidden_as_other
	boris "${hide[@]}"
	secrets_are_covered
}

@test "F5: with --hide, root cannot read or change hidden files" {
	needs_root
	setup_hidden
	cannot_uncover
}

@test "F5: with --hide, --write and --no-network, root cannot read or change hidden files" {
	needs_root
	setup_hidden
	cannot_uncover --write=. --no-network
}

@test "F5: with --hide, an unprivileged user cannot read or change hidden files" {
	setup_hidden_as_other
	chmod 777 .
	cannot_uncover
}

@test "F5: with --hide, --write and --no-network, an unprivileged user cannot read or change hidden files" {
	setup_hidden_as_other
	chmod 777 .
	cannot_uncover --write=. --no-network
}

@test "F5: hidden paths appear empty to background tasks and processes left running" {
	setup_hidden
	boris "${hide[@]}"
	start_task 'cat secrets/p/file >in/task; echo done >>in/task'
	run_bash '(cat secrets/p/file >in/left; echo done >>in/left) &'
	await_file in/task in/left
	eventually grep -q done in/task
	eventually grep -q done in/left
	is "$(cat in/task in/left)" $'done\ndone'
}

@test "F5: hidden paths appear empty in every HTTP session" {
	setup_hidden
	start_http "${hide[@]}"
	open_session a b
	for peer in a b; do
		post_bash_and_read $peer 'cat secrets/p/file'
		is "$(result exit_code) $(plain stdout)" '0 '
	done
	kill "$server"
	await_exit
	is $status 0
}

@test "F5: --hide works if boris is PID 1 in a container" {
	setup_hidden
	as_process_1
	boris "${hide[@]}"
	secrets_are_covered
	run_bash 'cat /proc/1/root/$PWD/secrets/p/file'
	isnt "$(result exit_code)" 0
}

@test "F5: --hide with a symbolic link hides the target of the link" {
	setup_hidden
	ln -s secrets/dir link
	boris --hide=link
	run_bash 'ls secrets/dir link/; cat secrets/p/file'
	is "$(plain stdout)" $'link/:\n\nsecrets/dir:\n'"$secret"
}

@test "F5: --hide accepts a path that is already hidden" {
	setup_hidden
	ln -s secrets/dir link
	boris --hide=link --hide=secrets/dir/key --hide=secrets/dir
	run_bash 'ls secrets/dir; cat secrets/p/file'
	is "$(plain stdout)" "$secret"
}

@test "F5: a hidden FIFO or socket appears as an empty regular file" {
	setup_hidden
	needs perl
	mkfifo secrets/fifo
	perl -MIO::Socket::UNIX \
		-e 'IO::Socket::UNIX->new(Local => "secrets/socket", Listen => 1)'
	boris --hide=secrets/fifo --hide=secrets/socket
	run_bash 'cd secrets; stat -c %F fifo socket; cat fifo socket'
	is "$(plain stdout)" $'regular empty file\nregular empty file'
}

@test "F5: BORIS_HIDE hides a path just as --hide does" {
	setup_hidden
	BORIS_HIDE=secrets/dir boris
	run_bash 'ls secrets/dir; cat secrets/p/file'
	is "$(plain stdout)" "$secret"
}

@test "F5: --hide overrides BORIS_HIDE" {
	setup_hidden
	BORIS_HIDE=secrets/dir boris --hide=secrets/p/file
	run_bash 'ls secrets/dir; cat secrets/p/file'
	is "$(plain stdout)" key
}

@test "F5: with --hide, root can still change files that are not hidden" {
	needs_root
	setup_hidden
	chown 54321 out/file
	chmod 600 out/file
	boris "${hide[@]}"
	works 'cat out/file' 'chown 12345 out/file' 'echo x >out/file' 'kill -0 1'
}

# cannot_hide PATH REASON: Fails if boris accepts to hide the path, or the error
# does not give this reason.
cannot_hide() {
	filter --hide="$1" --workdir=in/work </dev/null >seen
	is "$1 -> $status $(cat seen)" "$1 -> 2 "
	like "$(<err)" "boris: --hide=$(realpath "$1"): must not $2"
}

@test "F5: --hide rejects a path that boris needs" {
	setup_fences
	mkdir -p in/work dir
	ln -s /proc proc
	cannot_hide in "contain $PWD/in/work, the working directory"
	cannot_hide tmp \
		"contain $PWD/tmp, the directory for saved files (\$TMPDIR)"
	cannot_hide /proc 'contain /proc, where boris finds processes'
	cannot_hide proc 'contain /proc, where boris finds processes'
	cannot_hide /dev 'contain /dev/null, which shell scripts need'
	cannot_hide /dev/null 'contain /dev/null, which shell scripts need'
	cannot_hide /dev/ptmx 'contain /dev/ptmx, which terminals need'
	# This covers /dev/ptmx too if that is a link to pts/ptmx.
	cannot_hide /dev/pts 'contain /dev/pt*'
}

@test "F5: --hide rejects a path below /proc" {
	setup_fences
	mkdir -p in/work
	for path in /proc/sys /proc/1 /proc/1/status /proc/meminfo; do
		cannot_hide $path 'be below /proc, which boris needs'
	done
}

@test "F5: --hide rejects the shell and the directory that contains it" {
	setup_fences
	mkdir -p in/work
	[ -x /bin/bash ] || skip 'no /bin/bash'
	for path in /bin/bash "$(dirname "$(realpath /bin/bash)")"; do
		cannot_hide "$path" 'contain /bin/bash, the shell'
	done
}

@test "F5: --hide accepts the directory that contains the shell if --no-bash is given" {
	setup_hidden
	[ -x /bin/bash ] || skip 'no /bin/bash'
	boris --no-bash --edit --hide="$(dirname "$(realpath /bin/bash)")"
	run_tool edit '{"path":"in/new","new":"x"}'
	is "$(cat in/new)" x
}

@test "F5: --hide accepts device files and /sys" {
	setup_hidden
	needs_root
	[ -d /sys/kernel ] || skip 'no /sys here'
	boris --hide=/dev/zero --hide=/sys
	run_bash 'stat -c %F /dev/zero; ls /sys; stat -c %F /dev/null; tty' \
		'{"tty":true}'
	like "$(plain stdout)" \
		$'regular empty file\ncharacter special file\n/dev/pts/*'
	is "$(result exit_code)" 0
}

# exits_with_2 OPTION ARGS...: Fails if boris does not exit with status 2 and one
# line on stderr that names OPTION.
exits_with_2() {
	local option=$1
	shift
	filter "$@" </dev/null >seen
	is "$* -> $status $(cat seen)" "$* -> 2 "
	is "$(wc -l <err)" 1
	has "$(<err)" "$option"
}

@test "F5: --hide rejects a path that does not exist" {
	setup_fences
	for path in '' nowhere in/nowhere; do
		exits_with_2 --hide "--hide=$path"
	done
}

@test "F5: --hide rejects the working directory and its parent directories" {
	setup_fences
	mkdir -p in/work
	for path in / .; do
		exits_with_2 --hide "--hide=$path"
	done
	for path in in in/work/.; do
		exits_with_2 --hide --workdir=in/work "--hide=$path"
	done
}

@test "F5: an empty BORIS_HIDE is rejected" {
	setup_fences
	BORIS_HIDE='' exits_with_2 BORIS_HIDE
}

# --- F3: a fence is as strong as requested

# cannot_steal PID: Fails if a command can take descriptors of the process, or read
# or write them in /proc.
cannot_steal() {
	write_steal
	run_bash "perl steal.pl $1"
	like "$(plain stdout)" "$STEALING_FAILED"
	[ ${#wrap[@]} = 0 ] && [ "$(id -u)" = 0 ] && return
	run_bash "cat /proc/$1/environ; ls -l /proc/$1/fd/ | grep pipe
		echo x >/proc/$1/fd/2"
	isnt "$(result exit_code)" 0
	is "$(plain stdout)" ''
}

@test "F3: with --write, commands cannot duplicate boris's file descriptors" {
	needs_landlock
	needs perl
	boris --write=in
	cannot_steal "$server"
}

@test "F3: with --write, an unprivileged user's commands cannot duplicate boris's file descriptors" {
	needs_landlock
	needs perl
	as_other
	boris --write=in
	cannot_steal "$server"
}

@test "F3: with --hide, root can move and link files between directories" {
	needs_root
	setup_hidden
	boris "${hide[@]}"
	works 'echo x >in/a; ln in/a out/b' 'mv in/a out/a; [ out/a -ef out/b ]'
}

@test "F3: with --no-network, root cannot duplicate other processes' file descriptors" {
	needs_root
	needs_landlock
	needs_namespaces
	needs perl setpriv
	write_steal
	setpriv --bounding-set=-all cat <never 3>&- 6>&- 9>&- &
	outside=$!
	eventually grep -q '^CapPrm:[^1-9a-f]*$' "/proc/$outside/status"
	boris --no-network
	run_bash "perl steal.pl $outside; exec 5</proc/$outside/mem && echo open"
	like "$(plain stdout)" "$STEALING_FAILED"
}

# make_queue: Creates a System V message queue outside of the fences, as the user
# of the server. Sets $queue to its id.
make_queue() {
	queue=$("${wrap[@]}" ipcmk -Q | tr -cd 0-9)
	has "$(ipcs -q)" " $queue "
}

# cannot_see_queue OPTION: Fails if a command with this fence sees the queue.
cannot_see_queue() {
	boris "$1"
	run_bash 'ipcs -q'
	has "$(plain stdout)" msqid
	lacks "$(plain stdout)" " $queue "
	stop_server
}

@test "F3: with --no-network or --hide, existing System V message queues are not visible" {
	setup_hidden
	needs ipcmk ipcs ipcrm
	make_queue
	cannot_see_queue --no-network
	cannot_see_queue "${hide[0]}"
	ipcrm -q "$queue"
}

@test "F3: with --no-network or --hide, an unprivileged user cannot see existing System V message queues" {
	setup_hidden_as_other
	needs ipcmk ipcs ipcrm
	make_queue
	cannot_see_queue --no-network
	cannot_see_queue "${hide[0]}"
	ipcrm -q "$queue"
}

@test "F4: with --write alone, an unprivileged user can create System V message queues" {
	needs_landlock
	needs ipcmk ipcs ipcrm
	as_other
	boris --write=in
	run_bash 'queue=$(ipcmk -Q | tr -cd 0-9)
		ipcs -q -i $queue && ipcrm -q $queue'
	is "$(result exit_code) $(plain stderr)" '0 '
}

# without_sys_admin: Makes the server run without CAP_SYS_ADMIN, as in Docker.
without_sys_admin() {
	needs_root
	needs setpriv
	wrap=(setpriv --bounding-set -sys_admin --inh-caps -sys_admin)
	"${wrap[@]}" true || skip 'no capability can be dropped here'
}

@test "F3: --write works for root without CAP_SYS_ADMIN" {
	needs_landlock
	without_sys_admin
	boris --write=in
	only_in_is_writable
	run_bash 'grep -E "^(CapEff|CapBnd|NoNewPrivs|Seccomp):" /proc/self/status'
	like "$(plain stdout)" $'CapEff*NoNewPrivs:\t1*Seccomp:\t2*'
}

@test "F3: without CAP_SYS_ADMIN, the errors for --no-network and --hide name that capability" {
	setup_fences
	mkdir h
	without_sys_admin
	for args in --no-network "--hide=h" "--write=in --no-network"; do
		filter $args </dev/null >seen
		is "$args -> $status $(cat seen)" "$args -> 1 "
		is "$(wc -l <err)" 1
		like "$(<err)" 'boris: --@(no-network|hide): requires * namespace*CAP_SYS_ADMIN*'
	done
}

# setup_keys: Writes a Perl program to the file keys.pl. The program creates a key,
# searches for it and opens the user's keyring. Sets $add to the number of
# add_key(), which the program takes as its argument.
setup_keys() {
	needs perl
	case $(uname -m) in
	x86_64) add=248 ;;
	aarch64) add=217 ;;
	*) skip 'the numbers of the system calls are not known here' ;;
	esac
	cat >keys.pl <<-'END'
	my ($add, $type, $name, $value) = (@ARGV, "user", "boris-test", "x");
	print syscall($add + 0, $type, $name, $value, 1, -4) > 0 ? "made " : "$! ";
	print syscall($add + 1, $type, $name, 0, 0) > 0 ? "found " : "$! ";
	print syscall($add + 2, 0, -4, 0) > 0 ? "reached\n" : "$!\n";
	END
	chmod 644 keys.pl
	[ "$("${wrap[@]}" perl keys.pl "$add")" = 'made found reached' ] ||
		skip 'no keys here'
}

# remove_key: Removes the key that keys.pl has created outside of the fences.
remove_key() {
	"${wrap[@]}" perl - "$add" <<-'END'
	my ($add, $type, $name) = (@ARGV, "user", "boris-test");
	my $key = syscall($add + 2, 10, -4, $type, $name, 0);
	syscall($add + 2, 9, $key, -4);
	END
}

# cannot_use_keys: Fails if a command with one of the fences can use kernel keys.
cannot_use_keys() {
	local args error='Function not implemented'
	for args in --write=in --no-network "${hide[0]}"; do
		boris "$args"
		run_bash "perl keys.pl $add"
		is "$args $(plain stdout)" "$args $error $error $error"
		stop_server
	done
}

@test "F3: with --write, --no-network or --hide, commands cannot use kernel keyrings" {
	setup_hidden
	setup_keys
	cannot_use_keys
	remove_key
}

@test "F3: with --write, --no-network or --hide, an unprivileged user's commands cannot use kernel keyrings" {
	setup_hidden_as_other
	setup_keys
	cannot_use_keys
	remove_key
}

@test "F3: on x86-64, commands cannot use kernel keyrings through 32-bit system calls" {
	needs_landlock
	needs cc
	[ "$(uname -m)" = x86_64 ] || skip 'for x86-64'
	cat >keys.c <<-'EOF'
	#include <stdio.h>
	int main(void) {
		long result;
		/* keyctl(KEYCTL_GET_KEYRING_ID, KEY_SPEC_USER_KEYRING, 0) */
		__asm__ volatile ("int $0x80" : "=a" (result)
		    : "a" (288), "b" (0), "c" (-4), "d" (0) : "memory");
		printf("%d\n", (int)result > 0 ? 1 : (int)result);
		return 0;
	}
	EOF
	cc -o keys keys.c
	[ "$(./keys)" = 1 ] || skip 'no keys, or no calls on 32 bit'
	boris --write=in
	run_bash ./keys
	is "$(plain stdout)" -38 # ENOSYS
}

@test "F3: with --write, root lacks the capability to open files by handle" {
	needs_landlock
	needs_root
	boris --write=in
	run_bash 'grep CapBnd /proc/self/status'
	hex=$(plain stdout)
	is $((0x${hex##*[[:space:]]} & 4)) 0 # CAP_DAC_READ_SEARCH
}

@test "F3: boris closes file descriptors inherited from the client" {
	needs_linux
	exec 5<>never
	wrap=(bash -c 'exec 11<>never 200<. "$0" "$@"')
	boris
	run_bash 'ls -l /proc/self/fd'
	lacks "$(plain stdout)" never
	lacks "$(ls -l "/proc/$server/fd")" never
	[ ! -e "/proc/$server/fd/200" ]
}

@test "F3: with --write, boris exits with an error if the temporary directory does not exist" {
	needs_landlock
	TMPDIR_FOR_BORIS=$PWD/nowhere
	start --write=in
	end_input
	await_exit
	is "$status $(<err)" \
		"1 boris: --write=$PWD/nowhere: No such file or directory"
}

# needs_injection: Skips the test if strace cannot make system calls fail here.
needs_injection() {
	needs strace
	strace -o /dev/null true || skip 'nothing can be traced here'
}

# fails_to_start ERROR INJECTION ARGS...: Starts boris while strace makes a system
# call fail. Fails if boris does not exit with status 1 and one line on stderr
# that matches ERROR, or if it has run a command or written to stdout.
fails_to_start() {
	local error=$1 inject=$2 before=("${wrap[@]}")
	shift 2
	needs_injection
	{
		send "$HELLO"
		call_bash "touch '$PWD/ran'"
	} 7>calls
	# LeakSanitizer does not work in a traced process.
	wrap+=(env ASAN_OPTIONS=detect_leaks=0
		strace -f -o /dev/null -e inject="$inject")
	filter "$@" <calls >seen
	is "$inject -> $status $(cat seen)" "$inject -> 1 "
	is "$(wc -l <err)" 1
	like "$(<err)" "boris: $error"
	[ ! -e ran ]
	wrap=("${before[@]}")
}

@test "F3: boris exits with an error if the namespaces for --hide cannot be created" {
	setup_hidden
	fails_to_start '--hide: requires a* namespace*: *' \
		unshare:error=EPERM "${hide[@]}"
}

@test "F3: boris exits with an error if a system call that --hide needs fails" {
	setup_hidden
	error='--hide: requires a* namespace*: *'
	fails_to_start "$error" mount:error=EPERM "${hide[@]}"
	fails_to_start "$error" mkdir:error=ENOSPC "${hide[@]}"
	fails_to_start "$error" umount2:error=EBUSY "${hide[@]}"
	[ "$(id -u)" != 0 ] || fails_to_start '--hide: *: *' \
		landlock_restrict_self:error=E2BIG "${hide[@]}"
}

@test "F3: if --hide fails for one path, boris exits with an error that names the path" {
	setup_hidden
	fails_to_start "--hide=$PWD/secrets/dir: *" \
		mount:error=EPERM:when=4 "${hide[@]}"
	fails_to_start "--hide=$PWD/secrets/p/file: *" \
		mount:error=EPERM:when=5 "${hide[@]}"
}

@test "F3: boris exits if an unprivileged user cannot create the namespaces for --hide" {
	setup_hidden_as_other
	fails_to_start '--hide: requires a user namespace: *' \
		unshare:error=EPERM "${hide[@]}"
	fails_to_start '--hide: requires a mount namespace: *' \
		unshare:error=EPERM:when=3 "${hide[@]}"
}

@test "F3: boris exits with an error if Landlock, which --write needs, is missing or too old" {
	setup_fences
	call=landlock_create_ruleset
	for injection in $call:error=ENOSYS $call:error=EOPNOTSUPP \
		$call:error=EPERM $call:retval=2:when=1; do
		fails_to_start '--write: requires Landlock*Linux 6.2*: *' \
			$injection --write=in
	done
}

@test "F3: the HTTP server exits if Landlock, which --write needs, is missing" {
	setup_fences
	fails_to_start '--write: *: *' landlock_create_ruleset:error=ENOSYS \
		--write=in --transport=http --port=0
}

@test "F3: boris exits with an error if a system call that --write needs fails" {
	needs_landlock
	fails_to_start '--write: *: *' \
		landlock_create_ruleset:error=ENOMEM:when=2 --write=in
	fails_to_start "--write=$PWD/in: *" \
		landlock_add_rule:error=ENOMEM --write=in
	fails_to_start '--write: *: *' \
		landlock_restrict_self:error=E2BIG --write=in
	fails_to_start '--write: *: *' prctl:error=EINVAL --write=in
	fails_to_start '--write: requires seccomp filters: *' \
		prctl:error=EINVAL:when=3 --write=in
}

@test "F3: boris exits with an error if the namespaces for --no-network cannot be created" {
	needs_namespaces
	for error in EPERM ENOSYS; do
		fails_to_start '--no-network: *: *' unshare:error=$error \
			--no-network
	done
	fails_to_start '--no-network: *: *' unshare:error=ENOSPC \
		--no-network --write=in
}

@test "F3: boris exits with an error if a system call that --no-network needs fails" {
	needs_namespaces
	for injection in socket:error=EAFNOSUPPORT ioctl:error=EPERM \
		capset:error=EPERM; do
		fails_to_start '--no-network: *: *' $injection --no-network
	done
	for n in 2 3 4; do
		[ "$(id -u)" != 0 ] || fails_to_start '--no-network: *: *' \
			prctl:error=EPERM:when=$n --no-network
	done
}

@test "F3: boris exits if a system call that --no-network needs fails for an unprivileged user" {
	needs_namespaces
	as_other_with_namespaces
	for injection in unshare:error=EPERM socket:error=EAFNOSUPPORT \
		write:error=EPERM:when=1 write:error=EPERM:when=2 \
		write:error=EPERM:when=3; do
		fails_to_start '--no-network: *: *' $injection --no-network
	done
}

@test "F3: --write with an argument that is not a directory is rejected with exit status 2" {
	setup_fences
	for dir in nowhere out/file '' in/nowhere; do
		exits_with_2 --write "--write=$dir"
		exits_with_2 --write --write=in "--write=$dir"
	done
}

@test "F3: BORIS_WRITE set to something other than a directory is rejected with exit status 2" {
	setup_fences
	for dir in nowhere ''; do
		BORIS_WRITE=$dir exits_with_2 BORIS_WRITE
	done
}

# --- F4: the description of the tools

# description: Prints the description of the first tool.
description() {
	ask tools/list && get -s result tools 0 description
}

@test "F4: with --write, the description of bash lists the writable directories" {
	needs_landlock
	mkdir "in/a \"b\" c"
	boris --write="in/a \"b\" c"
	has "$(description)" \
		"Commands can write only below $PWD/in/a \"b\" c, $PWD/tmp"
	stop_server
	boris --write=in --write=out
	has "$(description)" "below $PWD/in, $PWD/out, $PWD/tmp"
	lacks "$(description)" network
}

@test "F4: with --no-network, the description of bash says that commands have no network" {
	needs_namespaces
	boris --no-network
	has "$(description)" 'Commands have no network'
	lacks "$(description)" 'Commands can write'
}

@test "F4: with --write and --no-network, the description of bash mentions both" {
	needs_landlock
	needs_namespaces
	boris --write=in --no-network
	has "$(description)" "Commands can write only below $PWD/in, $PWD/tmp"
	has "$(description)" 'Commands have no network'
}

@test "F4: with --hide, the description of bash states the number of hidden paths" {
	needs_namespaces
	mkdir a b
	"$BORIS" --hide="$PWD/a" </dev/null || skip 'no namespaces here'
	boris --hide="$PWD/a" --hide="$PWD/b"
	has "$(description)" ' 2 paths of this host are hidden and appear empty.'
	stop_server
	boris --hide="$PWD/a"
	has "$(description)" ' One path of this host is hidden and appears empty.'
}

@test "F4: by default, the description of bash does not mention the network" {
	boris
	lacks "$(description)" network
}

@test "F4: the description of bash omits a --write directory whose name is too long" {
	needs_landlock
	long=$(printf 'x%.0s' {1..80})
	mkdir -p "in/$long" "out/$long/$long/$long/$long"
	boris --write="in/$long"
	has "$(description)" "below $PWD/in/$long, $PWD/tmp"
	stop_server
	boris --write="out/$long/$long/$long/$long"
	lacks "$(description)" xxx
	like "$(description)" "* below $PWD/tmp, /dev and 1 more."
}

@test "F4: the description of bash is at most 1,799 characters long even if --write names are long" {
	needs_landlock
	needs_namespaces
	long=$(printf 'x%.0s' {1..200}) odd=$(printf '\001\377%.0s' {1..50})
	mkdir -p "in/$long/$long/$long" "in/$odd"
	few=("--write=in/$odd")
	for i in {1..40}; do
		few+=("--write=in/$long" "--write=in/$long/$long")
	done
	for truncate in head tail both; do
		boris --truncate=$truncate --no-network "${few[@]}"
		ask tools/list
		most "$(get -n result tools 0 description)" 1799
		most ${#reply} 7168
		like "$(get -s result tools 0 description)" '* [0-9]* more*'
		stop_server
	done
}

@test "F4: with --no-bash, the description of edit does not mention commands" {
	needs_landlock
	needs_namespaces
	mkdir d
	echo x >hidden
	boris --edit --no-bash --write=d --hide=hidden --no-network
	ask tools/list
	text=$(get -s result tools 0 description)
	has "$text" ' One path of this host is hidden and appears empty. Files can be'
	has "$text" "Files can be changed only below $PWD/d,"
	lacks "${reply,,}" command
}
