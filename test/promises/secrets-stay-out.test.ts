import { createHash } from 'node:crypto';
import { type } from 'arktype';
import type { AnyTool, CallOptions, RuntimeOptions, ToolContext, ToolOutcome } from 'quittance';
import { defineTool, outcomeToContentParts, ToolDecision, ToolError, toolResult } from 'quittance';
import { createManualClock } from 'quittance/testing';
import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createRecordingLedger } from '../recording-ledger.ts';
import { deferred, envelope, expectSettledOnce, quiet, setStage } from '../stage.ts';
import { readSealed } from '../../packages/quittance/src/ledger/reads.ts';

/** A secret by its name only. Quotes and line breaks change it when it is quoted. */
const named = 'Sw0rdf1sh"\n& 77%';
/** A secret by its looks. */
const looks = `sk-${'a1B2c3D4'.repeat(5)}`;
/** No part of a secret may remain, however it is quoted or cut. */
const traces = ['Sw0r', 'f1sh', 'a1B2', 'U3cwcmRm', 'dzByZGYx', 'TdzByZGYxc', '5377307264'];

type Case = {
  readonly tool?: Partial<Parameters<typeof defineTool>[0]>;
  readonly run?: (args: { readonly [key: string]: unknown }, context: ToolContext) => unknown;
  readonly args?: Record<string, unknown> | string;
  readonly options?: Partial<RuntimeOptions<readonly AnyTool[]>>;
  readonly call?: CallOptions;
  /** How often the body must have got the secret itself. */
  readonly reaches?: number;
};

const both = { password: named, note: `use ${looks} please` };
const big = (text: string): string => `${'x'.repeat(20_000)}${text}${'y'.repeat(20_000)}`;

