/** The approved input is the one that runs: the schema's output, on every way to a body. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { AnyTool, Runtime, RuntimeOptions, ToolOutcome } from 'quittance';
import type { ConfirmationView } from 'quittance/runtime';
import type { OpenLedger } from 'quittance/store';
import { createRuntime, defineTool, retry, ToolDecision, ToolError } from 'quittance';
import { openLedger } from 'quittance/ledger';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { startServer } from '../http/start-server.ts';
import { question, yes } from '../people/question.ts';
import { runCli } from '../run-cli.ts';
import { envelope } from '../stage.ts';
import type { SqlValue } from '../../packages/quittance/src/store/sqlite/database.ts';
import { openBare } from '../bare-database.ts';

let folder: string;
const closing: (() => Promise<unknown>)[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'quittance-approved-'));
});
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
  rmSync(folder, { recursive: true, force: true });
});

const ledgerPath = (): string => join(folder, 'ledger.db');

type Process = { readonly runtime: Runtime; readonly ledger: OpenLedger; readonly end: () => Promise<void> };

/** A process: its own handle on the ledger, its own runtime. */
async function start(
  tools: readonly AnyTool[],
  options: Omit<RuntimeOptions<readonly AnyTool[]>, 'tools' | 'ledger'> = {},
): Promise<Process> {
  const ledger = await openLedger(ledgerPath());
  const runtime = createRuntime({ ...options, tools, ledger });
  let over: Promise<void> | undefined;
  const end = (): Promise<void> => (over ??= runtime.close().then(() => ledger.close()));
  closing.push(end);
  return { runtime, ledger, end };
}

const call = (
  runtime: Runtime,
  args: Readonly<Record<string, unknown>>,
  id = 'c',
  name = 'delete_it',
): Promise<ToolOutcome> => runtime.turn({ sessionId: 's' }).call(envelope(id, name, args));

/** A process that holds a call and then dies. */
async function holdAndEnd(tool: AnyTool, args: Readonly<Record<string, unknown>>): Promise<ConfirmationView> {
  const { runtime, end } = await start([tool]);
  void call(runtime, args).catch(() => undefined); // its process ends
  const open = await question(runtime);
  await end();
  return open;
}

async function recorded(runtime: Runtime): Promise<unknown> {
  const records = await runtime.calls.audit({ sessionId: 's', callId: 'c' });
  return records.at(-1)?.effectiveInput;
}

/** Changes types, has a default, and its default differs each time. */
function pricing(ran: unknown[], next: () => number = () => 0): AnyTool {
  return defineTool({
    name: 'delete_it',
    input: z.object({
      cents: z.string().transform(Number),
      note: z.string().default(() => `note ${next()}`),
      nested: z.object({ list: z.array(z.string().transform((text) => text.toUpperCase())) }).optional(),
    }),
    run: (args) => {
      ran.push(structuredClone(args));
      args.cents = -1; // changes that a body makes to its arguments reach nothing stored
      return 'gone';
    },
  }) as AnyTool;
}

const contentFilesIn = (where: string): string[] =>
  (readdirSync(where, { recursive: true }) as string[])
    .filter((file) => /[0-9a-f]{64}$/.test(file))
    .map((file) => join(where, file));

