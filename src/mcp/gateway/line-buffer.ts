/**
 * Splits the text of a pipe into messages. Each byte is looked at once, so a long line that arrives in small
 * parts costs no more than a whole one.
 */
import type { JSONRPCMessage } from '@modelcontextprotocol/client';
import type { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import type { StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { readMessage } from './read-message.ts';

const newline = 0x0a;

/** Longer messages end the connection. Embedded files are base64, so this is well above any sensible one. */
export const mostMessageBytes: number = 64 * 1024 * 1024;

export class LineBuffer {
  /** Parts of the line that has not ended. */
  #parts: Buffer[] = [];
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
      this.#size += part.length;
      if (this.#size > this.#mostBytes) {
        this.clear();
        throw new Error(`A line is longer than ${this.#mostBytes} bytes.`);
      }
      if (part.length > 0) this.#parts.push(part);
      if (end === -1) return;
      this.#lines.push(
        this.#parts.length === 1 && this.#parts[0] !== undefined
          ? this.#parts[0]
          : Buffer.concat(this.#parts),
      );
      this.#parts = [];
      this.#size = 0;
      start = end + 1;
    }
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
    this.#parts = [];
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
