import { deserializeMessage } from '@modelcontextprotocol/client';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readMessage } from './line-buffer.ts';

/** What the SDK makes of a line, or that it refuses it. */
const outcomeOf = (read: (line: string) => unknown, line: string): unknown => {
  try {
    return read(line);
  } catch (error) {
    return error instanceof SyntaxError ? 'not JSON' : 'no message';
  }
};

const meta = (version: unknown, more: object = {}): object => ({
  _meta: { 'io.modelcontextprotocol/serverInfo': { name: 's', version, ...more } },
});
const messages: readonly unknown[] = [
  { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'a', arguments: { x: 1 } } },
  { jsonrpc: '2.0', id: 'a', method: 'ping' },
  { jsonrpc: '2.0', method: 'notifications/message', params: { data: null } },
  { jsonrpc: '2.0', id: 1, result: { content: [] } },
  { jsonrpc: '2.0', id: 1, result: { content: [], ...meta('1') } },
  { jsonrpc: '2.0', id: 1, result: { content: [], ...meta(1) } },
  { jsonrpc: '2.0', id: 1, result: { content: [], ...meta('1', { icons: 'none', extra: 1 }) } },
  { jsonrpc: '2.0', id: 1, error: { code: -1, message: 'no', extra: 1 } },
  { jsonrpc: '2.0', id: 1, error: { code: 1.5, message: 'no' } },
  { jsonrpc: '2.0', id: 1.5, method: 'ping' },
  { jsonrpc: '2.0', id: 2 ** 53, method: 'ping' },
  { jsonrpc: '2.0', id: null, method: 'ping' },
  { jsonrpc: '2.0', id: 1, method: 'ping', params: [] },
  { jsonrpc: '2.0', id: 1, method: 'ping', params: null },
  { jsonrpc: '2.0', id: 1, method: 'ping', extra: true },
  { jsonrpc: '2.0', id: 1, method: 'ping', result: {} },
  { jsonrpc: '2.0', id: 1, method: 'ping', params: { _meta: { progressToken: 1 } } },
  { jsonrpc: '2.0', id: 1, method: 'ping', params: { _meta: { progressToken: {} } } },
  { jsonrpc: '2.0', id: 1, method: 'ping', params: { _meta: 'text' } },
  {
    jsonrpc: '2.0',
    id: 1,
    method: 'ping',
    params: { _meta: { 'io.modelcontextprotocol/related-task': { taskId: 't', extra: 1 } } },
  },
  { jsonrpc: '1.0', id: 1, method: 'ping' },
  { id: 1, method: 'ping' },
  [],
  'text',
  null,
];

describe('reading a message', () => {
  it.each(messages.map((message) => JSON.stringify(message)))('agrees with the SDK about %s', (line) => {
    expect(outcomeOf(readMessage, line)).toEqual(outcomeOf(deserializeMessage, line));
  });

  it('agrees with the SDK about lines that are not JSON', () => {
    expect(outcomeOf(readMessage, '{"jsonrpc')).toBe('not JSON');
  });

  it.each([
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"__proto__":{"name":"a"}}}',
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"__proto__":{"progressToken":1}}}}',
    '{"jsonrpc":"2.0","id":1,"result":{"__proto__":{"isError":true}}}',
    '{"jsonrpc":"2.0","id":1,"result":{"_meta":{"__proto__":{}}}}',
  ])('leaves out __proto__, as the SDK does: %s', (line) => {
    expect(JSON.stringify(readMessage(line))).toBe(JSON.stringify(deserializeMessage(line)));
    expect(JSON.stringify(readMessage(line))).not.toContain('__proto__');
  });

  it('agrees with the SDK about any mixture of fields', () => {
    const field = fc.constantFrom<unknown>(undefined, null, 1, 1.5, 'a', {}, [], { _meta: { a: 1 } }, '2.0');
    const message = fc.record({
      jsonrpc: fc.constantFrom('2.0', '2.0', '1.0'),
      id: field,
      method: field,
      params: field,
      result: field,
      error: field,
    });
    fc.assert(
      fc.property(message, (given) => {
        const line = JSON.stringify(given);
        expect(outcomeOf(readMessage, line)).toEqual(outcomeOf(deserializeMessage, line));
      }),
      { numRuns: 2_000 },
    );
  });
});
