/**
 * Splits the text of a pipe into messages. Each byte is looked at once. So a long line that arrives in small parts
 * costs no more time and memory than a whole one.
 */
import type { JSONRPCMessage } from '@modelcontextprotocol/client';
import type { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import type { StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { deserializeMessage, SERVER_INFO_META_KEY } from '@modelcontextprotocol/client';
import type { Fields } from './relayed-request.ts';
import { isFields } from './relayed-request.ts';
import { UnreadableMessage } from './unreadable-message.ts';

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

/**
 * Reads a line as a message of JSON-RPC. The SDK checks with schemas, and that takes longer than all the rest of
 * reading. A message in the usual form is recognized here. The SDK decides about every other one.
 */

/** Throws a `SyntaxError` for a line that is not JSON, and an `UnreadableMessage` for JSON that is not a message. */
export function readMessage(line: string): JSONRPCMessage {
  const parsed: unknown = JSON.parse(line);
  // The checks are those of the schema of this type.
  if (isFields(parsed) && isUsual(parsed)) return parsed as JSONRPCMessage;
  try {
    return deserializeMessage(line);
  } catch (cause) {
    throw new UnreadableMessage(parsed, { cause });
  }
}

function isUsual(message: Fields): boolean {
  const { jsonrpc, id, method, params, result } = message;
  if (jsonrpc !== '2.0') return false;
  const keys = Object.keys(message).length;
  if (method === undefined) return keys === 3 && isId(id) && isPlain(result) && isResultMeta(result['_meta']);
  const expected = 2 + (id === undefined ? 0 : 1) + (params === undefined ? 0 : 1);
  return (
    typeof method === 'string' &&
    keys === expected &&
    (id === undefined || isId(id)) &&
    (params === undefined || (isPlain(params) && isRequestMeta(params['_meta'])))
  );
}

/** The SDK leaves out a field with this name. Code that copies it could set a prototype. */
const isPlain = (value: unknown): value is Fields => isFields(value) && !Object.hasOwn(value, '__proto__');

const isId = (id: unknown): boolean => typeof id === 'string' || Number.isSafeInteger(id);

function isRequestMeta(meta: unknown): boolean {
  if (meta === undefined) return true;
  if (!isPlain(meta) || meta['io.modelcontextprotocol/related-task'] !== undefined) return false;
  const { progressToken } = meta;
  return progressToken === undefined || isId(progressToken);
}

/** The SDK leaves out what a server says about itself if it is malformed. */
function isResultMeta(meta: unknown): boolean {
  if (meta === undefined) return true;
  if (!isPlain(meta)) return false;
  const info = meta[SERVER_INFO_META_KEY];
  return info === undefined || (isFields(info) && Object.keys(info).length === 2 && isName(info));
}

const isName = ({ name, version }: Fields): boolean =>
  typeof name === 'string' && typeof version === 'string';
