#!/usr/bin/env bats
# SPDX-License-Identifier: ISC
#
# X: editing
# shellcheck disable=SC2011,SC2012,SC2016,SC2030,SC2031,SC2034,SC2038,SC2054
# shellcheck disable=SC2059,SC2086,SC2153,SC2154

load helper

# edit PATH NEW [OLD [MORE]]: Calls edit and reads the response. The arguments
# are JSON strings, except for PATH, which is the content of one. MORE has
# further members.
edit() {
	run_tool edit '{"path":"'"$1"'","new":'"$2${3:+,\"old\":$3}${4:+,$4}"'}'
}

# succeeded PATTERN: Fails if the reply is not a result whose text matches
# PATTERN.
succeeded() {
	is "$(get result isError)" false &&
		like "$(get -s result content 0 text)" "$1"
}

# holds FILE TEXT: Fails if FILE does not contain exactly TEXT, which has the
# escapes of printf.
holds() {
	is "$(od -An -c "$1")" "$(printf "$2" | od -An -c)"
}

# only DIRECTORY FILE...: Fails if DIRECTORY contains other files.
only() {
	local dir=$1
	shift
	is "$(ls -A "$dir" | xargs)" "$*"
}

# inode FILE: Prints the inode number.
inode() {
	ls -i "$1" | sed 's/^ *\([0-9]*\).*/\1/'
}

@test "X1: the edit tool is not offered by default" {
	boris
	ask tools/list
	is "$(get result tools 2)" ''
	lacks "$(get result tools 0 description)" 'with edit'
	edit f '"x"'
	is "$(code)" -32602
	lacks "$(get error message)" 'edit ('
}

@test "X1: --edit or BORIS_EDIT=1 enables the edit tool" {
	boris --edit
	ask tools/list
	is "$(get -s result tools 2 name)" edit
	stop_server
	BORIS_EDIT=1 boris
	ask tools/list
	is "$(get -s result tools 2 name)" edit
}

