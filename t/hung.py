#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""hung.py SOURCE MOUNT: serves a file system that can hang. Requires root.

Mounts the files of the directory SOURCE on the directory MOUNT with FUSE. After
SIGUSR1, it still reads the requests of the kernel but does not answer them.
Processes that access a file then wait in the kernel and cannot be killed, as
with a network file system whose server has failed. After SIGUSR2, it answers
again, including the waiting requests. On SIGTERM, or after 60 seconds, it
unmounts the file system and exits, so that all requests fail.
"""
import ctypes
import errno
import os
import signal
import struct
import sys

ROOT = 1
LOOKUP, GETATTR, OPEN, READ, STATFS, RELEASE, FLUSH = 1, 3, 14, 15, 17, 18, 25
INIT, OPENDIR, READDIR, RELEASEDIR, ACCESS = 26, 27, 28, 29, 34
MNT_DETACH = 2
UNANSWERED = (2, 36, 42)  # FORGET, INTERRUPT, BATCH_FORGET


class FileSystem:
    def __init__(self, source, fuse):
        self.fuse = fuse
        self.paths = {ROOT: source}
        for name in sorted(os.listdir(source)):
            self.paths[len(self.paths) + 1] = os.path.join(source, name)
        self.hung = False
        self.waiting = []
        signal.signal(signal.SIGUSR1, self.hang)
        signal.signal(signal.SIGUSR2, self.resume)

    def hang(self, *_):
        self.hung = True

    def resume(self, *_):
        self.hung = False
        for request in self.waiting:
            self.answer(request)
        self.waiting = []

    def attributes(self, node):
        st = os.stat(self.paths[node])
        return struct.pack('=6Q10I', node, st.st_size, st.st_blocks, 0, 0, 0,
                           0, 0, 0, st.st_mode, 1, 0, 0, 0, 4096, 0)

    def find(self, name):
        for node, path in self.paths.items():
            if node != ROOT and os.path.basename(path) == name:
                return node
        return None

    def result(self, opcode, node, body):
        """Returns the body of the response, or an error number."""
        if opcode == INIT:
            return struct.pack('=4I2H2I2HI28x', 7, 31, 65536, 0, 0, 0, 65536,
                               1, 16, 0, 0)
        if opcode == LOOKUP:
            found = self.find(body.rstrip(b'\0').decode())
            if found is None:
                return errno.ENOENT
            return struct.pack('=4Q2I', found, 0, 0, 0, 0, 0) + \
                self.attributes(found)
        if opcode == GETATTR:
            return struct.pack('=Q2I', 0, 0, 0) + self.attributes(node)
        if opcode in (OPEN, OPENDIR):
            return struct.pack('=Q2I', 0, 0, 0)
        if opcode == READ:
            _, offset, size = struct.unpack_from('=2QI', body)
            with open(self.paths[node], 'rb') as file:
                file.seek(offset)
                return file.read(size)
        if opcode == STATFS:
            return bytes(80)
        if opcode in (READDIR, RELEASE, RELEASEDIR, FLUSH, ACCESS):
            return b''
        return errno.ENOSYS

    def answer(self, request):
        _, opcode, unique, node = struct.unpack_from('=2I2Q', request)
        body = self.result(opcode, node, request[40:])
        error = 0
        if isinstance(body, int):
            error, body = -body, b''
        head = struct.pack('=IiQ', 16 + len(body), error, unique)
        try:
            os.write(self.fuse, head + body)
        except OSError:
            pass  # the request was interrupted

    def serve(self):
        while True:
            try:
                request = os.read(self.fuse, 1 << 20)
            except OSError as failure:
                if failure.errno == errno.ENODEV:  # unmounted
                    return
                continue
            if struct.unpack_from('=2I', request)[1] in UNANSWERED:
                continue
            if self.hung:
                self.waiting.append(request)
            else:
                self.answer(request)


def main():
    source, mount = sys.argv[1:]
    signal.signal(signal.SIGALRM, lambda *_: sys.exit())
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    signal.alarm(60)
    fuse = os.open('/dev/fuse', os.O_RDWR)
    options = f'fd={fuse},rootmode=40755,user_id=0,group_id=0,allow_other'
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b'hung', os.fsencode(mount), b'fuse.hung', 0,
                  options.encode()) != 0:
        sys.exit(os.strerror(ctypes.get_errno()))
    try:
        FileSystem(source, fuse).serve()
    finally:
        libc.umount2(os.fsencode(mount), MNT_DETACH)


main()
