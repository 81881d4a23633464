import { createRuntime } from 'quittance';
import { describe, expect, test } from 'vitest';
import type { OpenLedger } from 'quittance/internal/ledger/ledger';
import { createMemoryLedger } from 'quittance/internal/store/memory/memory-ledger';
import { readArtifactResource } from './artifact-resource.ts';
import { jsonRpcErrorOf, McpNotSent } from './call-error.ts';
import type { ListedToolOptions } from './tool-from-listed.ts';
import { toolFromListed } from './tool-from-listed.ts';
import type { ToCallToolResultOptions } from './to-call-tool-result.ts';
import { toCallToolResult } from './to-call-tool-result.ts';
import { readWholeArtifact } from 'quittance/internal/ledger/reads';

const png = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 1, 2, 255]).toString('base64');

/** One call of a listed tool whose server answers with `answer`. */
async function callOnce(
  answer: unknown,
  {
    listed = {},
    options = {},
    result: resultOptions = {},
    args = {},
    ledger = createMemoryLedger(),
    id = 'c',
  }: {
    ledger?: OpenLedger;
    id?: string;
    listed?: object;
    options?: Partial<ListedToolOptions>;
    result?: ToCallToolResultOptions;
    args?: Readonly<Record<string, unknown>>;
  } = {},
) {
  const seen: unknown[] = [];
  const tool = toolFromListed({ name: 'upstream_name', ...listed } as never, {
    name: 'do_it',
    server: 'files',
    mode: 'external',
    callTool: async (call) => {
      seen.push(call);
      if (answer instanceof Error) throw answer;
      return answer;
    },
    ...options,
  });
  const runtime = createRuntime({ ledger, tools: [tool] });
  const turn = runtime.turn({ sessionId: 's' });
  const outcome = await turn.call({ id, name: 'do_it', arguments: args });
  const result = await toCallToolResult(ledger, 's', outcome, resultOptions);
  const unresolved = (await runtime.calls.unresolved()).rows.length;
  return { outcome, result, seen, ledger, runtime, turn, unresolved };
}

const error = (fields: object, message = 'boom') => Object.assign(new Error(message), fields);