const cases: Readonly<Record<string, Case>> = {
  'an input, by the name of a key and by its looks': { run: () => 'done' },
  'an input that is echoed as output': { run: (args) => args },
  'an output that gives it another name': {
    run: ({ password }) => ({ greeting: `hello ${String(password)}` }),
  },
  'an output that has it as a key': { run: ({ password }) => ({ [String(password)]: 1 }) },
  'an output that quotes it': { run: (args) => `you sent ${JSON.stringify(args)}` },
  'an output that puts it into a URL': {
    run: ({ password }) => `https://example.org/?q=${encodeURIComponent(String(password))}`,
  },
  'an output that finds a secret of its own': { args: {}, run: () => ({ found: looks }), reaches: 0 },
  'an output at a declared path': {
    args: {},
    tool: { redact: { output: ['$.pin'] } },
    run: () => ({ pin: named }),
    reaches: 0,
  },
  'an input at a declared path': {
    args: { note: named, deep: [{ x: looks }] },
    tool: { redact: { input: ['$.note'] } },
    run: ({ note }) => ({ note }),
  },
  'a part of an input that is echoed without what gave it away': {
    args: { note: `password=${looks.replace('sk-', 'zz')}` },
    run: ({ note }) => String(note).split('=')[1],
    reaches: 0,
  },
  'a nested input': { args: { login: { password: [named, { deep: looks }] } }, run: (args) => args },
  'an output stored as an artifact': { run: (args) => ({ text: big(JSON.stringify(args)), again: args }) },
  'an attached text and its name': {
    run: ({ password, note }, context) =>
      context.attach({
        mimeType: `text/plain; x=${String(password)}`,
        content: `${String(password)} ${String(note)}`,
        name: `${String(password)}.txt`,
      }),
  },
  'attached bytes that are text': {
    run: ({ password, note }, context) =>
      context.attach({
        mimeType: 'text/csv',
        content: new TextEncoder().encode(`${password as string},${note as string}`),
      }),
  },
  'attached bytes that are not text': {
    run: ({ password }, context) => {
      const written = new TextEncoder().encode(password as string);
      return context.attach({
        mimeType: 'image/png',
        content: Uint8Array.of(0xff, ...written, 0xfe, ...written),
      });
    },
  },
  'a thrown error': {
    run: ({ password, note }) => Promise.reject(new Error(`bad ${String(password)} ${String(note)}`)),
  },
  'a thrown error that is cut in the middle of it': {
    run: ({ password }) => Promise.reject(new Error(`${'x'.repeat(990)}${String(password).repeat(400)}`)),
  },
  'a thrown error that finds a secret of its own': {
    args: {},
    run: (_, context) => {
      context.log(`found ${looks}`);
      throw new Error(`found ${looks}`);
    },
    reaches: 0,
  },
  'a thrown error cut in the middle of a secret of its own': {
    args: {},
    run: () => Promise.reject(new Error(`${'x'.repeat(3_980)} ${looks}`)),
    reaches: 0,
  },
  'a thrown text': { run: ({ password }) => Promise.reject(String(password) as never) },
  'a ToolError with extras': {
    run: ({ password, note }) =>
      Promise.reject(
        new ToolError('tool.network_error', `no ${String(password)}`, {
          extras: { password, other: { again: `${String(password)}!`, note } },
        }),
      ),
  },
  'a getter that throws it': {
    run: ({ password }) =>
      Object.defineProperty({}, 'x', {
        enumerable: true,
        get: () => {
          throw new Error(String(password));
        },
      }),
  },
  'a reported error': { run: ({ password, note }) => ({ error: `wrong ${String(password)}`, note }) },
  'a failed tool result': {
    run: ({ password }) => toolResult({ success: false, error: String(password), data: { password: named } }),
  },
  'an output that does not fit': {
    tool: { output: z.object({ n: z.number() }) },
    run: ({ password }) => ({ n: password }),
  },
  'a success check that quotes it': {
    tool: { successCheck: (_: string, result: unknown) => ({ ok: false, reason: JSON.stringify(result) }) },
    run: (args) => args,
  },
  'logs, records and places reached': {
    run: ({ password, note }, context) => {
      context.log(`used ${String(password)}`, {
        password: String(password),
        text: `${String(note)} ${String(password)}`,
      });
      context.record({ password: String(password), partial: `${String(password)} ${String(note)}` });
      context.reached(`https://user:${encodeURIComponent(String(password))}@example.org/${String(note)}`);
      throw new Error('after all that');
    },
  },
  'a key the tool made of it': {
    tool: { idempotencyKey: (args: unknown) => JSON.stringify(args) },
    run: (args) => args,
  },
  'a resource key': { tool: { resourceKeys: (args: unknown) => [JSON.stringify(args)] }, run: () => 1 },
  'a hook that blocks with it': {
    options: { onPreToolUse: (use) => ToolDecision.block(`no ${JSON.stringify(use.arguments)}`) },
    reaches: 0,
  },
  'a hook that asks with it, and the person who answers': {
    options: {
      onPreToolUse: (use) =>
        ToolDecision.requiresConfirmation(`sure about ${use.arguments['password'] as string}?`),
      onConfirm: (request) => ({
        decision: JSON.stringify(request).includes('Sw0rd') ? 'deny' : 'approve',
        by: 'ada',
        reason: `because of ${named}`,
      }),
    },
    run: (args) => args,
  },
  'a hook that throws it': {
    options: {
      onPreToolUse: (use) => {
        throw new Error(`no ${use.arguments['password'] as string}`);
      },
    },
    reaches: 0,
  },
  'a person who is asked by code that throws it': {
    tool: { mode: 'destructive' },
    options: { onConfirm: () => Promise.reject(new Error(named)) },
    reaches: 0,
  },
  'a validation message of zod': {
    tool: { input: z.object({ password: z.literal('x'), note: z.enum(['a']) }) },
    reaches: 0,
  },
  'a validation message of zod that quotes it': {
    tool: {
      input: z.object({
        password: z.string().refine(() => false, { error: (issue) => `bad: ${String(issue.input)}` }),
      }),
    },
    reaches: 0,
  },
  'a validation message of valibot': {
    tool: { input: v.object({ password: v.literal('x'), note: v.pipe(v.string(), v.email()) }) },
    reaches: 0,
  },
  'a validation message of arktype': {
    tool: { input: type({ password: "'x'", note: 'string.email' }) },
    reaches: 0,
  },
  'a validation message of arktype that is cut': {
    args: { password: named.repeat(100) },
    tool: { input: type({ password: "'x'" }) },
    reaches: 0,
  },
  'a validation message of a JSON Schema': {
    tool: { input: { type: 'object', properties: { password: { type: 'number' }, note: { const: 'x' } } } },
    reaches: 0,
  },
  'arguments that are not JSON': {
    args: `{"password": ${JSON.stringify(named)}, "note": "${looks}", oops}`,
    reaches: 0,
  },
  'arguments with a comma too many': {
    args: `{"password": ${JSON.stringify(named)}, "note": "${looks}", }`,
    run: (args) => args,
  },
  'arguments that were cut off': {
    args: `{"note": "${looks}", "password": ${JSON.stringify(named).slice(0, -1)}`,
    reaches: 0,
  },
  'arguments that a repair mends': {
    args: `{"note": "${looks}" "password": ${JSON.stringify(named)}}`,
    options: { repair: () => both },
    run: (args) => args,
  },
  'arguments that are coerced': {
    args: { password: 12_345_678, note: JSON.stringify({ api_key: named }) },
    tool: { input: { type: 'object', properties: { note: { type: 'object' } } } },
    run: ({ note }) => ({ was: (note as { api_key: string }).api_key }),
  },
  'a value that is hidden in one argument and repeated in others': {
    args: {
      password: named,
      note: `use ${named}!`,
      list: [named, { deep: [named] }],
      quoted: JSON.stringify({ note: named }),
      url: `https://example.org/${encodeURIComponent(named)}`,
      encoded: Buffer.from(`bob:${named}`).toString('base64'),
      [`key ${named}`]: 1,
    },
    run: (args) => args,
  },
  'a value that is hidden in an argument and repeated in the caller’s facts': {
    call: {
      principal: { userId: 'ada', claims: { note: named } },
      attrs: { note: `with ${named}` },
      provenance: { model: named },
    },
    run: (_, context) => context.principal?.claims,
  },
  'a value that is hidden in the caller’s facts and repeated in an argument': {
    args: { note: `use ${named} please`, other: [named] },
    call: { attrs: { password: named } },
    run: (args) => args,
  },
  'an output that repeats what is hidden at a declared path': {
    args: {},
    tool: { redact: { output: ['$.pin'] } },
    run: (_, context) => {
      void context.attach({ mimeType: 'text/plain', content: `the pin is ${named}` });
      return { text: `the pin is ${named}`, pin: named };
    },
    reaches: 0,
  },
  'an output that encodes it': {
    run: ({ password }) => ({
      hex: Buffer.from(String(password)).toString('hex'),
      base64: Buffer.from(`bob:${String(password)}`).toString('base64'),
      twice: JSON.stringify(JSON.stringify({ password })),
    }),
  },
  'the caller’s facts': {
    args: {},
    call: {
      principal: { userId: 'ada', claims: { access_token: named, note: looks } },
      attrs: { password: named, note: looks },
      provenance: { model: looks },
    },
    run: (_, context) => `hello ${context.principal?.claims?.['access_token'] as string}`,
    reaches: 0,
  },
};

