/**
 * Splits the text of a pipe into messages. Each byte is looked at once. So a long line that arrives in small parts
 * costs no more time and memory than a whole one.
 */
import type { JSONRPCMessage } from '@modelcontextprotocol/client';
import type { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import type { StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { readMessage } from './read-message.ts';

const newline = 0x0a;

/** Longer messages end the connection. Embedded files are base64, so this is well above any sensible one. */
export const mostMessageBytes: number = 64 * 1024 * 1024;

/** The first room for a line that arrives in parts. */
const firstRoom = 64 * 1_024;

export class LineBuffer {
  /** Room for a line that arrives in parts. A list of the parts would take far more memory, if each is a byte. */
  #room: Buffer | undefined;
  /** Bytes of the line that has not ended. */
  #size = 0;
  readonly #lines: Buffer[] = [];
  readonly #mostBytes: number;

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  /** Throws if a line is too long. The transport then ends the connection. */
  append(chunk: Buffer): void {
    let start = 0;
    for (;;) {
      const end = chunk.indexOf(newline, start);
      const part = chunk.subarray(start, end === -1 ? chunk.length : end);
      if (this.#size + part.length > this.#mostBytes) {
        this.clear();
        throw new Error(`A line is longer than ${this.#mostBytes} bytes.`);
      }
      if (end === -1) return this.#keep(part);
      this.#lines.push(this.#endLine(part));
      start = end + 1;
    }
  }

  #keep(part: Buffer): void {
    if (part.length === 0) return;
    const size = this.#size + part.length;
    if (this.#room === undefined || this.#room.length < size) {
      // Twice the room each time: each byte moves about once.
      const room = Buffer.allocUnsafe(Math.max(firstRoom, size, 2 * (this.#room?.length ?? 0)));
      this.#room?.copy(room, 0, 0, this.#size);
      this.#room = room;
    }
    part.copy(this.#room, this.#size);
    this.#size = size;
  }

  #endLine(part: Buffer): Buffer {
    if (this.#size === 0) return part;
    this.#keep(part);
    const line = this.#room?.subarray(0, this.#size) ?? part;
    this.#room = undefined;
    this.#size = 0;
    return line;
  }

  /** The next message, or null. Lines that are not JSON are left out: programs print all kinds of things. */
  readMessage(): JSONRPCMessage | null {
    for (let line = this.#lines.shift(); line !== undefined; line = this.#lines.shift()) {
      try {
        return readMessage(line.toString('utf8'));
      } catch (error) {
        if (!(error instanceof SyntaxError)) throw error;
      }
    }
    return null;
  }

  clear(): void {
    this.#room = undefined;
    this.#size = 0;
    this.#lines.length = 0;
  }
}

/** The SDK's own buffer copies and searches the whole line with every part that arrives, and has no public replacement. */
export function useLineBuffer(
  transport: StdioClientTransport | StdioServerTransport,
  mostBytes: number,
): void {
  Reflect.set(transport, '_readBuffer', new LineBuffer(mostBytes));
}
