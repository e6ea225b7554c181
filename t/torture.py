# SPDX-License-Identifier: ISC
#
# torture.py: the driver behind t/torture. System calls of boris, of its children
# before exec and of its guard fail in turn, and so does the memory for what a
# peer sizes; and boris keeps its promises.
#
#	torture.py [-s SECONDS] [-j JOBS] BORIS [SCENARIO...]
#	torture.py -1 BORIS SCENARIO WHO TIMES N
#
# BORIS is linked with t/torture_wrap.c. Each SCENARIO, else all, is played first
# without a failure, which counts the calls, and then for each call N of each WHO
# (boris, child, guard), which fails once (TIMES is 1), or with the next nine that
# want the same (10). With -s some of this, as much as fits into so many seconds.
# -1 plays one, and shows what was said.
#
# What boris promises (SPEC E7, E8, L3, L4): it does not crash, nor hang; each
# request is answered once, and truly; the next one works; no process, zombie,
# file or descriptor is left. Before it has answered anything, and for want of
# memory, it may say in a line what is missing and end with status 1 (2: of an
# option's).
import ctypes, getopt, json, mmap, os, random, re, select, shutil, signal
import socket, struct, sys, time

PATIENCE = 10  # seconds for anything to come
DENSE = 300    # calls that all fail in turn; of later ones fewer and fewer
WHO = ['boris', 'child', 'guard']
# As struct torture has it in t/torture_wrap.c
CONTROL = struct.Struct('@qqqq3qq32s32s')

# Texts of boris. A command can have run before the error NO_MEMORY. Processes may
# have survived, or the output file is incomplete, if a result has the others.
NO_MEMORY = 'Out of memory for the result; a task can still be read'
PARTLY_CHANGED = 'the file may be partly changed and could not be restored: '
UNSTOPPED = 'could not be stopped|still running|may still be running'
UNSAVED = r'; full output not saved: |; full output: \S+ \(incomplete: '

VERSION = 'io.modelcontextprotocol/protocolVersion'
META = {VERSION: '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {},
        'progressToken': 1}
LONG = 'i=0; while [ $i -lt 9000 ]; do echo 123456789012345; i=$((i+1)); done'
BACK = {'run_in_background': True}

# -- Scenarios: what is asked, and what has to come of it --------------------


def bash(command, more={}, **want):
    """A call; more: its arguments; want: status, code, out, later (the next
    step does not wait for its answer)"""
    return ('bash', {'command': command, **more}, want)


def look(more={}, again=False, **want):
    return ('task_output', more, {'again': again, **want})