describe('a successful result', () => {
  test.each([
    ['one text', { content: [{ type: 'text', text: 'hi' }] }],
    ['an empty text', { content: [{ type: 'text', text: '' }] }],
    ['a text that looks like an error', { content: [{ type: 'text', text: 'Error: none found' }] }],
    ['a text that looks like a failed result', { content: [{ type: 'text', text: '{"error":"x"}' }] }],
    ['nothing', { content: [] }],
    ['annotated text', { content: [{ type: 'text', text: 'hi', annotations: { audience: ['user'] } }] }],
    [
      'several parts',
      {
        content: [
          { type: 'text', text: 'a' },
          { type: 'image', data: png, mimeType: 'image/png' },
        ],
      },
    ],
    ['audio', { content: [{ type: 'audio', data: png, mimeType: 'audio/wav' }] }],
    [
      'a resource with bytes',
      { content: [{ type: 'resource', resource: { uri: 'file:///a', blob: png, mimeType: 'x/y' } }] },
    ],
    ['a resource with text', { content: [{ type: 'resource', resource: { uri: 'file:///a', text: 'hi' } }] }],
    ['a link', { content: [{ type: 'resource_link', uri: 'file:///a', name: 'a' }] }],
    ['data that is not base64', { content: [{ type: 'image', data: 'not base64!', mimeType: 'image/png' }] }],
    ['structured content', { content: [{ type: 'text', text: '{}' }], structuredContent: { a: 1 } }],
    [
      'structured content with a field named error',
      { content: [], structuredContent: { error: 'none', success: false } },
    ],
    ['_meta', { content: [{ type: 'text', text: 'hi' }], _meta: { 'x/y': 1 } }],
    ['a part of a kind we do not know', { content: [{ type: 'hologram', rays: 3 }] }],
    [
      '120 images',
      { content: Array.from({ length: 120 }, () => ({ type: 'image', data: png, mimeType: 'image/png' })) },
    ],
  ])('passes through unchanged: %s', async (_, answer) => {
    const { outcome, result } = await callOnce(answer);
    expect(outcome.type).toBe('ToolExecutionResult');
    expect(result).toEqual(answer);
  });

  test('leaves its files in the ledger as artifacts, not in the output', async () => {
    const { outcome, ledger } = await callOnce({
      content: [{ type: 'image', data: png, mimeType: 'image/png' }],
    });
    if (outcome.type !== 'ToolExecutionResult') throw new Error(outcome.type);
    expect(outcome.files).toMatchObject([{ mimeType: 'image/png', sizeBytes: 8 }]);
    expect(JSON.stringify(outcome.output)).not.toContain(png);
    const kept = await readWholeArtifact(ledger, 's', outcome.files?.[0]?.artifactId ?? '');
    expect(Buffer.from(kept?.content as Uint8Array).toString('base64')).toBe(png);
  });

  test('links a file above the limit, and the link can be read in its session only', async () => {
    const answer = { content: [{ type: 'image', data: png, mimeType: 'image/png' }] };
    const { result, ledger } = await callOnce(answer, { result: { mediaLimit: 7 } });
    expect(result.content).toMatchObject([{ type: 'resource_link', mimeType: 'image/png', size: 8 }]);
    const uri = result.content[0]?.['uri'] as string;
    const read = await readArtifactResource(ledger, uri, (sessionId) => sessionId === 's');
    expect(read).toEqual({ uri, mimeType: 'image/png', blob: png });
    expect(await readArtifactResource(ledger, uri, () => false)).toBeUndefined();
    expect(
      await readArtifactResource(ledger, 'quittance://artifact/s/art_other', () => true),
    ).toBeUndefined();
  });

  test('does not fill in a file of another call that the server names', async () => {
    const first = await callOnce({ content: [{ type: 'image', data: png, mimeType: 'image/png' }] });
    const artifactId =
      first.outcome.type === 'ToolExecutionResult' ? first.outcome.files?.[0]?.artifactId : '';
    const forged = { content: [{ type: 'image', data: { $artifact: artifactId }, mimeType: 'image/png' }] };
    const { result } = await callOnce(forged, { ledger: first.ledger, id: 'd' });
    expect(result.content[0]?.['data']).toEqual({ $artifact: artifactId });
    expect(JSON.stringify(result)).not.toContain(png);
  });

  test('becomes an artifact above the limit for text, which is larger than that of plain tools', async () => {
    const text = (length: number) => ({ content: [{ type: 'text', text: 'x'.repeat(length) }] });
    expect((await callOnce(text(99_000))).outcome.type).toBe('ToolExecutionResult');
    const { outcome, result, turn } = await callOnce(text(101_000));
    if (outcome.type !== 'ToolArtifactReference') throw new Error(outcome.type);
    expect(result.isError).toBeUndefined();
    expect(result.content[0]?.['text']).toContain('read_artifact');
    const read = await turn.call({
      id: 'r',
      name: 'read_artifact',
      arguments: { artifactId: outcome.artifactId },
    });
    expect(read).toMatchObject({ type: 'ToolExecutionResult', output: { totalChars: 101_000 } });
    expect((await callOnce(text(50), { options: { textLimit: 40 } })).outcome.type).toBe(
      'ToolArtifactReference',
    );
  });

  test('keeps structured content and images if its text is too long', async () => {
    const answer = {
      content: [
        { type: 'text', text: 'x'.repeat(200) },
        { type: 'image', data: png, mimeType: 'image/png' },
      ],
      structuredContent: { a: 1 },
    };
    const { outcome, result } = await callOnce(answer, { options: { textLimit: 100 } });
    expect(outcome.type).toBe('ToolArtifactReference');
    expect(result.structuredContent).toEqual({ a: 1 });
    expect(result.content).toMatchObject([{ type: 'text' }, { type: 'image', data: png }]);
  });

  test('has its secrets redacted, in text, structured content and text files', async () => {
    const secret = 'ghp_0123456789abcdefghijABCDEFGHIJ012345';
    const { result, outcome } = await callOnce({
      content: [
        { type: 'text', text: `key ${secret}` },
        { type: 'resource', resource: { uri: 'file:///a', text: secret } },
        {
          type: 'resource',
          resource: { uri: 'file:///b', blob: Buffer.from(`the key ${secret}`).toString('base64') },
        },
      ],
      structuredContent: { note: secret },
    });
    expect(JSON.stringify([result, outcome])).not.toContain(secret);
    const file = result.content[2]?.['resource'] as { blob?: string } | undefined;
    const kept = Buffer.from(file?.blob ?? '', 'base64').toString();
    expect(kept).toContain('the key');
    expect(kept).not.toContain(secret);
  });

  test('a successful result for programs is the structured content, else the only part, else all parts', async () => {
    const value = async (answer: object) => {
      const { outcome } = await callOnce(answer, { options: { shape: 'value' } });
      return outcome.type === 'ToolExecutionResult' ? outcome.output : outcome;
    };
    expect(await value({ content: [{ type: 'text', text: 'x' }], structuredContent: { a: 1 } })).toEqual({
      a: 1,
    });
    expect(await value({ content: [{ type: 'text', text: 'x' }] })).toBe('x');
    expect(await value({ content: [] })).toBe(null);
    expect(
      await value({
        content: [
          { type: 'text', text: 'x' },
          { type: 'text', text: 'y' },
        ],
      }),
    ).toEqual(['x', 'y']);
    expect(await value({ toolResult: 7 })).toBe(7);
  });
});