describe('[bound-approval] the output of the schema', () => {
  it('[bound-approval] is shown, recorded and run, and the schema does not run again', async () => {
    const ran: unknown[] = [];
    let times = 0;
    const tool = pricing(ran, () => ++times);
    times = 0; // the definition of a tool calls the schema for its defaults
    const { runtime } = await start([tool]);
    const outcome = call(runtime, { cents: '500', nested: { list: ['a'] } });
    const open = await question(runtime);
    const effective = { cents: 500, note: 'note 1', nested: { list: ['A'] } };
    expect(open).toMatchObject({ effectiveInput: effective, inputForm: 'json' });
    expect(open.acceptedInput).toEqual({ cents: '500', nested: { list: ['a'] } });
    await runtime.confirmations.decide(open.confirmationId, yes(open));
    expect(await outcome).toMatchObject({ type: 'ToolExecutionResult' });
    expect(ran).toEqual([effective]);
    expect(times).toBe(1);
    expect(await recorded(runtime)).toEqual(effective);
    const [kept] = await runtime.calls.list({ sessionId: 's' });
    expect(kept?.effectiveInput).toEqual(effective);
  });

  it('[bound-approval] runs as approved in another process, whose schema would return something else', async () => {
    let reading = 0;
    const ran: unknown[] = [];
    const [before, after] = [[], ran].map((list) => pricing(list, () => reading)) as [AnyTool, AnyTool];
    reading = 1;
    const shown = await holdAndEnd(before, { cents: '500' });
    reading = 2;
    const { runtime } = await start([after]);
    const open = await question(runtime);
    expect(open.inputDigest).toBe(shown.inputDigest);
    await runtime.confirmations.decide(open.confirmationId, yes(open));
    await runtime.recover();
    expect(await call(runtime, { cents: '500' })).toMatchObject({ type: 'ToolExecutionResult' });
    expect(ran).toEqual([{ cents: 500, note: 'note 1' }]);
  });

  it('[told-equals-kept] is on record even without an approval', async () => {
    const ran: unknown[] = [];
    const { runtime } = await start([pricing(ran)], { treatments: { destructive: 'run' } });
    await call(runtime, { cents: '7' });
    expect(ran).toEqual([{ cents: 7, note: 'note 0' }]);
    expect(await recorded(runtime)).toEqual({ cents: 7, note: 'note 0' });
  });

  it('[secrets-stay-out] stays hidden if a transform moves it, and runs unchanged', async () => {
    const ran: unknown[] = [];
    const secret = 'correct horse battery';
    const tool = (): AnyTool =>
      defineTool({
        name: 'delete_it',
        input: z
          .object({ pin: z.string() })
          .transform(({ pin }) => ({ moved: { to: [pin] }, size: pin.length })),
        redact: { input: ['$.pin'] },
        run: (args) => void ran.push(args),
      }) as AnyTool;
    const shown = await holdAndEnd(tool(), { pin: secret });
    expect(JSON.stringify(shown)).not.toContain(secret);
    expect(shown.inputDigest).toMatch(/^hmac-/);
    const { runtime, end } = await start([tool()]);
    const open = await question(runtime);
    await runtime.confirmations.decide(open.confirmationId, yes(open));
    await runtime.recover();
    await call(runtime, { pin: secret });
    expect(ran).toEqual([{ moved: { to: [secret] }, size: secret.length }]);
    await end();
    const files = (readdirSync(folder, { recursive: true }) as string[]).map((file) => join(folder, file));
    const told = files.filter((file) => statSync(file).isFile() && readFileSync(file).includes(secret));
    expect(told).toEqual([]);
  });

  it('[bound-approval] is what the approval of an edit covers', async () => {
    const ran: unknown[] = [];
    const { runtime } = await start([pricing(ran)]);
    const outcome = call(runtime, { cents: '500' });
    const open = await question(runtime);
    const edit = { decision: 'edit', by: 'eve', inputDigest: open.inputDigest } as const;
    await expect(
      runtime.confirmations.decide(open.confirmationId, { ...edit, arguments: { cents: 300 } }),
    ).rejects.toMatchObject({ code: 'confirmation.mismatch' });
    await runtime.confirmations.decide(open.confirmationId, { ...edit, arguments: { cents: '300' } });
    await outcome;
    expect(ran).toEqual([{ cents: 300, note: 'note 0' }]);
    expect(await recorded(runtime)).toEqual({ cents: 300, note: 'note 0' });
  });

  it('[bound-approval] asks again if a process without the tool made the edit and the schema changes it', async () => {
    const open = await holdAndEnd(pricing([]), { cents: '500' });
    const other = await start([]);
    await other.runtime.confirmations.decide(open.confirmationId, {
      decision: 'edit',
      by: 'eve',
      inputDigest: open.inputDigest,
      arguments: { cents: '300' },
    });
    await other.end();
    const ran: unknown[] = [];
    const { runtime } = await start([pricing(ran)]);
    void runtime.recover();
    const again = await question(runtime);
    expect(again.confirmationId).not.toBe(open.confirmationId);
    expect(again).toMatchObject({ effectiveInput: { cents: 300, note: 'note 0' } });
    await runtime.confirmations.decide(again.confirmationId, yes(again));
    await call(runtime, { cents: '500' });
    expect(ran).toEqual([{ cents: 300, note: 'note 0' }]);
  });

  it('[deny-wins] reaches hooks, previews, keys, costs and resource keys, each as its own copy', async () => {
    const seen: unknown[] = [];
    const look = (args: { cents: number }): void => {
      seen.push(structuredClone(args));
      args.cents = -1;
    };
    const tool = defineTool({
      name: 'delete_it',
      input: z.object({ cents: z.string().transform(Number), more: z.string().optional() }),
      idempotencyKey: (args) => {
        look(args);
        return 'key';
      },
      costMicros: (args) => {
        look(args);
        return 1;
      },
      resourceKeys: (args) => {
        look(args);
        return ['x'];
      },
      preview: (args) => {
        look(args);
        return { kind: 'text', text: 'shown', snapshot: {} };
      },
      run: (args) => {
        look(args);
      },
    });
    const { runtime } = await start([tool as AnyTool], {
      onPreToolUse: (use) => {
        seen.push(use.arguments);
        return ToolDecision.allow;
      },
      onConfirm: ({ arguments: shown }) => {
        seen.push(shown);
        return { decision: 'approve', by: 'ada' };
      },
      budgets: [{ scope: 'session', costMicros: 1_000 }],
    });
    // A rule must not be misled by fields that the schema drops and the body never gets.
    expect(await call(runtime, { cents: '5', dry_run: true })).toMatchObject({ type: 'ToolExecutionResult' });
    expect(seen.length).toBeGreaterThan(6);
    for (const each of seen) expect(each).toEqual({ cents: 5 });
  });

  it('[no-silent-rerun] reaches every attempt, whatever the previous one did to it', async () => {
    const ran: unknown[] = [];
    let readings = 0;
    const tool = defineTool({
      name: 'delete_it',
      mode: 'external',
      idempotent: true,
      input: z.object({ cents: z.string().transform(Number), at: z.number().default(() => ++readings) }),
      run: (args) => {
        ran.push(structuredClone(args));
        args.cents = -1;
        if (ran.length < 3) throw new ToolError('tool.network_error', 'Try again.');
        return 'done';
      },
    });
    readings = 0;
    const { runtime } = await start([tool as AnyTool], { behaviors: [retry({ attempts: 3, initialMs: 1 })] });
    expect(await call(runtime, { cents: '5' })).toMatchObject({ type: 'ToolExecutionResult' });
    expect(ran).toEqual(Array.from({ length: 3 }, () => ({ cents: 5, at: 1 })));
  });

  it('[told-equals-kept] is what the undo of the call gets', async () => {
    const undone: unknown[] = [];
    const tool = defineTool({
      name: 'delete_it',
      input: z.object({ cents: z.string().transform(Number), note: z.string().default('none') }),
      undo: (args) => void undone.push(args),
      run: () => 'done',
    });
    const { runtime } = await start([tool as AnyTool]);
    expect(await call(runtime, { cents: '5' })).toMatchObject({ type: 'ToolExecutionResult' });
    expect(await runtime.calls.undo({ sessionId: 's', callId: 'c' }, { by: 'ada' })).toMatchObject({
      type: 'ToolExecutionResult',
    });
    expect(undone).toEqual([{ cents: 5, note: 'none' }]);
  });

  it('[one-outcome] the output of the schema that throws, or returns a promise that never settles, is a denial', async () => {
    const tool = (schema: z.ZodType): AnyTool =>
      defineTool({ name: 'delete_it', input: schema, run: () => 1 }) as AnyTool;
    for (const transform of [
      (): never => {
        throw new Error('boom');
      },
      (): Promise<never> => Promise.reject(new Error('boom')),
    ]) {
      const { runtime, end } = await start([tool(z.object({ a: z.string().transform(transform) }))]);
      expect(await call(runtime, { a: 'x' }, `c${Math.random()}`)).toMatchObject({ reason: 'validation' });
      await end();
    }
  });
});