SCENARIOS = {
    'commands': [
        ('tools/list', {}, {'later': True}),
        bash('echo out; echo err >&2; exit 3', later=True, code=3, out='out\n'),
        bash('cd sub; pwd', later=True, code=0),
        bash('cat', {'stdin': 'text\n', 'cwd': '..'}, code=0, out='text\n')],
    'directory': [
        bash('mkdir -p a/a; cd a', code=0), bash('pwd; cd a'),
        bash('pwd', code=0)],
    'pipeline': [bash('echo hi | (read x; echo $x; exit 4) | cat', code=0,
                      out='hi\n')],
    'timeout': [
        bash("(trap '' TERM; read x <never) & echo hi; read x <never",
             {'timeout': 5000}, later=True, status='timed_out', out='hi\n'),
        ('ping', {}, {})],
    'task': [
        bash('echo one; read x <gate; echo two; exit 3', BACK, status='running'),
        look({'task_id': '@', 'wait': 3000, 'until': 'one'}),
        look(), 'release',
        look({'task_id': '@', 'wait': 100000}, True, code=3,
             out='one\ntwo\n')],
    'kill': [
        bash('echo one; read x <never', BACK, status='running'),
        ('bash', {'kill_pid': '@'}, {'status': 'killed', 'again': True})],
    'until': [bash('echo start; echo ready >&2; read x <never',
                   {**BACK, 'until': 'ready'}, status='running')],
    'terminal': [
        bash("printf '? '; read x; echo got $x", {'tty': True}),
        ('bash', {'task_id': '@', 'input': 'seven\n'}, {'again': True})],
    'long': [bash(LONG, code=0)],
    'sized': [bash('wc -c', {'stdin': 'x' * 200000}, code=0, out='200000\n')],
    'cancel': [bash('read x <never', later=True), 'cancel',
               bash('echo on', code=0, out='on\n')],
    'modern': [bash('echo one; read -t .03 x <>never; echo two',
                    {'_meta': META}, later=True, code=0, out='one\ntwo\n'),
               ('server/discover', {'_meta': META}, {})],
    'handover': [
        '--on-timeout=background',
        bash('echo one; read x <gate; echo two', {'timeout': 1000},
             status='running', out='one\n'),
        'release',
        look({'task_id': '@', 'wait': 100000}, True, code=0,
             out='one\ntwo\n')],
    'left': [bash('read x <never >/dev/null 2>&1 & echo one', code=0,
                  out='one\n'),
             bash('echo two', code=0, out='two\n')],
    'end': [bash('echo one', later=True, code=0, out='one\n'),
            bash('read x <never', BACK, later=True), 'end'],
    'sigterm': [
        bash('read x <never', BACK, status='running'),
        bash("trap '' TERM; read x <never & read x <never", later=True),
        bash('echo queued', later=True), 'term'],
    'sigkill': [
        bash(LONG + "; touch $TMPDIR/boris-mine; (trap '' TERM; "
             'read x <never) &'),
        bash('read x <never', BACK),
        bash('(set -m; read x <never & read x <never)', later=True), 'kill'],
    'fence': ['--write=in', bash('echo >in/x; echo >out; echo done')],
    'edit': [
        '--edit', ('edit', {'path': 'in/f', 'new': 'made\n'}, {'file': 'made'}),
        'write',
        ('edit', {'path': 'in/f', 'old': 'old', 'new': 'new'}, {'file': 'new'}),
        'write', 'link',
        ('edit', {'path': 'in/f', 'old': 'old', 'new': 'longer'},
         {'file': 'longer'})],
    'session': [
        '--transport=http', bash('cd sub; echo out', code=0, out='out\n'),
        bash('pwd', code=0), bash('echo task; exit 2', BACK),
        look({'task_id': '@', 'wait': 20000}, True, code=2, out='task\n')],
    'stateless': [
        '--transport=http', bash('echo one; read -t .03 x <>never; echo two',
                                 {'_meta': META}, code=0, out='one\ntwo\n')],
    'http-sigterm': ['--transport=http',
                     bash('read x <never', BACK, status='running'), 'term'],
}
# Of these something runs on until the end.
LEAVES = 'until terminal left end sigterm sigkill http-sigterm'.split()

# -- Processes ---------------------------------------------------------------


def text_of(path):
    try:
        with open(path, errors='replace') as file:
            return file.read()
    except OSError:
        return ''


def children_of(pid):
    return [int(child) for child in
            text_of(f'/proc/{pid}/task/{pid}/children').split()]


def is_zombie(pid):
    return ') Z ' in text_of(f'/proc/{pid}/stat')


class Wrong(Exception):
    """The first violation of a run"""


class Gone(Exception):
    """boris has ended, or will not answer that"""


