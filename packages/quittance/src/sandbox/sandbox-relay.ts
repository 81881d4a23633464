/**
 * Runs inside the sandbox, in front of a command that may use the network. It listens on the sandbox's own loopback and
 * passes every connection to the proxy of the host through one inherited file descriptor. There is no socket file: the
 * command cannot reach anything else through it.
 *
 * A frame is a stream number, a length and that many bytes, both numbers of four bytes. Length 0 closes the stream. The
 * host's side is in proxy.ts. This file is shown alone inside the sandbox, so it imports nothing of the package.
 *
 * Arguments: file descriptor, port, then the words of the command.
 */
import { spawn } from 'node:child_process';
import { createServer, Socket } from 'node:net';
import { constants } from 'node:os';

const headerBytes = 8;

function relay(bus: Socket, port: number, onReady: () => void): void {
  bus.setMaxListeners(0);
  const streams = new Map<number, Socket>();
  let newest = 0;
  const server = createServer((connection) => {
    // Numbered by their first bytes, so that new numbers arrive in order: the host ignores late bytes of older ones.
    let id = 0;
    connection.on('data', (chunk: Buffer) => {
      if (id === 0) {
        id = ++newest;
        streams.set(id, connection);
      }
      if (bus.write(toFrame(id, chunk))) return;
      connection.pause();
      bus.once('drain', () => connection.resume());
    });
    connection.on('error', () => connection.destroy());
    connection.on('close', () => {
      if (streams.delete(id)) bus.write(toFrame(id, Buffer.alloc(0)));
    });
  });

  const deliver = (id: number, content: Buffer): void => {
    const connection = streams.get(id);
    if (connection === undefined) return;
    if (content.length === 0) {
      streams.delete(id);
      connection.end();
      return;
    }
    if (connection.write(content)) return;
    bus.pause();
    const resume = (): void => {
      connection.off('drain', resume).off('close', resume);
      bus.resume();
    };
    connection.once('drain', resume).once('close', resume);
  };

  let rest: Buffer = Buffer.alloc(0);
  bus.on('data', (chunk: Buffer) => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    while (rest.length >= headerBytes) {
      const length = rest.readUInt32BE(4);
      if (rest.length < headerBytes + length) return;
      deliver(rest.readUInt32BE(0), rest.subarray(headerBytes, headerBytes + length));
      rest = rest.subarray(headerBytes + length);
    }
  });
  bus.on('error', () => process.exit(1));
  server.listen(port, '127.0.0.1', onReady);
}

function toFrame(id: number, content: Buffer): Buffer {
  const header = Buffer.alloc(headerBytes);
  header.writeUInt32BE(id, 0);
  header.writeUInt32BE(content.length, 4);
  return Buffer.concat([header, content]);
}

function run(program: string, words: readonly string[]): void {
  const command = spawn(program, words, { stdio: 'inherit' });
  command.on('error', (error) => {
    process.stderr.write(`${error.message}\n`);
    process.exit(127);
  });
  command.on('exit', (code, signal) =>
    process.exit(code ?? 128 + (signal === null ? 0 : constants.signals[signal])),
  );
}

const [descriptor = '', port = '', program = '', ...words] = process.argv.slice(2);
const bus = new Socket({ fd: Number(descriptor), readable: true, writable: true });
relay(bus, Number(port), () => run(program, words));