describe('[bound-approval] a value that JSON cannot hold', () => {
  const dated = (ran: unknown[], now?: () => Date): AnyTool =>
    defineTool({
      name: 'delete_it',
      input: z.object({
        at: now === undefined ? z.coerce.date() : z.coerce.date().default(now),
        tags: z.array(z.string()).transform((tags) => new Set(tags)),
        total: z.coerce.bigint(),
      }),
      run: (args) => void ran.push(args),
    }) as AnyTool;
  const args = { at: '2026-01-02', tags: ['a'], total: 5 };
  const shown = {
    at: { $type: 'Date', value: '2026-01-02T00:00:00.000Z' },
    tags: { $type: 'Set', values: ['a'] },
    total: { $type: 'bigint', value: '5' },
  };

  it('[bound-approval] is shown as a typed rendering, and runs if the schema still returns the same', async () => {
    const first = await holdAndEnd(dated([]), args);
    expect(first).toMatchObject({ effectiveInput: shown, inputForm: 'typed', acceptedInput: args });
    const ran: unknown[] = [];
    const { runtime } = await start([dated(ran)]);
    const open = await question(runtime);
    await runtime.confirmations.decide(open.confirmationId, yes(open));
    await runtime.recover();
    await call(runtime, args);
    expect(ran).toEqual([{ at: new Date('2026-01-02'), tags: new Set(['a']), total: 5n }]);
    expect(await recorded(runtime)).toEqual(shown);
  });

  it('[bound-approval] asks again with the new value if a clock changes it', async () => {
    let day = 1;
    const ran: unknown[] = [];
    const { runtime } = await start([dated(ran, () => new Date(Date.UTC(2026, 0, day)))]);
    const outcome = call(runtime, { tags: [], total: 1 });
    const first = await question(runtime);
    day = 2;
    await runtime.confirmations.decide(first.confirmationId, yes(first));
    const second = await question(runtime);
    expect(second.confirmationId).not.toBe(first.confirmationId);
    expect(second.inputDigest).not.toBe(first.inputDigest);
    expect(second.effectiveInput).toMatchObject({ at: { value: '2026-01-02T00:00:00.000Z' } });
    expect(ran).toEqual([]);
    await runtime.confirmations.decide(second.confirmationId, yes(second));
    await outcome;
    expect(ran).toMatchObject([{ at: new Date(Date.UTC(2026, 0, 2)) }]);
  });

  it('[bound-approval] does not run if a function of the tool changed it on the way', async () => {
    const ran: unknown[] = [];
    const tool = defineTool({
      name: 'delete_it',
      input: z.object({ at: z.coerce.date() }),
      idempotencyKey: ({ at }) => {
        at.setTime(0);
        return 'key';
      },
      run: (given) => void ran.push(given),
    });
    const { runtime } = await start([tool as AnyTool], { treatments: { destructive: 'run' } });
    await call(runtime, { at: '2026-01-02' });
    expect(ran).toEqual([{ at: new Date('2026-01-02') }]);
  });

  it('[bound-approval] cannot be imitated by data that looks like a rendering', async () => {
    const ran: unknown[] = [];
    const tool = (schema: z.ZodType): AnyTool =>
      defineTool({ name: 'delete_it', input: schema, run: (given) => void ran.push(given) }) as AnyTool;
    const fake = { $type: 'Date', value: '2026-01-02T00:00:00.000Z' };
    const any = z.object({ a: z.unknown() }).transform(({ a }) => ({ a, left: undefined }));
    const { runtime } = await start([tool(any)]);
    void call(runtime, { a: fake }).catch(() => undefined);
    const open = await question(runtime);
    expect(open.effectiveInput).toMatchObject({ a: { $type: 'Object', members: fake } });
  });
});