class Run:
    def __init__(self, binary, number):
        self.binary, self.most = binary, 0
        self.dir = f"{os.environ.get('TMPDIR', '/tmp')}/run{number}"
        with open(self.dir + '.control', 'wb+') as file:
            file.truncate(CONTROL.size)
            self.memory = mmap.mmap(file.fileno(), CONTROL.size)
        self.show = False

    def control(self):
        """What the wrapped boris says"""
        _, _, times, _, *count, failed, name, family = \
            CONTROL.unpack(self.memory)
        return times, count, failed, *(
            s.rstrip(b'\0').decode() for s in (name, family))

    def failed(self):
        return self.control()[2] > 0

    def family(self):
        return self.control()[4]

    def stop(self):
        """The shortage is over."""
        struct.pack_into('@q', self.memory, 24, 1)

    def path(self, name):
        return f'{self.dir}/{name}'

    # Reaps what has ended: we inherit all that boris leaves. True: nobody is
    # left.
    def reap(self):
        try:
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    return False
                if pid == self.boris:
                    self.boris, self.status = 0, status
        except ChildProcessError:
            return True

    def runs(self):
        if self.boris:
            self.reap()
        return self.boris > 0

    def until(self, true, seconds=PATIENCE):
        end = time.monotonic() + seconds
        while not true():
            if time.monotonic() > end:
                return False
            time.sleep(0.002)
        return True

    # -- Hearing and saying ----------------------------------------------

    def take(self, line):
        if self.show:
            print('<-', line[:400])
        try:
            message = json.loads(line)
        except ValueError:
            raise Wrong(f'no JSON: {line}')
        if 'method' in message:
            return  # progress
        self.before = False
        number = message.get('id')
        if number not in self.asked:
            self.nulls += 1
            if not self.failed() or number is not None:
                raise Wrong(f'an answer to nobody: {line}')
        elif number in self.answers:
            raise Wrong(f'request {number} is answered twice')
        else:
            self.answers[number] = message

    # Reads what boris says, for at most so long; False: nothing more comes.
    def hear(self, seconds):
        if self.out < 0:
            return False
        if not select.select([self.out], [], [], seconds)[0]:
            return True
        piece = os.read(self.out, 65536)
        *lines, self.heard = (self.heard + piece).split(b'\n')
        if not piece:
            os.close(self.out)
            self.out = -1
            if self.heard and not self.killed:
                raise Wrong('half a message at the end')
            return False
        for line in lines:
            self.take(line.decode())
        return True

    def put(self, text):
        data = text.encode() + b'\n'
        while data and self.into >= 0:
            try:
                data = data[os.write(self.into, data):]
            except BlockingIOError:
                self.hear(0.001)
            except BrokenPipeError:
                return

    # Posts a message on a connection of its own, and takes what answers it.
    def post(self, headers, text):
        data = b''
        head = (f'POST /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n'
                f'Content-Type: application/json\r\nAccept: application/json, '
                f'text/event-stream\r\nContent-Length: {len(text)}\r\n')
        if self.session:
            head += f'Mcp-Session-Id: {self.session}\r\n'
        peer = socket.socket()
        peer.settimeout(PATIENCE)
        try:
            peer.connect(('127.0.0.1', self.port))
            peer.sendall((head + headers + '\r\n' + text).encode())
            while piece := peer.recv(65536):
                data += piece
        except TimeoutError:
            raise Wrong(f'no response: {text[:300]}')
        except OSError:
            pass
        finally:
            peer.close()
        head, _, body = data.decode().partition('\r\n\r\n')
        if not head.startswith('HTTP/1.1 '):
            if self.until(lambda: not self.runs(), 1):
                raise Gone
            raise Wrong(f'a connection is closed without a response: {text[:300]}')
        if found := re.search(r'Mcp-Session-Id: (\w+)', head):
            self.session = found[1]
        events = re.findall(r'^data: (\{.*\})\r?$', body, re.M)
        if not events and body.startswith('{'):
            events = [body]
        elif not events and head[9] in '45':
            self.nulls += 1
        for event in events:
            self.take(event)

    # Sends a request and returns its number. Each command notes that it runs.
    def request(self, what, arguments):
        number = len(self.asked) + 1
        self.asked.add(number)
        arguments = {name: self.task if value == '@' else value
                     for name, value in arguments.items()}
        if 'command' in arguments:
            arguments['command'] = f"echo >>ran.{number}; {arguments['command']}"
        params, method, meta = arguments, what, arguments.pop('_meta', None)
        if what in ('bash', 'task_output', 'edit'):
            params, method = {'name': what, 'arguments': arguments}, 'tools/call'
        if meta:
            params['_meta'] = meta
        text = json.dumps({'jsonrpc': '2.0', 'id': number, 'method': method,
                           'params': params})
        if self.show:
            print('->', text[:1000])
        if not self.http:
            self.put(text)
        else:
            self.post('MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: '
                      f'{method}\r\nMcp-Name: {what}\r\n' if meta else '', text)
        return number

    # Is it clear that a request will not be answered, since the message could
    # not be read, which was said?
    def was_lost(self):
        return len(self.asked - set(self.answers)) <= self.nulls

    def answer(self, number):
        end = time.monotonic() + PATIENCE
        while number not in self.answers and not self.was_lost() and \
                not self.http and time.monotonic() < end and self.hear(0.1):
            pass
        if number not in self.answers:
            # (It may have ended in the midst of an event stream.)
            if self.out >= 0 and not self.was_lost() and \
                    not self.until(lambda: not self.runs(), 1):
                raise Wrong(f'request {number} is not answered')
            raise Gone
        return self.answers[number]

    # -- Truth -----------------------------------------------------------

    # What a tool's error, or the protocol's, says; None: it is a result
    @staticmethod
    def error_of(answer):
        result = answer.get('result')
        if result is None:
            return answer['error']['message']
        return result['content'][0]['text'] if result.get('isError') else None

    def has_run(self, number):
        return os.path.exists(self.path(f'ran.{number}'))

    # Returns whether the request concerns one task. Its output can be read again
    # if there was no memory for the result.
    @staticmethod
    def is_about_task(step):
        names = ('run_in_background', 'tty', 'task_id', 'kill_pid')
        return step[0] in ('bash', 'task_output') and \
            any(name in step[1] for name in names)

    # A result says what has happened, or what is missing in it.
    def judge_result(self, number, answer, step):
        what, arguments, want = step
        data = answer['result'].get('structuredContent')
        if not data or 'status' not in data:
            return
        out = data.get('stdout', '')
        short = re.search(UNSTOPPED, data.get('note', '')) or \
            re.search(UNSAVED, out)
        for name in ('status', 'exit_code', 'stdout'):
            wanted = want.get({'exit_code': 'code', 'stdout': 'out'}.get(name, name))
            if wanted is not None and data.get(name) != wanted and not short:
                raise Wrong(f'request {number} should have {name} {wanted}: {data}')
        file = data.get('stdout_file')
        if file and not short and os.path.getsize(file) != 144000:
            raise Wrong(f'the file is not whole: {data}')
        # Where one command says that the next one starts it does.
        if self.cwd and arguments.get('command', '').startswith('pwd') and \
                not out.startswith(self.cwd) and not short:
            raise Wrong(f'{self.cwd} was said, and the next one is in {out}')
        if '_meta' not in arguments:
            self.cwd = data.get('cwd', self.cwd)
        self.task = data.get('task_id', self.task)

    # An edit of in/f, which holds one line: what it says of that is so, and in
    # has nothing but what was there (X3).
    def judge_edit(self, why, want, gone=False):
        line = text_of(self.path('in/f')).partition('\n')[0]
        was = '' if want == 'made' else 'old'
        unknown = gone or (why is not None and NO_MEMORY in why)
        is_ = want if why is None or (unknown and line == want) else was
        if line != is_ and not (why and PARTLY_CHANGED in why):
            raise Wrong(f'the file holds {line}, and not {is_}: {why}')
        for name in os.listdir(self.path('in')):
            if name.startswith('.boris-') and self.family() != 'unlinkat':
                raise Wrong(f'a file is left: {name}')

    # False: an error
    def judge(self, number, step):
        want = step[2]
        try:
            answer = self.answer(number)
        except Gone:
            if 'file' in want:
                self.judge_edit('', want['file'], True)
            raise
        why = self.error_of(answer)
        if 'file' in want:
            self.judge_edit(why, want['file'])
        if why is None:
            self.judge_result(number, answer, step)
            return True
        if not self.failed() and not self.closing:
            raise Wrong(f'an error, and nothing had failed: {why}')
        # Errors say why a command was not run, except for this one.
        if self.has_run(number) and NO_MEMORY not in why:
            raise Wrong(f'request {number} has run, and the error does not say '
                        f'so: {why}')
        if NO_MEMORY in why and self.is_about_task(step) and \
                not want.get('again'):
            self.stop()
            tasks = self.answer(self.request('task_output', {}))
            tasks = tasks['result']['structuredContent']['tasks']
            if not tasks:
                raise Wrong('the task is not listed')
            self.task = tasks[0]['task_id']
        return False

    # -- One run ---------------------------------------------------------

    # What is no request
    def act(self, what):
        last = max(self.asked)
        if what in ('cancel', 'kill', 'term'):
            self.until(lambda: self.has_run(last) or not self.hear(0.005) or
                       not self.runs(), 0.3)
        if what == 'release':
            with open(self.path('gate'), 'rb+', buffering=0) as gate:
                gate.write(b'\n')
                self.until(lambda: not self.runs() or
                           not select.select([gate], [], [], 0)[0], 2)
        elif what == 'cancel':
            self.cancelled = last
            self.put('{"jsonrpc":"2.0","method":"notifications/cancelled",'
                     '"params":{"requestId":%d}}' % last)
            self.nulls += 1  # it is not answered
        elif what == 'end':
            os.close(self.into)
            self.into = -1
        elif what == 'term':
            self.closing = True
            if self.runs():
                os.kill(self.boris, signal.SIGTERM)
        elif what == 'kill' and self.runs():
            self.killed = True
            os.kill(self.boris, signal.SIGKILL)
        elif what == 'write':
            with open(self.path('in/f'), 'w') as file:
                file.write('old\n')
        elif what == 'link':
            os.link(self.path('in/f'), self.path('sub/f'))

    def play_steps(self):
        later = []
        for step in self.steps:
            if isinstance(step, str):
                self.act(step)
                continue
            if '@' in step[1].values() and not self.task:
                return
            number = self.request(step[0], step[1])
            if step[2].get('later'):
                later.append((number, step))
            elif not self.judge(number, step) and step[2].get('again'):
                self.stop()
                if not self.judge(self.request(step[0], step[1]), step):
                    raise Wrong('the task has become unreadable')
        for number, step in later:
            if number != self.cancelled and not self.closing:
                self.judge(number, step)
        if os.path.exists(self.path('out')):
            raise Wrong('boris serves without its fence')

    def start(self, options):
        shutil.rmtree(self.dir, ignore_errors=True)
        for name in ('', 'tmp', 'in', 'sub'):
            os.mkdir(self.path(name))
        for name in ('gate', 'never'):
            os.mkfifo(self.path(name))
        self.http = '--transport=http' in options
        child_in, self.into = os.pipe()
        self.out, child_out = os.pipe()
        err = os.open(self.path('err'), os.O_CREAT | os.O_WRONLY | os.O_APPEND)
        environment = {
            'TORTURE': self.dir + '.control', 'TMPDIR': self.path('tmp'),
            'PATH': '/usr/local/bin:/usr/bin:/bin',
            'ASAN_OPTIONS': 'exitcode=99:detect_leaks=0',
            'UBSAN_OPTIONS': 'exitcode=99'}
        self.boris = os.fork()
        if self.boris == 0:
            os.chdir(self.dir)
            for to, fd in enumerate((child_in, child_out, err)):
                os.dup2(fd, to)
            os.execve(self.binary, ['boris', *options] +
                      ['--port=0'] * self.http, environment)
        for fd in (child_in, child_out, err):
            os.close(fd)
        os.set_blocking(self.into, False)

    # Waits until it listens; False: it has ended, or could not say where.
    def listens(self):
        self.port = 0

        def said():
            found = re.match(r'boris: listening on http://127.0.0.1:(\d+)/mcp\n',
                             text_of(self.path('err')))
            self.port = int(found[1]) if found else 0
            return self.port or not self.runs()

        if not self.until(said, 1) and \
                self.control()[3] not in ('write', 'poll') and \
                not self.until(said):
            raise Wrong('it does not listen')
        return self.port > 0

    def say_hello(self):
        self.before, self.session = True, ''
        for _ in range(3):
            answer = self.answer(self.request(
                'initialize', {'protocolVersion': '2025-11-25'}))
            if self.error_of(answer) is None:
                return
            if not self.failed():
                raise Wrong('no handshake')
        raise Gone

    # Who can't be signalled time and again is another user's, and is let go.
    def obeys(self):
        return self.control()[0] == 1 or self.family() != 'kill'

    # When the shortage is over all is as ever (E7).
    def probe(self):
        self.stop()
        if self.killed or self.closing or not self.runs() or self.into < 0 or \
                (self.http and not self.port):
            return
        self.say_hello()
        self.cwd = ''
        step = bash('cd /; echo /proc/$$/fd/*; exit 5', code=5)
        number = self.request(step[0], step[1])
        if not self.judge(number, step):
            raise Wrong(f'does not recover: {self.answers[number]}')
        fds = self.answers[number]['result']['structuredContent']['stdout']
        # 0 to 2, the directory's, and the one that the shell lists them with
        if len(fds.split()) != 5:
            raise Wrong(f'a command has other descriptors: {fds}')

        def clean():
            children = children_of(self.boris)
            return len(children) <= 1 and not any(map(is_zombie, children))

        if self.name not in LEAVES and self.obeys() and \
                not self.until(clean, 2) and self.runs():
            raise Wrong(f'children are left: {children_of(self.boris)}')

        def closed():
            self.fds = len(os.listdir(f'/proc/{self.boris}/fd'))
            return self.fds <= self.most

        # (boris sees a moment later that a connection is closed.)
        if not self.until(closed, 1) and self.most and self.obeys():
            raise Wrong(f"{self.fds - self.most} descriptors of boris's are left")

    # Reads the rest, and waits for boris and all that it has started.
    def finish(self):
        if self.http and self.runs():
            os.kill(self.boris, signal.SIGTERM)
        if self.into >= 0:
            os.close(self.into)
            self.into = -1
        wrong = None
        end = time.monotonic() + PATIENCE
        try:
            while time.monotonic() < end and self.hear(0.1):
                pass
        except Wrong as error:
            wrong = error
        if not self.until(lambda: not self.runs()):
            wrong = Wrong('it does not end')
            os.kill(self.boris, signal.SIGKILL)
        if not self.until(self.reap) and self.obeys():
            wrong = Wrong(f'left running: {children_of(os.getpid())}')
        while not self.reap():
            for child in children_of(os.getpid()):
                os.kill(child, signal.SIGKILL)
            time.sleep(0.01)
        if self.out >= 0:
            os.close(self.out)
            self.out = -1
        if wrong:
            raise wrong

    def check_end(self):
        err = '\n'.join(line for line in text_of(self.path('err')).splitlines()
                        if not line.startswith('boris: listening on'))
        if self.killed:
            return
        if os.WIFSIGNALED(self.status):
            raise Wrong(f'signal {os.WTERMSIG(self.status)}')
        status = os.WEXITSTATUS(self.status)
        if (status == 1 or (status == 2 and self.before)) and self.failed() and \
                len(err.splitlines()) == 1 and \
                (self.before or self.family() == 'memory'):
            return
        if status != 0 or (err and not self.failed()):
            raise Wrong(f'status {status}, and it says: {err}')
        if not self.was_lost() and not self.closing:
            raise Wrong(f'not answered: {self.asked - set(self.answers)}')

    # Its own files have gone, no others have.
    def check_files(self):
        left = os.listdir(self.path('tmp'))
        may = self.control()[0] > 1 and self.family() in ('unlink', 'chdir')
        for name in left:
            if name != 'boris-mine' and not name.startswith('.') and not may:
                raise Wrong(f'a file is left: {name}')
        if self.killed and 'boris-mine' not in left and self.has_run(2):
            raise Wrong("a file is gone that is not boris's")

    # Plays it once; returns the first violation, or ''.
    def play(self, name, who, times, at):
        CONTROL.pack_into(self.memory, 0, WHO.index(who), at, times, 0,
                          0, 0, 0, 0, b'', b'')
        self.name, self.status, self.fds = name, 0, 0
        self.asked, self.answers, self.nulls = set(), {}, 0
        self.cancelled, self.heard = 0, b''
        self.killed = self.closing = False
        self.task = self.cwd = ''
        options = [step for step in SCENARIOS[name] if step[:2] == '--']
        self.steps = [step for step in SCENARIOS[name] if step not in options]
        self.before = True
        self.start(options)
        wrong = ''

        def part():
            if not self.http or self.listens():
                self.say_hello()
                self.play_steps()

        for part in (part, self.probe, self.finish, self.check_end,
                     self.check_files):
            try:
                part()
            except Gone:
                pass
            except Wrong as error:
                wrong = wrong or ' '.join(str(error).split())[:600]
        if self.show:
            _, count, failed, first, _ = self.control()
            print(f'{name}: calls {count}; {failed} failed, the first was '
                  f'{first}\nstderr: {text_of(self.path("err"))}\n'
                  f'{wrong or "all is well"}')
        return wrong

    # Tells of a violation, if it is there in one of two further runs, too: else
    # the machine was busy.
    def tell(self, point, wrong):
        first = self.control()[3]
        if any([self.play(*point) for _ in range(2)]):
            print(*point, f'{first}: {wrong}', flush=True)
            return 1
        return 0


