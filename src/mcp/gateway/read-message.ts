/**
 * Reads a line as a message of JSON-RPC. The SDK checks with schemas, and that takes longer than all the rest of
 * reading. A message in the usual form is recognized here. The SDK decides about every other one.
 */
import type { JSONRPCMessage } from '@modelcontextprotocol/client';
import { deserializeMessage, SERVER_INFO_META_KEY } from '@modelcontextprotocol/client';
import type { Fields } from './relayed-request.ts';
import { isFields } from './relayed-request.ts';
import { UnreadableMessage } from './unreadable-message.ts';

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