describe('[bound-approval] a value that was changed in the store', () => {
  const plain = (ran: unknown[]): AnyTool =>
    defineTool({
      name: 'delete_it',
      input: { type: 'object', properties: { to: { type: 'string' }, password: { type: 'string' } } },
      run: (given) => void ran.push(given),
    }) as AnyTool;

  async function approveAndEnd(args: Readonly<Record<string, unknown>>): Promise<void> {
    const open = await holdAndEnd(plain([]), args);
    const other = await start([]);
    await other.runtime.confirmations.decide(open.confirmationId, yes(open));
    await other.end();
  }

  const change = (sql: string, ...values: SqlValue[]): number => {
    const database = openBare(ledgerPath());
    const { changes } = database.prepare(sql).run(...values);
    database.close();
    return changes;
  };

  async function expectNotRun(args: Readonly<Record<string, unknown>>): Promise<void> {
    const ran: unknown[] = [];
    const { runtime } = await start([plain(ran)]);
    await runtime.recover();
    const outcome = await call(runtime, args);
    expect(ran).toEqual([]);
    expect(outcome).toMatchObject({ type: 'ToolFailure', code: 'ledger.altered', retryable: false });
    const { code, out } = await runCli(['verify', '--ledger', ledgerPath()]);
    expect({ code, out }).toMatchObject({ code: 1 });
  }

  it('[bound-approval] a value that was changed in the store in the body of an entry ends the call, and verify reports it', async () => {
    await approveAndEnd({ to: 'alice' });
    expect(change("UPDATE entries SET bodies = replace(bodies, 'alice', 'mallory')")).toBeGreaterThan(0);
    await expectNotRun({ to: 'alice' });
  });

  it('[bound-approval] a value that was changed in the store in the chained text ends the call too', async () => {
    await approveAndEnd({ to: 'alice' });
    expect(
      change(
        'UPDATE entries SET text = replace(text, \'"by":{"type":"person"\', \'"by":{ "type":"person"\')',
      ),
    ).toBeGreaterThan(0);
    await expectNotRun({ to: 'alice' });
  });

  it('[bound-approval] a value that was changed in the store by an older seal of the same call ends the call', async () => {
    const args = { to: 'alice', password: 'hunter2hunter2' };
    const open = await holdAndEnd(plain([]), args);
    const database = openBare(ledgerPath());
    const sealed = database.prepare<Record<string, SqlValue>>('SELECT * FROM sealed').get() ?? {};
    database.close();
    const other = await start([plain([])]);
    await other.runtime.confirmations.decide(open.confirmationId, {
      decision: 'edit',
      by: 'eve',
      inputDigest: open.inputDigest,
      arguments: { to: 'bob', password: 'another secret' },
    });
    await other.end();
    const column = Object.keys(sealed).find((name) => String(sealed[name]).startsWith('v1.')) ?? '';
    expect(change(`UPDATE sealed SET "${column}" = ?`, sealed[column] ?? null)).toBe(1);
    await expectNotRun(args);
  });
});