@test "B6: with --edit, the response to tools/list is at most 8 KiB long" {
	boris --edit
	ask tools/list
	most ${#reply} 8192
}

@test "B6: with --edit, the bash tool's description refers to the edit tool" {
	boris --edit
	ask tools/list
	most "$(get -n result tools 0 description)" 1799
	has "$(get result tools 0 description)" 'use the edit tool'
	lacks "$(get result tools 0 description)" 'cat >'
}

@test "P4: bash rejects an argument of edit as unknown" {
	boris
	run_bash true '{"path":"f"}'
	is_tool_error 'unknown argument "path"; *'
	stop_server
	boris --edit
	run_bash true '{"path":"f"}'
	is_tool_error 'unknown argument "path" (an argument of edit); *'
}

@test "X1: with --edit and --no-bash, the edit tool is the only tool" {
	boris --edit --no-bash
	is "$(get -s result instructions)" \
		"Use the edit tool to create and change files on this server's host."
	ask tools/list
	is "$(get -s result tools 0 name)$(get result tools 1)" edit
}

@test "X1: with --edit and --no-bash, bash is rejected as an unknown tool" {
	boris --edit --no-bash
	run_tool bash '{"command":"touch ran"}'
	is "$(code)" -32602
	has "$(get error message)" 'available tools: edit'
	[ ! -e ran ]
}

@test "X1: with --edit and --no-bash, files can be created and changed" {
	boris --edit --no-bash
	edit f '"x"'
	succeeded "$PWD/f: created"
	edit f '"y"' '"x"'
	succeeded "$PWD/f: text replaced on line 1"$'\n\n1\ty'
	holds f y
}

@test "X1: edit treats the old text as plain text, not as a pattern" {
	boris --edit
	printf 'a b a\na.*b\n' >f
	edit f '"X"' '"a.*b"'
	succeeded '*: text replaced on line 2*'
	holds f 'a b a\nX\n'
}

@test "X1: edit is rejected if the old text occurs twice in the file" {
	boris --edit
	printf 'a b a\nX\n' >f
	edit f '"c"' '"a"'
	is_tool_error '*"old" occurs 2 times, on lines 1, 1; *'$'\n\n1\ta b a\n2\tX'
	holds f 'a b a\nX\n'
}

@test "X1: with all: true, every occurrence of the old text is replaced" {
	boris --edit
	printf 'a b a\nX\n' >f
	edit f '"c"' '"a"' '"all":true'
	succeeded '*: text replaced 2 times, on lines 1, 1*'
	holds f 'c b c\nX\n'
}

@test "X1: with an empty new argument, edit deletes the old text" {
	boris --edit
	printf 'c b c\nX\n' >f
	edit f '""' '"c b c\n"' '"all":true'
	holds f 'X\n'
}

@test "X1: edit creates the file if no old text is given" {
	boris --edit
	edit f '"one\ntwo"'
	succeeded "$PWD/f: created"
	holds f 'one\ntwo'
}

@test "X1: edit without old text is rejected if the file exists" {
	boris --edit
	printf one >f
	for old in null '""'; do
		edit f '"x"' "$old"
		is_tool_error '*File exists*'
	done
	holds f 'one'
}

@test "X1: edit without old text is rejected if the path is a dangling symbolic link" {
	boris --edit
	ln -s nowhere dangling
	edit dangling '"x"'
	is_tool_error '*File exists*'
	[ ! -e nowhere ]
}

@test "X1: edit without old text does not create missing directories" {
	boris --edit
	edit no/f '"x"'
	is_tool_error "$PWD/no/f: cannot create the file: No such file*"
}

@test "X1: edit can write to an existing empty file if no old text is given" {
	boris --edit
	edit empty '""'
	holds empty ''
	edit empty '"x"'
	succeeded "$PWD/empty: created*"
	holds empty x
}

@test "X1: edit without old text does not overwrite another user's empty file" {
	needs_root
	boris --edit
	touch theirs own
	chown nobody theirs
	edit theirs '"a secret"'
	is_tool_error "$PWD/theirs: *exists*"
	holds theirs ''
	edit own '"a secret"'
	holds own 'a secret'
}

@test "P4: with --no-bash, the error about an unknown tool does not mention bash" {
	boris --edit --no-bash
	for name in Bash KillShell KillBash TaskOutput write_stdin bash; do
		run_tool $name '{}'
		is "$(get -s error message)" \
			'unknown tool "'$name'"; available tools: edit'
	done
}

@test "P4: the error about an unknown file-editing tool recommends edit" {
	boris --edit
	for name in Edit MultiEdit Write str_replace; do
		run_tool $name '{}'
		like "$(get -s error message)" \
			"unknown tool \"$name\"; use edit *"
	done
}

@test "P4: without --edit, the error about an unknown tool does not mention edit" {
	boris
	run_tool Edit '{}'
	lacks "$(get -s error message)" 'use edit'
}

@test "X1: edit is rejected if the old and new arguments are identical" {
	boris --edit
	echo x >f
	edit f '"x"' '"x"'
	is_tool_error '"old" and "new" are identical*'
	holds f 'x\n'
}

@test "P4: edit without a path or new argument is rejected" {
	boris --edit
	run_tool edit '{"new":"x"}'
	is_tool_error 'argument "path" is missing*'
	run_tool edit '{"path":"f"}'
	is_tool_error 'argument "new" is missing*'
}

@test "P4: edit is rejected if an argument's value is invalid" {
	boris --edit
	edit '' '"x"'
	is_tool_error 'argument "path" must be *'
	edit 'f\u0000' '"x"'
	is_tool_error 'argument "path" must be *'
	edit f 1 '"x"'
	is_tool_error 'argument "new" must be a string*'
}

@test "P4: the error about an unknown edit argument lists the valid arguments" {
	boris --edit
	run_tool edit '{"path":"f","text":"x","command":"y","new":""}'
	is_tool_error 'unknown arguments "text", "command" (an argument of bash); *'
	is_tool_error '*; edit accepts path, old, new, all'
}

@test "X2: an edit waits for earlier commands" {
	boris --edit
	mkdir d
	call_bash 'cd d; read <../gate; printf b >f'
	call edit '{"path":"f","old":"b","new":"c"}'
	call_bash 'cat f; pwd'
	release
	answer 2
	succeeded "$PWD/d/f: text replaced*"
	answer 3
	is "$(plain stdout)" "c$PWD/d"
}

@test "X2: an edit queued after a command can be cancelled" {
	boris --edit
	call_bash 'read <gate'
	call edit '{"path":"f","new":"x"}'
	cancel $id
	sync_server
	release
	run_bash true
	stop_server
	unanswered 2
	[ ! -e f ]
}

@test "X2: edit preserves bytes that are not valid UTF-8" {
	boris --edit
	printf '\377\0a\tb\n\300x' >f
	edit f '"c"' '"a\tb"'
	holds f '\377\0c\n\300x'
}

@test "X2: the old and new arguments can contain NUL characters" {
	boris --edit
	printf '\377\0c\n\300x' >f
	edit f '"d\u0000"' '"\u0000c\n"'
	holds f '\377d\0\300x'
}

@test "X2: a newline in the old text also matches CRLF, and the new text is then written with CRLF" {
	boris --edit
	printf 'a\r\nb\r\nc\r\n' >f
	edit f '"1\n2\r\n3\n"' '"a\nb\n"'
	succeeded '*: text replaced on line 1*'
	holds f '1\r\n2\r\n3\r\nc\r\n'
}

@test "X2: a newline in the old text matches LF even in a file that also contains CRLF" {
	boris --edit
	printf 'a\r\nb\r\nc\r\nd\r\nx\ny\n' >f
	edit f '"z"' '"x\ny"'
	succeeded '*text replaced on line 5*'
	holds f 'a\r\nb\r\nc\r\nd\r\nz\n'
}

@test "X2: CRLF in the old text matches CRLF even in a file that also contains LF" {
	boris --edit
	printf 'a\nb\r\nc\n' >f
	edit f '"x\ny"' '"b\r\nc"'
	holds f 'a\nx\ny\n'
}

@test "X2: edit is rejected if the old text matches once with LF and once with CRLF" {
	boris --edit
	printf 'a\r\nb\r\na\nb\n' >f
	edit f '"x\ny"' '"a\nb"'
	is_tool_error '*"old" occurs 2 times, on lines 1, 3; *'
}

@test "X2: each replacement uses the line endings of the text it replaces" {
	boris --edit
	printf 'a\r\nb\r\na\nb\n' >f
	edit f '"x\ny\nz"' '"a\nb"' '"all":true'
	succeeded '*: text replaced 2 times, on lines 1, 4*'
	holds f 'x\r\ny\r\nz\r\nx\ny\nz\n'
	printf 'a\r\nb\na\nb\r\n' >f
	edit f '"x\ny\nz\n"' '"a\nb\n"' '"all":true'
	holds f 'x\r\ny\nz\nx\ny\r\nz\r\n'
}

@test "X2: a newline at the start or end of the old text matches a complete CRLF" {
	boris --edit
	printf 'a\r\nb\r\nc\n' >f
	edit f '"\nB"' '"\nb"'
	holds f 'a\r\nB\r\nc\n'
	edit f '""' '"\nB"'
	holds f 'a\r\nc\n'
	edit f '"-"' '"\n"' '"all":true'
	holds f 'a-c-'
}

@test "X2: a newline inserted into a line uses that line's ending" {
	boris --edit
	printf 'a\r\nb\nc\r\nd' >f
	edit f '"1\n2"' '"a"'
	edit f '"3\n4"' '"b"'
	holds f '1\r\n2\r\n3\n4\nc\r\nd'
	printf 'x x\r\nx x\n' >f
	edit f '"y\n"' '"x"' '"all":true'
	holds f 'y\r\n y\r\n\r\ny\n y\n\n'
}

@test "X2: a newline inserted into the last line uses the preceding line's ending" {
	boris --edit
	printf 'c\r\nd' >f
	edit f '"5\n6"' '"d"'
	holds f 'c\r\n5\r\n6'
}

@test "X2: a newline inserted into a file without line endings is LF" {
	boris --edit
	printf a >f
	edit f '"1\n2"' '"a"'
	holds f '1\n2'
}

@test "X2: CRLF in the old text can be replaced by LF" {
	boris --edit
	printf 'a\r\nb\nc\r\n' >f
	edit f '"\n"' '"\r\n"' '"all":true'
	succeeded '*: text replaced 2 times, on lines 1, 3*'
	holds f 'a\nb\nc\n'
	edit f '"b\r\nc"' '"b\nc"'
	holds f 'a\nb\r\nc\n'
	edit f '"x\ny"' '"a\nb\r\nc"'
	holds f 'x\ny\n'
}

@test "X2: a CR in the old text matches a CR in the file" {
	boris --edit
	printf 'a\nx\r\nb\r\n' >f
	edit f '"y"' '"a\nx\r"'
	holds f 'y\nb\r\n'
	printf 'a\rb\nc\r\r\nd' >f
	edit f '"1"' '"\rb\nc\r\r\n"'
	holds f 'a1d'
}

@test "X2: a CR before a newline in the old text does not match the CR of a CRLF" {
	boris --edit
	printf 'a\r\n\r\nb\n\r\r\nc' >f
	edit f '"1"' '"\n\r\r\n"'
	succeeded '*: text replaced on line 3*'
	holds f 'a\r\n\r\nb1c'
}

# owner_of FILE: Prints the mode, the number of links and the owner.
owner_of() {
	ls -ln "$1" | awk '{ print $1, $2, $3, $4 }'
}

@test "X3: edit preserves a file's mode and owner" {
	boris --edit
	echo a=1 >f
	chmod 640 f
	[ "$(id -u)" != 0 ] || chown 1234:4321 f
	before=$(owner_of f)
	edit f '"2"' '"1"'
	holds f 'a=2\n'
	is "$(owner_of f)" "$before"
}

@test "X3: edit leaves no temporary files in the directory" {
	boris --edit
	mkdir d
	echo a=1 >d/f
	number=$(inode d/f)
	edit d/f '"2"' '"1"'
	isnt "$(inode d/f)" "$number"
	only d f
}

@test "X3: if a symbolic link is edited, its target changes and the link remains" {
	boris --edit
	mkdir real etc
	echo a=1 >real/f
	ln -s ../real/f etc/f
	edit etc/f '"2"' '"1"'
	succeeded "$PWD/real/f: text replaced on line 1*"
	holds real/f 'a=2\n'
	is "$(readlink etc/f)" ../real/f
	only etc f
	only real f
}

@test "X3: a file with two hard links keeps both when an edit makes it longer" {
	boris --edit
	echo a=1 >f
	ln f g
	edit f '"longer than it was"' '"1"'
	holds g 'a=longer than it was\n'
	is "$(inode f)" "$(inode g)"
}

@test "X3: a file with two hard links keeps both when an edit makes it shorter" {
	boris --edit
	echo 'a=longer than it was' >f
	ln f g
	edit g '""' '"a=longer "'
	holds f 'than it was\n'
	is "$(inode f)" "$(inode g)"
}

@test "X3: an edit to a directory, a device or a FIFO is rejected" {
	boris --edit
	mkdir d
	edit d '"x"' '"a"'
	is_tool_error "$PWD/d: cannot edit the file: Is a directory"
	edit /dev/null '"x"' '"a"'
	is_tool_error '/dev/null: *must name a regular file'
	edit gate '"x"' '"a"'
	is_tool_error '*must name a regular file'
}

@test "X3: an edit to a read-only file is rejected" {
	boris --edit
	echo a >f
	chmod 444 f
	edit f '"x"' '"a"'
	is_tool_error '*Permission denied*'
	holds f 'a\n'
}

@test "X3: edit with old text is rejected if the file does not exist" {
	boris --edit
	edit none '"x"' '"a"'
	is_tool_error "$PWD/none: cannot edit the file: No such file*"
}

@test "X3: an edit that would make a file larger than 16 MiB is rejected" {
	boris --edit
	head -c 16777216 /dev/zero | tr '\0' a >f
	edit f '"aa"' '"a"' '"all":true'
	is_tool_error '*at most 16 MiB, before and after the edit'
	is "$(wc -c <f | xargs)" 16777216
}

@test "X3: an edit to a file larger than 16 MiB is rejected" {
	boris --edit
	head -c 16777216 /dev/zero | tr '\0' a >f
	printf b >>f
	edit f '""' '"ab"'
	is_tool_error '*at most 16 MiB, before and after the edit'
	is "$(wc -c <f | xargs)" 16777217
}

# on_full_disk: Starts a server with a file system d that is full. It has the
# file f, and the file g, which has a second name h.
on_full_disk() {
	needs_root
	needs unshare mount
	unshare -m true || skip 'no mount namespaces here'
	mkdir d
	wrap=(unshare -m sh -c '
		mount -t tmpfs -o size=64k none d
		head -c 20000 /dev/zero | tr "\0" a >d/f
		echo END >>d/f
		cp d/f d/g
		ln d/g d/h
		cat /dev/zero >d/fill 2>/dev/null
		exec "$@"' sh)
	boris --edit
	long=$(printf %09000d 0)
}

@test "X3: an edit on a full disk fails and leaves the file unchanged" {
	on_full_disk
	edit d/f '"x"' '"END"'
	is_tool_error '*No space left on device'
	run_bash 'ls -A d | xargs; wc -c <d/f; cmp d/f d/g'
	is "$(plain stdout)" $'f fill g h\n20004'
}

@test "X3: a file with two hard links is left unchanged if the disk is too full" {
	on_full_disk
	edit d/g "\"$long\"" '"END"'
	is_tool_error '*No space left on device'
	run_bash 'ls -A d | xargs; cmp d/f d/g; tail -c 4 d/g'
	is "$(plain stdout)" $'f fill g h\nEND'
}

@test "X3: no new file is left behind when the disk is full" {
	on_full_disk
	edit d/new "\"$long\""
	is_tool_error '*No space left on device'
	run_bash 'ls -A d | xargs'
	is "$(plain stdout)" 'f fill g h'
}

@test "X3: on a full disk, a file with two hard links can be edited to the same size" {
	on_full_disk
	edit d/g '"SAME"' '"aEND"'
	succeeded '*replaced*'
}

@test "X3: the error about a read-only file system includes the system's error message" {
	needs_root
	needs unshare mount
	unshare -m true || skip 'no mount namespaces here'
	mkdir d
	wrap=(unshare -m sh -c 'mount -t tmpfs none d && echo a >d/f &&
		mount -o remount,ro d; exec "$@"' sh)
	boris --edit
	edit d/f '"x"' '"a"'
	is_tool_error '*Read-only file system'
	edit d/new '"x"'
	is_tool_error '*Read-only file system'
}

@test "X3: the error about an immutable file includes the system's error message" {
	needs_root
	boris --edit
	echo a >f
	chattr +i f || skip 'no immutable files here'
	edit f '"x"' '"a"'
	chattr -i f
	is_tool_error '*Operation not permitted*'
	holds f 'a\n'
}

@test "X3: a file that is a mount point can be edited" {
	needs_root
	needs unshare mount
	unshare -m true || skip 'no mount namespaces here'
	mkdir d
	echo b | tee d/bound >bound
	wrap=(unshare -m sh -c 'mount --bind bound d/bound; exec "$@"' sh)
	boris --edit
	edit d/bound '"c"' '"b"'
	succeeded '*replaced*'
	only d bound
	holds bound 'c\n'
}

# boris_of_another_user: Starts a server of a user who cannot create files in
# the directory d, but can write to the file d/f.
boris_of_another_user() {
	needs_root
	needs setpriv
	mkdir d
	echo a >d/f
	chmod 755 d
	chmod 666 d/f
	[ "$BORIS" -ef boris ] || cp "$BORIS" boris
	chmod 755 "$BATS_RUN_TMPDIR" "$BATS_FILE_TMPDIR" .. . boris \
		2>/dev/null || :
	chmod 777 tmp
	BORIS=$PWD/boris
	wrap=(setpriv --reuid=54321 --regid=54322 --clear-groups)
	"${wrap[@]}" test -x "$BORIS" || skip 'no access for other users'
	boris --edit
}

@test "X3: a writable file in a read-only directory can be edited" {
	boris_of_another_user
	number=$(inode d/f)
	edit d/f '"b"' '"a"'
	succeeded '*replaced*'
	holds d/f 'b\n'
	is "$(inode d/f) $(ls -ln d/f | awk '{print $3}')" "$number 0"
	only d f
}

@test "X3: edit cannot create a file in a read-only directory" {
	boris_of_another_user
	edit d/new '"b"'
	is_tool_error '*Permission denied*'
	only d f
}

# edit_swapping A B ARGUMENTS: Makes eight edits while a Perl program exchanges
# the names A and B all the time.
edit_swapping() {
	needs perl
	rm -f stop swaps
	# 316 and 276 are the numbers of renameat2 on x86-64 and arm64.
	perl -e '
		my ($a, $b) = @ARGV;
		my $call = `uname -m` =~ /x86_64/ ? 316 : 276;
		my $parent = getppid();
		syscall($call, -100, $a, -100, $b, 2) and exit;
		print "x";
		close(STDOUT);
		until (-e "stop" || getppid() != $parent) {
			syscall($call, -100, $a, -100, $b, 2) for 1 .. 500;
		}' "$1" "$2" >swaps 3>&- 6>&- 7>&- 8>&- 9>&- &
	eventually test -s swaps 2>&- || skip 'names cannot be exchanged here'
	for m in {1..8}; do run_tool edit "$3"; done
	touch stop
	wait $!
}

@test "X3: if a file is replaced by a symbolic link, edit does not copy the link's target" {
	boris --edit
	mkdir d
	echo 'a secret' >secret
	for n in {1..10}; do
		rm -rf d/*
		echo 'a file' >d/f
		ln -s ../secret d/g
		edit_swapping d/f d/g '{"path":"d/f","old":"a","new":"ya"}'
		is "$(find d -type f -exec grep -H secret {} +)" ''
	done
}

@test "X3: if a directory is replaced by a symbolic link, edit does not change files elsewhere" {
	boris --edit
	mkdir d theirs
	for n in {1..8}; do
		rm -rf d/*
		mkdir d/ours
		echo 'a of ours' >d/ours/f
		echo 'a of theirs' >theirs/f
		ln -s ../theirs d/link
		edit_swapping d/ours d/link \
			'{"path":"d/ours/f","old":"a","new":"ya"}'
		[ -L d/link ] || { rm d/ours && mv d/link d/ours; }
		is "$(find d/ours theirs ! -type d | xargs)" 'd/ours/f theirs/f'
		like "$(<d/ours/f) $(<theirs/f)" '*a of ours *a of theirs'
	done
}

# edit_and COMMAND: Edits the file d/f, whose last line is `end`. Runs COMMAND
# when boris has created the new file, or has answered.
edit_and() {
	mkdir -p d
	{ yes 'a line' | head -c 4000000; echo end; } >d/f
	chmod 644 d/f
	call edit '{"path":"d/f","old":"end","new":"END"}'
	shopt -s dotglob
	until files=(d/*) && ((${#files[@]} > 1)) || read -rt 0 -u 8; do :; done
	eval "$1"
	answer
	[ "$(get result isError)" = false ] || is_tool_error "$PWD/d/f: *"
	only d f
}

@test "X3: a line appended by another program during an edit is not lost" {
	boris --edit
	for n in 1 2 3; do
		edit_and 'echo appended >>d/f'
		is "$(tail -n 1 d/f)" appended
	done
}

@test "X3: a mode set by another program during an edit is preserved" {
	boris --edit
	for n in 1 2 3; do
		edit_and 'chmod 600 d/f'
		is "$(stat -c %a d/f)" 600
	done
}

# boris_with_slow_disk: Starts a server under strace, which delays fsync and
# renameat2 and writes the file `trace`.
boris_with_slow_disk() {
	needs strace
	strace -o /dev/null true || skip 'strace does not work here'
	# LeakSanitizer cannot run under strace.
	wrap=(env ASAN_OPTIONS=detect_leaks=0 strace -f -o trace
		-e inject=fsync:delay_enter=300000
		-e inject=?renameat,?renameat2:delay_exit=500000)
	boris --edit
}

@test "X3: if a line is appended just before an edit overwrites the file, the line is not lost" {
	for new in longer s six; do
		boris_with_slow_disk
		printf '%s\n' a old end >f
		ln -f f g
		call edit '{"path":"f","old":"old","new":"'$new'"}'
		eventually grep -q 'fsync(' trace
		echo appended >>g
		answer
		is "$(xargs <f)" "a $new end appended"
		stop_server
		rm trace
	done
}

@test "X3: 100 MB appended during an edit is not copied into the edited file" {
	boris_with_slow_disk
	printf '%s\n' a six end >f
	exec 5>>f
	call edit '{"path":"f","old":"six","new":"so"}'
	until grep -q so f; do :; done
	truncate -s 100M /dev/fd/5
	answer
	exec 5>&-
	most "$(du -k f | cut -f 1)" 40000
}

# edit_line NAME: Starts another boris in the background, which replaces the
# line NAME of the file f by "NAME done". The output is in the file NAME.
edit_line() {
	local edit='{"path":"f","old":"'$1'\n","new":"'$1' done\n"}'
	printf '%s\n' "$HELLO" >"in.$1"
	printf '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":%s}\n' \
		'{"name":"edit","arguments":'"$edit"'}' >>"in.$1"
	# shellcheck disable=SC2086
	TEST_MARK="$PWD:" $WRAP "$BORIS" --edit <"in.$1" >"$1" 2>"err.$1" \
		7>&- 8>&- 9>&- &
}

# edit_in_parallel: Fails if one of three simultaneous edits of the file f is
# not made.
edit_in_parallel() {
	for name in a b c; do edit_line $name; done
	wait
	holds f 'a done\nb done\nc done\n'
	is "$(cat a b c | grep -c '"text":"[^"]*: text replaced on line')" 3
}

@test "X5: simultaneous edits to one file by several servers are all applied" {
	for round in {1..10}; do
		printf '%s\n' a b c >f
		edit_in_parallel
	done
}

@test "X5: simultaneous edits to two hard links of one file are all applied" {
	for round in {1..10}; do
		printf '%s\n' a b c >f
		ln -f f g
		edit_in_parallel
	done
}

# lock FILE: Creates FILE and locks it, with descriptor 5.
lock() {
	needs_linux_parts
	needs flock
	echo a >"$1"
	exec 5<"$1"
	flock 5
}

# unlock: Unlocks the file.
unlock() {
	flock -u 5
	exec 5<&-
}

@test "X5: an edit is rejected if another program holds a lock on the file" {
	boris --edit
	lock f
	edit f '"b"' '"a"'
	is_tool_error "$PWD/f: the file was not changed, because another program*"
	is_tool_error '*has locked it; try again later'
	holds f 'a\n'
}

@test "X5, A1: the elapsed time in the log includes time spent waiting for a lock" {
	boris --edit --log=log
	lock f
	edit f '"b"' '"a"'
	stop_server
	least "$("$HERE/reply" -l elapsed_ms <log)" 900
}

@test "X5: a file can be edited after another program unlocks it" {
	boris --edit
	lock f
	edit f '"b"' '"a"'
	unlock
	edit f '"b"' '"a"'
	succeeded '*replaced*'
}

@test "X5: other requests are answered while an edit is waiting for a lock" {
	boris --edit
	lock f
	call edit '{"path":"f","old":"a","new":"b"}'
	edited=$id
	ask ping
	run_bash 'echo parallel' '{"cwd":"/"}'
	is "$(plain stdout)" parallel
	lacks "$(<heard)" "\"id\":$edited,"
	unlock
	answer $edited
	succeeded '*replaced*'
	holds f 'b\n'
}

@test "X5: a command waits for an earlier edit that is still waiting for a lock" {
	boris --edit
	lock f
	call edit '{"path":"f","old":"a","new":"b"}'
	call_bash 'cat f'
	ask ping
	unlock
	answer $((id - 1))
	is "$(plain stdout)" b
}

@test "X5: an edit can be cancelled while it is waiting for a lock" {
	boris --edit --log=log
	lock f
	call edit '{"path":"f","old":"a","new":"b"}'
	edited=$id
	ask ping
	cancel $edited
	run_bash 'cat f'
	is "$(plain stdout)" a
	unlock
	stop_server
	unanswered $edited
	holds f 'a\n'
	lacks "$(<log)" '"event":"edit"'
}

@test "X5: SIGTERM aborts an edit that is waiting for a lock" {
	boris --edit
	lock f
	call edit '{"path":"f","old":"a","new":"b"}'
	edited=$id
	ask ping
	kill -TERM $server
	answer $edited
	is_tool_error 'not run, because the session was closed'
	await_exit
	holds f 'a\n'
}

# tampered [-P FILE] CALLS...: Starts a server under strace, which tampers with
# these system calls (see --inject in strace(1)), or only with those on FILE.
tampered() {
	needs_linux_parts
	needs strace
	strace -o /dev/null true || skip 'strace does not work here'
	# LeakSanitizer cannot run under strace.
	wrap=(env ASAN_OPTIONS=detect_leaks=0 strace -f -o trace)
	if [ "$1" = -P ]; then
		wrap+=(-P "$PWD/$2")
		shift 2
	fi
	local inject
	for inject; do wrap+=(-e "inject=$inject"); done
	boris --edit
}

# replace_during CALL NEW COMMAND: Calls edit, which replaces `two` by NEW in
# the file f. Runs COMMAND when the server is in the system call CALL, and reads
# the response.
replace_during() {
	call edit '{"path":"f","old":"two","new":"'"$2"'"}'
	eventually grep -q "$1(" trace
	eval "$3"
	answer
}

# undone: Fails if the reply does not say that another program has changed the
# file.
undone() {
	is_tool_error '*another program changed it during the edit; try again*'
}

@test "X6: an edit fails if another program replaces the file just before the edit is written" {
	tampered renameat2:delay_enter=500000:when=1
	printf 'one\ntwo\n' >f
	echo 'of another program' >other
	replace_during renameat2 2 'mv other f'
	undone
	holds f 'of another program\n'
	lacks "$(ls -A)" .boris-
}

@test "X6: an edit fails if another program changes the file just before the edit is written" {
	for change in 'printf ONE | dd of=f conv=notrunc status=none' \
		'chmod 600 f' 'ln f g'; do
		tampered renameat2:delay_enter=500000:when=1
		printf 'one\ntwo\n' >f
		chmod 644 f
		number=$(inode f)
		replace_during renameat2 2 "$change"
		undone
		is "$(tail -n 1 f) $(inode f)" "two $number"
		stop_server
		rm trace
	done
	lacks "$(ls -A)" .boris-
}

@test "X6: text appended while a failed edit is being undone is not lost" {
	tampered renameat2:delay_exit=500000:when=1
	printf 'one\ntwo\n' >f
	exec 5<>f
	replace_during renameat2 2 'until grep -q 2 f; do :; done
		echo appended >>f
		echo ONE >&5'
	exec 5>&-
	undone
	holds f 'ONE\ntwo\nappended\n'
}

@test "X6: a file can be edited even if the kernel lacks renameat2()" {
	tampered renameat2:error=ENOSYS
	printf 'one\ntwo\n' >f
	edit f '"2"' '"two"'
	succeeded '*text replaced on line 2*'
	holds f 'one\n2\n'
	lacks "$(ls -A)" .boris-
}

@test "X6: a file can be created even if the kernel lacks renameat2()" {
	tampered renameat2:error=ENOSYS
	edit new '"x"'
	succeeded '*created'
	holds new x
	lacks "$(ls -A)" .boris-
}

@test "X6: a file with two hard links is not edited if another program changes it in the meantime" {
	tampered fsync:delay_enter=500000:when=1
	printf 'one\ntwo\n' >f
	ln f g
	replace_during fsync 'more than two' \
		'printf ONE | dd of=f conv=notrunc status=none
		echo appended >>f'
	undone
	holds f 'ONE\ntwo\nappended\n'
}

@test "X6: in a file with two hard links, edit writes only the bytes that differ" {
	tampered fsync:delay_enter=500000:when=1
	printf 'one\ntwo\nthree\n' >f
	ln f g
	replace_during fsync TWO 'printf ONE | dd of=f conv=notrunc status=none'
	succeeded '*replaced*'
	holds f 'ONE\nTWO\nthree\n'
}

@test "X6: if writing to a file fails, text appended in the meantime is not lost" {
	for new in 'more than two' 2 TWO; do
		printf 'one\ntwo\n' >f
		tampered -P f pwrite64:error=EIO:delay_enter=500000:when=1
		ln -f f g
		replace_during pwrite64 "$new" 'echo appended >>f'
		is_tool_error "$PWD/f: cannot edit the file: Input/output error"
		holds f 'one\ntwo\nappended\n'
		stop_server
		rm trace
	done
}

# in_fifth_read: Succeeds if the server is in its fifth read of the file.
in_fifth_read() {
	[ "$(grep -c 'pread64(' trace)" = 5 ]
}

@test "X6: if text is appended just before an edit shortens the file, the text is not lost" {
	tampered -P f pread64:delay_exit=500000:when=5
	printf 'one\ntwo\n' >f
	ln f g
	call edit '{"path":"f","old":"two","new":"2"}'
	eventually in_fifth_read
	echo appended >>f
	answer
	succeeded '*replaced*'
	holds f 'one\n2\nappended\n'
}

@test "X3: a file in /proc/sys can be edited" {
	needs_root
	needs unshare hostname
	wrap=(unshare -u sh -c 'hostname before &&
		[ -w /proc/sys/kernel/hostname ] && exec "$@"' sh)
	"${wrap[@]}" true || skip 'no such namespace here'
	boris --edit
	edit /proc/sys/kernel/hostname '"now"' '"before"'
	succeeded '/proc/sys/kernel/hostname: text replaced on line 1*in place*'
	run_bash hostname
	is "$(plain stdout)" now
}

@test "X3: if boris is killed during an edit, the file contains either its old or its new content" {
	needs_linux
	mkdir d
	yes 'a line of text' | head -n 200000 >old
	echo end >>old
	sed '$s/end/END/' old >new
	for n in {1..20}; do
		cp old d/f
		boris --edit
		call edit '{"path":"d/f","old":"end","new":"END"}'
		pause $n
		kill -9 $server
		await_exit || :
		eventually only d f 2>/dev/null
		cmp -s d/f old || cmp d/f new
	done
}

@test "F1: with --write, an edit outside the writable directory is rejected" {
	needs_linux
	mkdir in out
	echo a | tee in/f >out/f
	filter --write=in </dev/null >seen
	[ "$status" = 0 ] || skip "$(<err)"
	boris --edit --write=in
	edit out/f '"b"' '"a"'
	is_tool_error '*Permission denied*'
	edit out/new '"b"'
	is_tool_error '*Permission denied*'
	holds out/f 'a\n'
	only out f
}

@test "F1: with --write, a file in the writable directory can be edited" {
	needs_linux
	mkdir in
	echo a >in/f
	filter --write=in </dev/null >seen
	[ "$status" = 0 ] || skip "$(<err)"
	boris --edit --write=in
	edit in/f '"b"' '"a"'
	succeeded '*replaced*'
	holds in/f 'b\n'
	only in f
}

@test "X4: the result of an edit shows three lines before and after the change" {
	boris --edit
	seq 100 >f
	edit f '"fifty\nand more"' '"50"'
	is "$(get -s result content 0 text)" "$PWD/f: text replaced on line 50

47	47
48	48
49	49
50	fifty
51	and more
52	51
53	52
54	53"
}

@test "B6: the structuredContent of an edit contains the same text as the result" {
	boris --edit
	seq 100 >f
	edit f '"fifty"' '"50"'
	is "$(result text)" "$(text)"
	is "$(result status)" '"completed"'
}

@test "X4: the result of an edit shows at most 20 lines of the file" {
	boris --edit
	seq 100 >f
	edit f '"!\n"' '"0\n"' '"all":true'
	succeeded '*: text replaced 10 times, on lines 10, 20, 30, 40, 50, *'
	# The lines of two gaps are counted, too.
	is "$(plain text | grep -c '^[0-9.]')" 22
	has "$(plain text)" $'\n13\t13\n...\n17\t17\n'
}

@test "X4: a long line is shortened in the result of an edit" {
	boris --edit
	printf '%0500d\nb\n' 0 >f
	edit f '"B"' '"b"'
	like "$(plain text)" '*1'$'\t''0*0...'$'\n'*
	most "$(plain text | grep 000 | wc -c)" 170
}

@test "X4: the result of an edit does not contain control characters from the file" {
	boris --edit
	printf '\033[31mred\rb\n' >f
	edit f '"B"' '"b"'
	has "$(plain text)" $'1\t[31mredB'
}

@test "X4: if the old text is not found, the error shows text that differs only in white space" {
	boris --edit
	printf 'x\n\tif (a)\n\t\tb();\n' >f
	edit f '"y"' '"    if (a)\n        b();\n"'
	shown=$'1\tx\n2\t\tif (a)\n3\t\t\tb();'
	is_tool_error '*"old" was not found, but text that differs only in white space *'
	is_tool_error "*occurs on line 2"$'\n\n'"$shown"
}

@test "X4: if the old text is not found, the error mentions white space only if that is the cause" {
	boris --edit
	printf 'x\n\tif (a)\n\t\tb();\n' >f
	edit f '"y"' '"elsewhere\nx"'
	is_tool_error '*"old" was not found*'
	lacks "$(text)" 'white space'
}

@test "X4: if the old text occurs several times, the error gives the count and the line numbers" {
	boris --edit
	seq 30 | sed s/.*/x/ >f
	edit f '"y"' '"x"'
	is_tool_error '*"old" occurs 30 times, on lines 1, 2, *"all" to true*'
}

@test "K3: the result of an edit does not exceed --result-limit" {
	boris --edit --result-limit=2000
	long=$(printf %0300d 0)
	for n in {1..20}; do echo $long; done >f
	edit f '"1\n"' '"0\n"' '"all":true'
	most "$(plain text | wc -c)" 2000
	like "$(plain text)" '*: text replaced 20 times*...'
}

@test "T8: the result of an edit includes notes about finished tasks" {
	boris --edit
	start_task 'read <gate'
	release
	eventually is_reaped $pid
	sync_server
	edit f '"x"'
	succeeded '*: created'$'\n'"note: task $task ended with *"
}

@test "P6: 16 million replacements take at most half a second of CPU time" {
	needs_plain
	boris --edit
	head -c 16777216 /dev/zero | tr '\0' a >f
	before=$(ticks)
	edit f '"b"' '"a"' '"all":true'
	succeeded '*: text replaced 16777216 times*'
	most $(($(ticks) - before)) $((50 * SLOW))
}

@test "P6: searching 16 MiB for a long string takes at most half a second of CPU time" {
	needs_plain
	boris --edit
	head -c 16777216 /dev/zero | tr '\0' a >f
	long=$(printf %090000d 0 | tr 0 a)
	before=$(ticks)
	edit f '"c"' "\"$long c\""
	is_tool_error '*'
	most $(($(ticks) - before)) $((50 * SLOW))
}
