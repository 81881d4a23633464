/** The host's side of sandbox-relay.ts. The frames come from the sandbox, so their number and size are bounded. */
import { Duplex } from 'node:stream';

const headerBytes = 8;
const mostStreams = 512;
/** A relay reads its connections in pieces of 64 KiB. */
const mostFrameBytes = 1_048_576;

/**
 * Turns frames into streams. A stream whose reader is slow stops the bus, so the host keeps at most a few pieces of each.
 */
export function splitFrames(bus: Duplex, accept: (stream: Duplex) => void, onAbuse: () => void): void {
  bus.setMaxListeners(0);
  const streams = new Map<number, Duplex>();
  const full = new Set<number>();
  let newest = 0;
  const resume = (id: number): void => {
    if (full.delete(id) && full.size === 0) bus.resume();
  };
  const send = (id: number, content: Buffer, done: () => void): void => {
    const header = Buffer.alloc(headerBytes);
    header.writeUInt32BE(id, 0);
    header.writeUInt32BE(content.length, 4);
    if (bus.destroyed) done();
    else if (bus.write(Buffer.concat([header, content]))) done();
    else bus.once('drain', done);
  };
  const openStream = (id: number): Duplex => {
    const stream = new Duplex({
      allowHalfOpen: false,
      read: () => resume(id),
      write: (chunk: Buffer, _encoding, done) => send(id, chunk, done),
      destroy: (error, done) => {
        resume(id);
        if (streams.delete(id)) send(id, Buffer.alloc(0), () => undefined);
        done(error);
      },
    });
    stream.on('error', () => undefined);
    streams.set(id, stream);
    accept(stream);
    return stream;
  };
  const deliver = (id: number, content: Buffer): void => {
    const known = streams.get(id);
    if (content.length === 0) {
      streams.delete(id);
      known?.destroy();
      return;
    }
    if (known === undefined) {
      if (id <= newest) return; // the rest of a stream that was closed here
      if (streams.size >= mostStreams) return onAbuse();
      newest = id;
    }
    if (!(known ?? openStream(id)).push(content)) {
      full.add(id);
      bus.pause();
    }
  };
  let rest: Buffer = Buffer.alloc(0);
  bus.on('data', (chunk: Buffer) => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    while (rest.length >= headerBytes) {
      const length = rest.readUInt32BE(4);
      if (length > mostFrameBytes) return onAbuse();
      if (rest.length < headerBytes + length) return;
      deliver(rest.readUInt32BE(0), rest.subarray(headerBytes, headerBytes + length));
      rest = rest.subarray(headerBytes + length);
    }
  });
  bus.on('error', () => bus.destroy());
  bus.on('close', () => {
    for (const stream of streams.values()) stream.destroy();
  });
}