describe('[bound-approval] an artifact in the arguments', () => {
  const maker = defineTool({ name: 'get_much', mode: 'read', run: () => 'row '.repeat(9_000) }) as AnyTool;
  const sender = (ran: unknown[]): AnyTool =>
    defineTool({
      name: 'delete_it',
      input: { type: 'object', properties: { text: {} }, required: ['text'] },
      run: (given) => void ran.push(given),
    }) as AnyTool;

  async function makeArtifact({ runtime }: Process): Promise<string> {
    const made = await call(runtime, {}, 'm', 'get_much');
    return made.type === 'ToolArtifactReference' ? made.artifactId : '';
  }

  it('[bound-approval] is shown with size, type, digest and its beginning, and the digest is approved', async () => {
    const ran: unknown[] = [];
    const here = await start([maker, sender(ran)]);
    const artifactId = await makeArtifact(here);
    const outcome = call(here.runtime, { text: { $artifact: artifactId } });
    const open = await question(here.runtime);
    expect(open.artifacts).toMatchObject([
      { path: ['text'], artifactId, mimeType: 'application/json', sizeBytes: 36_002, inPlace: true },
    ]);
    const [artifact] = open.artifacts;
    expect(artifact?.preview).toContain('row row row');
    expect(artifact?.digest).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect(open.effectiveInput).toEqual({ text: { $artifact: artifactId, digest: artifact?.digest } });
    await here.runtime.confirmations.decide(open.confirmationId, yes(open));
    expect(await outcome).toMatchObject({ type: 'ToolExecutionResult' });
    expect(ran).toEqual([{ text: 'row '.repeat(9_000) }]);
  });

  it.each([
    ['written over', (file: string) => writeFileSync(file, '"other"')],
    ['cut', (file: string) => writeFileSync(file, readFileSync(file).subarray(0, 10))],
    ['removed', (file: string) => rmSync(file)],
  ])(
    '[bound-approval] an artifact in the arguments whose file was %s after the approval ends the call',
    async (_, spoil) => {
      const ran: unknown[] = [];
      const here = await start([maker, sender(ran)]);
      const artifactId = await makeArtifact(here);
      const outcome = call(here.runtime, { text: { $artifact: artifactId } });
      const open = await question(here.runtime);
      for (const file of contentFilesIn(folder)) spoil(file);
      await here.runtime.confirmations.decide(open.confirmationId, yes(open));
      expect(await outcome).toMatchObject({ type: 'ToolFailure', code: 'ledger.altered' });
      expect(ran).toEqual([]);
      expect(await call(here.runtime, { artifactId }, 'r', 'read_artifact')).toMatchObject({
        code: 'ledger.altered',
      });
      expect(await call(here.runtime, { text: { $artifact: artifactId } }, 'd')).toMatchObject({
        code: 'ledger.altered',
      });
    },
  );

  it('[bound-approval] an artifact in the arguments whose name leads to other content ends the call', async () => {
    const ran: unknown[] = [];
    const here = await start([
      maker,
      defineTool({ name: 'get_more', mode: 'read', run: () => 'col '.repeat(9_000) }) as AnyTool,
      sender(ran),
    ]);
    const artifactId = await makeArtifact(here);
    const other = await call(here.runtime, {}, 'n', 'get_more');
    const otherId = other.type === 'ToolArtifactReference' ? other.artifactId : '';
    const outcome = call(here.runtime, { text: { $artifact: artifactId } });
    const open = await question(here.runtime);
    const database = openBare(ledgerPath());
    database
      .prepare(
        'UPDATE artifacts SET hash = (SELECT hash FROM artifacts WHERE artifact = ?) WHERE artifact = ?',
      )
      .run(otherId, artifactId);
    database.close();
    await here.runtime.confirmations.decide(open.confirmationId, yes(open));
    expect(await outcome).toMatchObject({ type: 'ToolFailure', code: 'ledger.altered' });
    expect(ran).toEqual([]);
    expect(await call(here.runtime, { artifactId }, 'r', 'read_artifact')).toMatchObject({
      code: 'ledger.altered',
    });
  });

  it('[secrets-stay-out] shows its beginning without its secrets', async () => {
    const secret = `AKIA${'ABCDEFGHIJKLMNOP'}`;
    const noting = defineTool({
      name: 'get_much',
      mode: 'read',
      run: () => `begin ${secret} ${'x'.repeat(20_000)}`,
    }) as AnyTool;
    const here = await start([noting, sender([])]);
    const artifactId = await makeArtifact(here);
    void call(here.runtime, { text: { $artifact: artifactId } }).catch(() => undefined);
    const open = await question(here.runtime);
    expect(JSON.stringify(open)).not.toContain(secret);
    expect(open.artifacts[0]?.preview).toContain('begin');
  });

  it('[bound-approval] named with a wrong digest is refused', async () => {
    const here = await start([maker, sender([])]);
    const artifactId = await makeArtifact(here);
    expect(
      await call(here.runtime, { text: { $artifact: artifactId, digest: `sha256:${'0'.repeat(64)}` } }),
    ).toMatchObject({ type: 'ToolDenied', reason: 'validation' });
  });
});