/** Not a key: lines that look like those of one. */
const keyLines = [
  '-----BEGIN RSA PRIVATE KEY-----',
  ...Array.from({ length: 12 }, (_, line) =>
    createHash('sha512').update(`key line ${line}`).digest('base64').replaceAll('=', 'Q').slice(0, 64),
  ),
  '-----END RSA PRIVATE KEY-----',
];
const key = keyLines.join('\n');
const lastLines = keyLines.slice(-5);

/** Ways in which a tool returns a key, or the part of one that has a marker. */
const keyShapes: Readonly<Record<string, (context: ToolContext) => unknown>> = {
  'one text': () => key,
  'a list of lines': () => ({ file: 'id_rsa', lines: keyLines }),
  'rows of a table': () => keyLines.map((text, number) => ({ number, text, file: 'id_rsa' })),
  'lists of cells': () => ({ rows: keyLines.map((text, number) => [String(number), text]) }),
  'numbered members': () => Object.fromEntries(keyLines.map((text, number) => [`line${number}`, text])),
  'parts of MCP content': () => ({ content: keyLines.map((text) => ({ type: 'text', text })) }),
  'a list of words': () => key.split(/\s/),
  'pieces of any length': () => key.match(/[^]{1,50}/g),
  'the first lines': () => keyLines.slice(0, 5),
  'the last lines of a text': () => `$ tail id_rsa\n${lastLines.join('\n')}`,
  'the last lines in a list': () => lastLines,
  'the last lines in rows': () => lastLines.map((line) => ({ line })),
  'the last lines with numbers': () => lastLines.map((line, number) => `${number + 9}\t${line}`).join('\n'),
  'the last lines as grep shows them': () => lastLines.map((line, at) => `.ssh/id_rsa:${at}:${line}`),
  'the last lines in JSON': () => JSON.stringify({ text: lastLines.join('\n') }),
  'a removed file': () => keyLines.map((line) => `-${line}`).join('\n'),
  bytes: () => Buffer.from(key).toJSON(),
  'a URL-encoded text': () => `https://example.test/?key=${encodeURIComponent(key)}`,
  'lines of the log': (context) => {
    for (const line of keyLines) context.log(line);
  },
  'fields of the log': (context) => {
    for (const line of lastLines) context.log('read', { line });
  },
  'places reached': (context) => {
    context.reached(`https://example.test/?key=${encodeURIComponent(key)}`);
    context.reached(`https://example.test/?key=${encodeURIComponent(encodeURIComponent(key))}`);
  },
};