# -- All runs ----------------------------------------------------------------


def subreaper():
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)


# A job plays each JOBS-th point, until the time is up; writes how many it has
# played, and how many of them were violations.
def work(binary, number, points, fds, until, to):
    subreaper()
    run = Run(binary, number)
    played = bad = 0
    for point in points:
        if time.monotonic() > until:
            break
        run.most = fds[point[0]]
        wrong = run.play(*point)
        bad += bool(wrong) and run.tell(point, wrong)
        played += 1
    os.write(to, struct.pack('qq', played, bad))
    os._exit(0)


def main():
    options, args = getopt.getopt(sys.argv[1:], 's:j:1')
    options = dict(options)
    subreaper()
    binary, *names = args
    run = Run(binary, 'x')
    if '-1' in options:
        run.show = True
        name, who, times, at = names
        return run.play(name, who, int(times), int(at)) != ''
    points, fds, bad, played = [], {}, 0, 0
    for name in names or SCENARIOS:
        run.most = 0
        wrong = run.play(name, 'boris', 1, 0)
        fds[name], count = run.fds, run.control()[1]
        if wrong:
            bad += run.tell((name, 'boris', 1, 0), wrong)
        for who, most in zip(WHO, count):
            at = 1
            while at <= most:
                points += [(name, who, 1, at), (name, who, 10, at)]
                at += 1 + at // DENSE
    until = float('inf')
    if '-s' in options:
        random.shuffle(points)
        until = time.monotonic() + float(options['-s'])
    jobs = int(options.get('-j', 12))
    told, to = os.pipe()
    for number in range(jobs):
        if os.fork() == 0:
            work(binary, number, points[number::jobs], fds, until, to)
    os.close(to)
    while sums := os.read(told, 16):
        played, bad = (a + b for a, b in zip((played, bad),
                                             struct.unpack('qq', sums)))
    print(f'{played} runs of {len(points)}\n{played - bad} passed, {bad} failed')
    return bad > 0


if __name__ == '__main__':
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    sys.exit(main())