describe('[told-equals-kept] people see what the tool gets', () => {
  const show = async (id: string): Promise<string> =>
    (await runCli(['show', id, '--session', 's', '--ledger', ledgerPath()])).out;

  it('[told-equals-kept] people see what the tool gets on the command line, which says "as it is" only if nothing changed', async () => {
    const tools = [
      pricing([]),
      defineTool({ name: 'get_it', mode: 'read', input: { type: 'object' }, run: () => 1 }) as AnyTool,
      defineTool({
        name: 'get_date',
        mode: 'read',
        input: z.object({ at: z.coerce.date() }),
        run: () => 1,
      }) as AnyTool,
    ];
    const { runtime, end } = await start(tools, { treatments: { destructive: 'run' } });
    await call(runtime, { cents: '500' });
    await call(runtime, { a: 1 }, 'plain', 'get_it');
    await call(runtime, { at: '2026-01-02' }, 'typed', 'get_date');
    await end();
    const changed = await show('c');
    expect(changed).toContain('effective: the input that the tool received');
    expect(changed).toMatch(/"cents": 500\b/);
    expect(changed).not.toContain('unchanged');
    expect(await show('plain')).toContain('passed to the tool unchanged');
    const typed = await show('typed');
    expect(typed).toContain('a rendering of the input that the tool received');
    expect(typed).not.toContain('unchanged');
  });

  it('[bound-approval] people see what the tool gets with its artifacts, on the command line', async () => {
    const maker = defineTool({ name: 'get_much', mode: 'read', run: () => 'row '.repeat(9_000) }) as AnyTool;
    const here = await start([
      maker,
      defineTool({ name: 'delete_it', input: { type: 'object' }, run: () => 1 }) as AnyTool,
    ]);
    const made = await call(here.runtime, {}, 'm', 'get_much');
    const $artifact = made.type === 'ToolArtifactReference' ? made.artifactId : '';
    void call(here.runtime, { text: { $artifact } }).catch(() => undefined);
    const open = await question(here.runtime);
    const [artifact] = open.artifacts;
    const page = await show('c');
    for (const fact of [$artifact, '36002 bytes', 'application/json', 'row row row'])
      expect(page).toContain(fact);
    expect(page.replaceAll(/\s/g, '')).toContain(artifact?.digest);
    const listed = await runCli(['pending', '--json', '--ledger', ledgerPath()]);
    expect(listed.out).toContain(artifact?.digest);
  });

  it('[bound-approval] people see what the tool gets over HTTP, where a changed artifact is not served', async () => {
    const server = await startServer();
    closing.push(() => server.close());
    const turn = server.runtime.turn({ sessionId: 's1' });
    const made = await turn.call(envelope('m', 'read_log', {}));
    const $artifact = made.type === 'ToolArtifactReference' ? made.artifactId : '';
    await server.ask('c', 'delete_file', { path: { $artifact, as: 'text' } });
    const { body } = await server.get<{ rows: readonly ConfirmationView[] }>(
      '/v1/confirmations?status=pending',
    );
    const [artifact] = body.rows[0]?.artifacts ?? [];
    expect(artifact).toMatchObject({ artifactId: $artifact, mimeType: 'application/json', path: ['path'] });
    expect(body.rows[0]?.effectiveInput).toMatchObject({ path: { $artifact, digest: artifact?.digest } });
    const address = `/v1/sessions/s1/artifacts/${$artifact}`;
    expect((await server.get(address)).status).toBe(200);
    for (const file of contentFilesIn(dirname(server.ledgerPath))) writeFileSync(file, '"other"');
    const refused = await server.get<{ code: string }>(address);
    expect(refused.status).toBe(500);
    expect(JSON.stringify(refused.body)).toContain('ledger.altered');
  });
});