describe('[secrets-stay-out] hidden values are never in plain text in anything stored or returned', () => {
  it.each(Object.entries(cases))('[secrets-stay-out] %s', async (_, given) => {
    const clock = createManualClock();
    const { ledger, written } = createRecordingLedger(clock);
    const seen: string[] = [];
    const heard: unknown[] = [];
    const { runtime, turn } = setStage({
      ...given.options,
      clock,
      ledger,
      tools: [
        defineTool({
          name: 'login',
          mode: 'external',
          ...given.tool,
          run: (args: unknown, context: ToolContext) => {
            seen.push(JSON.stringify(args));
            context.progress({ message: `working with ${JSON.stringify(args)}` });
            return given.run?.(args as Record<string, unknown>, context);
          },
        } as Parameters<typeof defineTool>[0]),
      ],
    });
    const outcome: ToolOutcome = await turn.call(envelope('c', 'login', given.args ?? both), {
      onProgress: (update) => heard.push(update),
      ...given.call,
    });
    await expectSettledOnce(runtime);

    const shown = [
      outcome,
      outcomeToContentParts(outcome),
      heard,
      await runtime.events.list({ sessionId: 's' }),
      await runtime.calls.list({ sessionId: 's' }),
      await runtime.calls.audit({ sessionId: 's' }),
    ];
    const everything = `${JSON.stringify(shown)}\n${written()}`;
    for (const trace of traces) expect(everything).not.toContain(trace);
    const body = seen.filter((args) => args.includes('Sw0rdf1sh'));
    expect(body).toHaveLength(given.reaches ?? 1);
  });

  it.each(Object.entries(keyShapes))('[secrets-stay-out] a private key as %s', async (_, run) => {
    const { ledger, written } = createRecordingLedger(createManualClock());
    const tools = [
      defineTool({ name: 'read_file', mode: 'external', run: (_args, context) => run(context) }),
    ];
    const { runtime, turn } = setStage({ ledger, tools });
    const outcome = await turn.call(envelope('c', 'read_file', {}));
    const shown = [outcome, await runtime.events.list({ sessionId: 's' })];
    const everything = `${JSON.stringify(shown)}\n${written()}`;
    for (const line of keyLines.slice(1, -1)) expect(everything).not.toContain(line.slice(2, 26));
    expect(everything).toContain('[REDACTED]');
  });

  it('[secrets-stay-out] late results and errors', async () => {
    for (const end of ['resolve', 'reject', 'odd'] as const) {
      const clock = createManualClock();
      const { ledger, written } = createRecordingLedger(clock);
      const body = deferred<unknown>();
      const { runtime, turn } = setStage({
        clock,
        ledger,
        tools: [defineTool({ name: 'login', timeoutMs: 10, run: () => body.promise })],
      });
      const asked = turn.call(envelope('c', 'login', both));
      await quiet();
      clock.advance(10);
      await asked;
      if (end === 'resolve') body.resolve({ greeting: `hello ${named}`, looks });
      if (end === 'reject') body.reject(new Error(`late ${named} ${looks}`));
      if (end === 'odd')
        body.resolve({
          get x() {
            throw new Error(named);
          },
        });
      await quiet();
      const text = `${JSON.stringify(await runtime.events.list({ sessionId: 's' }))}\n${written()}`;
      expect(text).toContain('tool.late');
      for (const trace of traces) expect(text).not.toContain(trace);
    }
  });

  it('[secrets-stay-out] a held call is stored sealed until it is settled, and runs with the real value', async () => {
    const clock = createManualClock();
    const { ledger, written } = createRecordingLedger(clock);
    const answer = deferred<{ decision: 'approve'; by: string }>();
    const shown: unknown[] = [];
    const seen: unknown[] = [];
    const { turn } = setStage({
      clock,
      ledger,
      tools: [defineTool({ name: 'delete_account', run: (args) => void seen.push(args) })],
      onConfirm: (request) => {
        shown.push(request);
        return answer.promise;
      },
    });
    const asked = turn.call(envelope('c', 'delete_account', both));
    await quiet();
    const sealed = await readSealed(ledger, 's', 'c');
    expect(sealed).toMatch(/^v1\./);
    for (const trace of traces) {
      expect(sealed).not.toContain(trace);
      expect(Buffer.from(sealed ?? '', 'base64url').toString('latin1')).not.toContain(trace);
      expect(JSON.stringify(shown)).not.toContain(trace);
    }
    expect(shown).toMatchObject([{ arguments: { password: '[REDACTED]' } }]);
    answer.resolve({ decision: 'approve', by: 'ada' });
    await asked;
    expect(seen).toEqual([both]);
    expect(await readSealed(ledger, 's', 'c')).toBeUndefined();
    for (const trace of traces) expect(written()).not.toContain(trace);
  });

  it('[secrets-stay-out] digests of hidden values are keyed, all others are plain', async () => {
    const args = { password: 'hunter2' };
    const digests: string[] = [];
    for (const given of [args, args, { name: 'ada' }, { name: 'ada' }]) {
      const { runtime, turn } = setStage({ tools: [defineTool({ name: 'login', run: () => 1 })] });
      await turn.call(envelope('c', 'login', given));
      const [call] = await runtime.calls.list({ sessionId: 's' });
      digests.push(call?.requestDigest ?? '');
    }
    expect(digests[0]).not.toBe(digests[1]);
    expect(digests[2]).toBe(digests[3]);
  });

  it('[secrets-stay-out] an index in a list is not a secret, and survives in inputs and outputs', async () => {
    const { turn } = setStage({ tools: [defineTool({ name: 'list_it', run: (args) => args })] });
    const args = { next_page_token: 'CAUQAA', max_tokens: 5 };
    expect(await turn.call(envelope('c', 'list_it', args))).toMatchObject({ output: args });
  });
});