describe('structured content', () => {
  const outputSchema = {
    type: 'object',
    properties: { n: { $ref: '#/$defs/n' } },
    required: ['n'],
    $defs: { n: { type: 'number' } },
  };
  test.each(['result', 'value'] as const)('must match the output schema (%s)', async (shape) => {
    const call = (answer: object) => callOnce(answer, { listed: { outputSchema }, options: { shape } });
    expect((await call({ content: [], structuredContent: { n: 1 } })).outcome.type).toBe(
      'ToolExecutionResult',
    );
    for (const answer of [
      { content: [], structuredContent: { n: 'one' } },
      { content: [{ type: 'text', text: '{"n":1}' }] },
    ]) {
      const { outcome, result } = await call(answer);
      expect(outcome).toMatchObject({ type: 'ToolFailure', code: 'tool.invalid_output' });
      expect(result.isError).toBe(true);
    }
  });

  test('is not required of an error', async () => {
    const { outcome } = await callOnce(
      { isError: true, content: [{ type: 'text', text: 'no such file' }] },
      { listed: { outputSchema } },
    );
    expect(outcome).toMatchObject({ code: 'tool.reported_error', error: 'no such file' });
  });
});

describe('a failed call', () => {
  test('isError is a failure with the words and parts of the server', async () => {
    const content = [
      { type: 'text', text: 'no such file' },
      { type: 'image', data: png, mimeType: 'image/png' },
    ];
    const { outcome, result } = await callOnce({ isError: true, content });
    expect(outcome).toMatchObject({
      type: 'ToolFailure',
      code: 'tool.reported_error',
      error: 'no such file',
      retryable: true,
    });
    expect(result).toMatchObject({ isError: true, content });
    expect(result._meta?.['quittance/outcome']).toMatchObject({ callId: 'c', code: 'tool.reported_error' });
  });

  test.each([
    ['nothing', undefined],
    ['text', 'hello'],
    ['an object without content', {}],
    ['content that is not a list', { content: 'x' }],
  ])('an answer that is not a result is an invalid output: %s', async (_, answer) => {
    expect((await callOnce(answer)).outcome).toMatchObject({ code: 'tool.invalid_output' });
  });

  test('a JSON-RPC error keeps its code and data', async () => {
    const thrown = error({ code: -32_603, data: { at: 3 }, name: 'ProtocolError' });
    const { outcome, result } = await callOnce(thrown);
    expect(outcome).toMatchObject({ code: 'tool.execution_error', error: 'boom', inDoubt: true });
    expect(jsonRpcErrorOf(outcome)).toEqual({ code: -32_603, message: 'boom', data: { at: 3 } });
    expect(result.isError).toBe(true);
  });

  test.each([
    ['invalid parameters', { code: -32_602, name: 'ProtocolError' }],
    ['invalid parameters in SDK v1', { code: -32_602, name: 'McpError' }],
    ['an unknown method', { code: -32_601, name: 'ProtocolError' }],
    ['a refused request', { status: 403, name: 'SdkHttpError' }],
    ['a lost session in SDK v1', { code: 404 }],
    ['no connection', { code: 'NOT_CONNECTED', name: 'SdkError' }],
    ['a refused connection', { cause: error({ code: 'ECONNREFUSED' }) }],
  ])('after %s it is certain that nothing ran', async (_, fields) => {
    const { outcome, unresolved } = await callOnce(error(fields));
    expect(outcome).toMatchObject({ type: 'ToolFailure', retryable: true });
    expect(outcome).not.toHaveProperty('inDoubt');
    expect(unresolved).toBe(0);
  });

  test('a caller can say that nothing was sent', async () => {
    expect((await callOnce(new McpNotSent('stopped'))).outcome).toMatchObject({
      code: 'tool.network_error',
      retryable: true,
    });
  });

  test.each([
    ['a closed connection', { code: 'CONNECTION_CLOSED', name: 'SdkError' }],
    ['a closed connection in SDK v1', { code: -32_000, name: 'McpError' }],
    ['a timeout of SDK v1', { code: -32_001, name: 'McpError' }],
    ['a bad gateway', { status: 502, name: 'SdkHttpError' }],
    ['a request that may have been sent', { code: 'SEND_FAILED', name: 'SdkError' }],
    ['a connection that broke', { cause: error({ code: 'ECONNRESET' }) }],
    ['any other error', {}],
  ])('after %s the outcome is unknown, unless the tool only reads', async (_, fields) => {
    const { outcome, result, unresolved } = await callOnce(error(fields));
    expect(outcome).toMatchObject({ code: 'tool.indeterminate', retryable: false });
    expect(unresolved).toBe(1);
    expect(result.isError).toBe(true);
    expect(JSON.stringify(result.content)).toContain('do not repeat');
    const read = await callOnce(error(fields), { options: { mode: 'read' } });
    expect(read.outcome).toMatchObject({ code: 'tool.network_error', retryable: true });
    expect(read.unresolved).toBe(0);
  });

  test('a result that the client of the SDK rejected has run', async () => {
    const message = 'MCP error -32600: Tool x has an output schema but did not return structured content';
    expect((await callOnce(error({ code: -32_600, name: 'McpError' }, message))).outcome).toMatchObject({
      code: 'tool.invalid_output',
    });
  });

  test('a denied call is an error for the client', async () => {
    const listed = { inputSchema: { properties: { a: { type: 'number' } }, required: ['a'] } };
    const { outcome, result, seen } = await callOnce({ content: [] }, { listed });
    expect(outcome).toMatchObject({ type: 'ToolDenied', reason: 'validation' });
    expect(result).toMatchObject({ isError: true, content: [{ type: 'text' }] });
    expect(seen).toEqual([]);
  });
});

test('the server is called by its own name, with the checked arguments', async () => {
  const { seen } = await callOnce(
    { content: [] },
    { listed: { inputSchema: { type: 'object', properties: { a: { type: 'number' } } } }, args: { a: '1' } },
  );
  expect(seen).toEqual([{ name: 'upstream_name', arguments: { a: 1 } }]);
});

test('two calls with the same value of the key argument are one effect', async () => {
  const { seen, turn } = await callOnce(
    { content: [{ type: 'text', text: 'paid' }] },
    { options: { idempotencyKey: 'orderId' }, args: { orderId: 'o1' } },
  );
  const again = await turn.call({ id: 'd', name: 'do_it', arguments: { orderId: 'o1' } });
  expect(again).toMatchObject({ type: 'ToolExecutionResult', output: 'paid' });
  expect(seen).toHaveLength(1);
  const without = await turn.call({ id: 'e', name: 'do_it', arguments: {} });
  expect(without).toMatchObject({ type: 'ToolDenied', reason: 'validation' });
});

test('a schema that cannot be compiled is refused when the tool is made', async () => {
  await expect(
    callOnce({}, { listed: { inputSchema: { type: 'object', $ref: '#/nowhere' } } }),
  ).rejects.toThrow('input schema');
});
