# http.bash: functions for tests of boris over HTTP, in addition to helper.bash.
# A test names each of its connections (PEER). The connections use bash's
# /dev/tcp.
# shellcheck shell=bash disable=SC2034,SC2154

load helper

port=0
declare -gA wire=()   # file descriptors, by connection
declare -gA visit=()  # Mcp-Session-Id, by connection
declare -gA pieces=() # text of a stream that was read but not yet parsed
http='' head='' body='' line='' comments=0 written=0

MODERN='MCP-Protocol-Version: 2026-07-28'

# serve ARGS...: Starts a server that listens on a free port. Sets $port. Fails
# if the server cannot listen.
serve() {
	rm -f err # of an earlier server
	start --transport=http --port=0 "$@" && eventually listens_or_not || return
	port=$(sed -n 's|^boris: listening on \(http://.*\)/mcp$|\1|p' err)
	[ -n "$port" ] || return
	port=${port##*[:/]}
	[[ $port == [0-9]* && $port != *.* ]] || port=80
}

# listens_or_not: Succeeds if the server has started to listen or has exited.
listens_or_not() {
	grep -qs '^boris: listening on' err || exited
}

# leave: Sends SIGTERM to the server and waits until it has exited. Over HTTP,
# closing stdin does not stop the server.
leave() {
	kill "$server"
	died
	# Teardown fails if stderr contains anything else.
	grep -v '^boris: \(listening on\|generated token:\) ' err >said || :
	mv said err
}

# plug PEER...: Opens a connection for each PEER.
plug() {
	local fd peer
	for peer; do
		exec {fd}<>"/dev/tcp/127.0.0.1/$port" || return
		wire[$peer]=$fd
	done
}

# unplug PEER...: Closes the connection of each PEER.
unplug() {
	local fd peer
	for peer; do
		fd=${wire[$peer]}
		exec {fd}>&-
		# shellcheck disable=SC2184
		unset "wire[$peer]"
	done
}

# put PEER TEXT: Writes TEXT to the connection and adds its length to $written.
put() {
	written=$((written + ${#2}))
	printf '%s' "$2" >&"${wire[$1]}"
}

# asks PEER VERB PATH [HEADER]... [-- BODY]: Writes a request.
asks() {
	local peer=$1 text="$2 $3 HTTP/1.1"$'\r\n' host="Host: 127.0.0.1:$port"
	shift 3
	while (($# > 0)) && [ "$1" != -- ]; do
		case $1 in
		Host:*) host='' ;;
		esac
		text+=$1$'\r\n'
		shift
	done
	[ -z "$host" ] || text+=$host$'\r\n'
	# End the body with a newline, so that bash writes the request at once.
	# The second of two small segments would wait 40 ms for the first to be
	# acknowledged.
	local body=${2:+$2$'\n'}
	[ "${1-}" != -- ] || text+="Content-Length: ${#body}"$'\r\n'
	put "$peer" "$text"$'\r\n'"$body"
}

# post PEER BODY [HEADER]...: Posts a message in the session of PEER.
post() {
	local peer=$1 text=$2
	shift 2
	asks "$peer" POST /mcp 'Content-Type: application/json' \
		'Accept: application/json, text/event-stream' \
		${visit[$peer]:+"Mcp-Session-Id: ${visit[$peer]}"} "$@" -- "$text"
}

# asked PEER ...: Writes a request like asks and reads the response.
asked() {
	asks "$@" && takes "$1"
}

# posted PEER ...: Posts a message like post and reads the response.
posted() {
	post "$@" && takes "$1"
}

# modern_posted PEER ...: Posts a message like modern_post and reads the
# response.
modern_posted() {
	modern_post "$@" && takes "$1"
}

# line_of PEER [SECONDS]: Reads a line into $line.
line_of() {
	IFS= read -rt $((${2:-20} * SLOW)) -u "${wire[$1]}" line ||
		fail "$1 hears nothing; stderr: $(<err)" || return
	line=${line%$'\r'}
}

# bytes_of PEER N: Reads N bytes into $line.
bytes_of() {
	line=''
	[ "$2" = 0 ] || IFS= read -rt $((20 * SLOW)) -N "$2" -u "${wire[$1]}" line ||
		fail "$1 hears too little: $line"
}

# heads PEER [SECONDS]: Reads the status line and the headers of a response.
# Sets $http to the status and $head to the headers.
heads() {
	line_of "$@" || return
	like "$line" 'HTTP/1.1 [1-5][0-9][0-9] *' || return
	http=${line:9:3} head='' body=''
	while line_of "$1" && [ -n "$line" ]; do
		head+=$line$'\n'
	done
	pieces[$1]=''
}

# note: Records $reply for the check of all messages in teardown. Errors without
# an id are valid over HTTP and are not recorded.
note() {
	[[ $reply != *'"id":'* && $reply != *'"method":'* ]] ||
		printf '%s\n' "$reply" >>heard
}

# takes PEER [SECONDS]: Reads a response. Sets $body, unless the response is a
# stream, and $reply if the body is JSON.
takes() {
	heads "$@" && bytes_of "$1" "$(header Content-Length || echo 0)" || return
	body=$line
	case $(header Content-Type) in
	application/json)
		reply=$body
		note
		;;
	esac
}

# header NAME: Prints the value of a header of the last response. Fails if the
# response does not have this header.
header() {
	local name=${1,,} row
	while IFS= read -r row; do
		if [[ ${row,,} == "$name: "* ]]; then
			printf '%s\n' "${row:${#name}+2}"
			return
		fi
	done <<<"$head"
	return 1
}

# chunk PEER: Reads the next chunk of a stream into $pieces. Fails after the
# last chunk.
chunk() {
	line_of "$1" || return
	local size=$((16#$line))
	if [ $size = 0 ]; then
		line_of "$1"
		return 1
	fi
	bytes_of "$1" $size || return
	pieces[$1]+=$line
	line_of "$1" && is "$line" ''
}

# event PEER: Reads the next message of a stream into $reply. Counts comments in
# $comments. Fails at the end of the stream.
event() {
	local row
	while :; do
		until [[ ${pieces[$1]} == *$'\n'* ]]; do
			chunk "$1" || return
		done
		row=${pieces[$1]%%$'\n'*}
		pieces[$1]=${pieces[$1]#*$'\n'}
		case $row in
		:*) comments=$((comments + 1)) ;;
		data:\ *)
			reply=${row#data: }
			note
			return
			;;
		esac
	done
}

# last_event PEER: Reads a stream to its end. The last message is in $reply.
last_event() {
	local last=''
	while event "$1"; do
		last=$reply
	done
	reply=$last
	isnt "$last" ''
}

# answers PEER: Reads the response to a message into $reply, as JSON or as the
# last message of a stream.
answers() {
	heads "$1" || return
	if [ "$(header Content-Type)" = text/event-stream ]; then
		last_event "$1"
	else
		bytes_of "$1" "$(header Content-Length || echo 0)" || return
		body=$line reply=$line
		note
	fi
}

# hung_up PEER [SECONDS]: Fails if the server does not close the connection in
# time or writes anything before that.
hung_up() {
	local status=0
	IFS= read -rt $((${2:-5} * SLOW)) -N 1 -u "${wire[$1]}" line || status=$?
	is "status $status: $line" 'status 1: '
}

# enter PEER...: Opens a connection and a session for each PEER.
enter() {
	local peer
	for peer; do
		visit[$peer]=''
		plug "$peer" && post "$peer" "$HELLO" && takes "$peer" &&
			is "$http" 200 || return
		visit[$peer]=$(header Mcp-Session-Id) || return
		post "$peer" '{"jsonrpc":"2.0","method":"notifications/initialized"}'
		takes "$peer" && is "$http" 202 || return
	done
}

# joins PEER HOST: Opens a connection in the session of HOST.
joins() {
	plug "$1" && visit[$1]=${visit[$2]}
}

# message METHOD [PARAMS]: Sets $message to a request and $id to its id.
message() {
	id=$((++calls))
	message='{"jsonrpc":"2.0","id":'$id',"method":"'$1'"'${2:+,\"params\":$2}'}'
}

# tool NAME ARGUMENTS [META]: Sets $message to a tool call.
tool() {
	message tools/call \
		'{"name":"'"$1"'","arguments":'"$2${3:+,\"_meta\":{$3\}}"'}'
}

# bash_call COMMAND [ARGUMENTS [META]]: Sets $message to a call of bash.
bash_call() {
	local more=${2-}
	quote "$1"
	more=${more#\{}
	more=${more%\}}
	tool bash '{"command":'"$quoted${more:+,$more}"'}' ${3+"$3"}
}

# runs PEER COMMAND [ARGUMENTS [META]]: Posts a call of bash.
runs() {
	local peer=$1
	shift
	bash_call "$@"
	post "$peer" "$message"
}

# ran PEER COMMAND [ARGUMENTS]: Posts a call of bash and reads the response.
ran() {
	runs "$@" && answers "$1"
}

# used PEER TOOL ARGUMENTS: Posts a tool call and reads the response.
used() {
	tool "$2" "$3"
	post "$1" "$message" && answers "$1"
}

# modern_used PEER TOOL ARGUMENTS: Posts a tool call of the revision 2026-07-28
# and reads the response.
modern_used() {
	tool "$2" "$3" "$META"
	modern_post "$1" && answers "$1"
}

# pings PEER: Fails if the server does not answer a ping on this connection.
pings() {
	message ping
	post "$1" "$message" && takes "$1" && is "$http $(get result)" '200 {}'
}

# modern_post PEER [HEADER]...: Posts $message, whose _meta must contain $META,
# with the headers that the revision 2026-07-28 requires.
modern_post() {
	local peer=$1 method name
	shift
	method=$("$HERE/reply" -s method <<<"$message")
	name=$("$HERE/reply" -s params name <<<"$message") || name=''
	post "$peer" "$message" "$MODERN" "Mcp-Method: $method" \
		${name:+"Mcp-Name: $name"} "$@"
}

# modern_runs PEER COMMAND [ARGUMENTS]: Posts a call of bash of the revision
# 2026-07-28.
modern_runs() {
	bash_call "$2" "${3-}" "$META"
	modern_post "$1"
}

# modern_ran PEER COMMAND [ARGUMENTS]: Posts a call of bash of the revision
# 2026-07-28 and reads the response.
modern_ran() {
	modern_runs "$@" && answers "$1"
}

# refused_at_start STATUS ARGS...: Fails if boris does not exit at once with
# STATUS and one line on stderr.
refused_at_start() {
	filter --transport=http "${@:2}" </dev/null >out
	is "${*:2} -> $status" "${*:2} -> $1"
	is "$(wc -c <out | tr -d ' ') bytes on stdout" '0 bytes on stdout'
	is "$(wc -l <err | tr -d ' ') lines on stderr" '1 lines on stderr'
}
