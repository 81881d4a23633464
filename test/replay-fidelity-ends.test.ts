/** Ends that no body can produce itself: they are played unchanged, and no other body can claim them. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AnyTool, Runtime, ToolContext, ToolOutcome } from 'quittance';
import type { OpenLedger } from 'quittance/store';
import { createRuntime, defineTool, retry, ToolError } from 'quittance';
import { contracts, contractsFromYamlString } from 'quittance/contracts';
import { createMemoryLedger, openLedger } from 'quittance/ledger';
import type { Cassette } from 'quittance/testing';
import {
  createManualClock,
  diffSessions,
  forkSession,
  readCassette,
  recordCassette,
  recordedTools,
  sealCassette,
  writeCassette,
} from 'quittance/testing';
import { describe, expect, test } from 'vitest';
import { envelope, quiet } from './stage.ts';
import { alterLedger } from './alter-ledger.ts';
import { readWholeArtifact } from '../packages/quittance/src/ledger/reads.ts';

const cassetteOf = async (ledger: OpenLedger): Promise<Cassette> =>
  readCassette(writeCassette(await recordCassette(ledger, { sessionId: 's' })));

const sameCalls = async (a: OpenLedger, b: OpenLedger): Promise<unknown> =>
  diffSessions(await a.readSession('s'), await b.readSession('s')).calls.filter(
    ({ status }) => status !== 'same',
  );

const hang = defineTool({
  name: 'hang',
  mode: 'external',
  timeoutMs: 700,
  retryOnTimeout: false,
  run: () => new Promise(() => {}),
});

async function recordTimeout(): Promise<{ ledger: OpenLedger; outcome: ToolOutcome }> {
  const clock = createManualClock();
  const ledger = createMemoryLedger({ clock });
  const asked = createRuntime({ tools: [hang], ledger, clock })
    .turn({ sessionId: 's' })
    .call(envelope('c', 'hang'));
  await quiet();
  clock.advance(700);
  return { ledger, outcome: await asked };
}

describe('a recorded timeout', () => {
  test('is the same timeout in every field, without a clock that can be moved', async () => {
    const { ledger, outcome } = await recordTimeout();
    expect(outcome).toMatchObject({ type: 'ToolTimeout', elapsedMs: 700, retryable: false });
    const { tools } = recordedTools(await cassetteOf(ledger), [hang]);
    const replayed = createMemoryLedger();
    const played = await createRuntime({ tools, ledger: replayed })
      .turn({ sessionId: 's' })
      .call(envelope('c', 'hang'));
    expect(played).toEqual(outcome);
    expect(await sameCalls(ledger, replayed)).toEqual([]);
  });

  test('before a live fork is a timeout too', async () => {
    const { ledger, outcome } = await recordTimeout();
    const fork = await forkSession(ledger, { from: 's', at: 1, as: 'f', after: 'live', tools: [hang] });
    const played = await createRuntime({ tools: fork.tools, ledger })
      .turn({ sessionId: 'f' })
      .call(envelope('c', 'hang'));
    expect(played).toEqual(outcome);
  });
});

describe('a recorded unresolved call', () => {
  const ends: Readonly<Record<string, () => unknown>> = {
    'an exception': () => Promise.reject(new Error('socket hang up')),
    'an error its author calls final': () =>
      Promise.reject(new ToolError('tool.network_error', 'closed', { retryable: false })),
    'a timeout': () => new Promise(() => {}),
  };
  test.each(Object.entries(ends))('is the same in every field: %s', async (_, end) => {
    const tool = defineTool({ name: 'pay', mode: 'external', timeoutMs: 700, run: end });
    const clock = createManualClock();
    const ledger = createMemoryLedger({ clock });
    const asked = createRuntime({ tools: [tool], ledger, clock })
      .turn({ sessionId: 's' })
      .call(envelope('c', 'pay'));
    await quiet();
    clock.advance(700);
    const outcome = await asked;
    expect(outcome).toMatchObject({ retryable: false, inDoubt: true });
    const { tools } = recordedTools(await cassetteOf(ledger), [tool]);
    const played = await createRuntime({ tools }).turn({ sessionId: 's' }).call(envelope('c', 'pay'));
    expect(played).toEqual({ ...outcome, ...('elapsedMs' in played && { elapsedMs: played.elapsedMs }) });
  });
});

const blockAllText = `
apiVersion: edictum/v1
kind: Ruleset
metadata: { name: shut }
defaults: { mode: enforce }
rules:
  - id: shut
    type: post
    tool: pay
    when: { output.text: { contains: paid } }
    then: { action: block, message: Not for you. }
`;
const blockAll = contractsFromYamlString(blockAllText);
const pay = defineTool({ name: 'pay', mode: 'external', rerun: 'allow', run: () => ({ note: 'paid' }) });

async function recordBlocked(): Promise<{ ledger: OpenLedger; outcome: ToolOutcome }> {
  const ledger = createMemoryLedger();
  const runtime = createRuntime({ tools: [pay], ledger, contracts: blockAll });
  return { ledger, outcome: await runtime.turn({ sessionId: 's' }).call(envelope('c', 'pay')) };
}

describe('an output that rules withheld', () => {
  test('is withheld in a replay, with the same text', async () => {
    const { ledger, outcome } = await recordBlocked();
    expect(outcome).toMatchObject({ type: 'ToolFailure', code: 'policy.output', error: 'Not for you.' });
    const { tools } = recordedTools(await cassetteOf(ledger), [pay]);
    const replayed = createMemoryLedger();
    const runtime = createRuntime({ tools, ledger: replayed, contracts: blockAll });
    await runtime.turn({ sessionId: 's' }).call(envelope('c', 'pay'));
    expect(await sameCalls(ledger, replayed)).toEqual([]);
  });

  test('stays a failure if the rule is gone: the withheld output is on no cassette', async () => {
    const { ledger } = await recordBlocked();
    const { tools } = recordedTools(await cassetteOf(ledger), [pay]);
    const runtime = createRuntime({ tools });
    expect(await runtime.turn({ sessionId: 's' }).call(envelope('c', 'pay'))).toMatchObject({
      code: 'policy.output',
      error: 'Not for you.',
    });
    const [responded] = (await runtime.events.list({ sessionId: 's' })).filter(
      (event) => event.type === 'tool.responded',
    );
    expect(responded).toMatchObject({ rules: [] });
  });
});

/** The rulings on the result of the one call of a runtime. */
async function rulingsOf(runtime: Runtime): Promise<unknown> {
  const events = await runtime.events.list({ sessionId: 's' });
  return events.flatMap((event) =>
    event.type === 'tool.responded' ? event.rules.map(({ ruleId, action }) => [ruleId, action]) : [],
  );
}

describe('an earlier ruling that withheld the output', () => {
  const other = (post: string): string => blockAllText.replace(/type: post[^]*$/, post);
  test.each<[rule: string, text: string, rulings: unknown]>([
    ['still blocks', `${blockAllText}# a later version`, [['shut', 'block']]],
    ['only warns', blockAllText.replace('action: block', 'action: warn'), []],
    ['only observes', blockAllText.replace('mode: enforce', 'mode: observe'), []],
    [
      'judges calls before they run',
      other(
        'type: pre\n    tool: pay\n    when: { args.x: { equals: 1 } }\n    then: { action: block, message: No. }\n',
      ),
      [],
    ],
  ])('counts in a replay under other rules if the rule with its id %s', async (_, text, rulings) => {
    const { ledger } = await recordBlocked();
    const { tools } = recordedTools(await cassetteOf(ledger), [pay]);
    const runtime = createRuntime({ tools, contracts: contractsFromYamlString(text) });
    expect(await runtime.turn({ sessionId: 's' }).call(envelope('c', 'pay'))).toMatchObject({
      code: 'policy.output',
    });
    expect(await rulingsOf(runtime)).toEqual(rulings);
  });
});

test('a rule written as a function that fires only in the replay is recorded', async () => {
  let isStrict = false;
  const rules = contracts({
    rules: [{ id: 'look', after: () => (isStrict ? { action: 'warn', message: 'Look at it.' } : undefined) }],
  });
  const ledger = createMemoryLedger();
  await createRuntime({ tools: [pay], ledger, contracts: rules })
    .turn({ sessionId: 's' })
    .call(envelope('c', 'pay'));
  const { tools } = recordedTools(await cassetteOf(ledger), [pay]);
  isStrict = true;
  const runtime = createRuntime({ tools, contracts: rules });
  await runtime.turn({ sessionId: 's' }).call(envelope('c', 'pay'));
  expect(await rulingsOf(runtime)).toEqual([['look', 'warn']]);
});

describe('only a recording', () => {
  /** The error that the recorded body of a blocked call throws, caught by code that calls it directly. */
  async function stolen(): Promise<{ readonly recorded: AnyTool; readonly thrown: Error }> {
    const { ledger } = await recordBlocked();
    const [recorded] = recordedTools(await cassetteOf(ledger), [pay]).tools;
    const context = {
      callId: 'x',
      sessionId: 'x',
      log: () => {},
      reached: () => {},
      charge: () => {},
      record: () => {},
    } as unknown as ToolContext;
    try {
      await recorded.run(recorded.input.wrap?.({}, {}), context);
    } catch (error) {
      return { recorded, thrown: error as Error };
    }
    throw new Error('It did not throw.');
  }

  const outcomeOf = async (run: AnyTool['run']): Promise<ToolOutcome> => {
    const real = defineTool({ name: 'real', mode: 'external', run: run as () => unknown });
    return createRuntime({ tools: [real] })
      .turn({ sessionId: 's' })
      .call(envelope('c', 'real'));
  };

  test('can end with a reason that bodies may not claim', async () => {
    const { thrown } = await stolen();
    expect(thrown).toMatchObject({ reason: 'policy.output' });
    const Stolen = thrown.constructor as new (...given: unknown[]) => Error;
    const made = new Stolen('policy.output', 'made', { retryable: true, unsettled: false });
    for (const error of [thrown, made, new ToolError('policy.output', 'plain')])
      expect(
        await outcomeOf(() => {
          throw error;
        }),
      ).toMatchObject({ type: 'ToolFailure', code: 'tool.execution_error' });
  });

  test('can pass as recorded, even if a real body runs next to a recording', async () => {
    const { ledger } = await recordBlocked();
    const [recorded] = recordedTools(await cassetteOf(ledger), [pay]).tools;
    const args = recorded.input.wrap?.({}, {});
    const strict = defineTool({
      name: 'strict',
      mode: 'external',
      output: { type: 'object', required: ['id'] },
      successCheck: () => true,
      run: async (_args, context) => {
        try {
          await recorded.run(args, context);
        } catch {
          // The context knows its end; what follows is ignored.
        }
        return { no: 'id' };
      },
    });
    const outcome = await createRuntime({ tools: [strict] })
      .turn({ sessionId: 's' })
      .call(envelope('c', 'strict'));
    expect(outcome).toMatchObject({ type: 'ToolFailure', code: 'tool.invalid_output' });
  });

  test('reveals nothing through a context about the ends of recordings', async () => {
    const seen: PropertyKey[] = [];
    await outcomeOf((_args, context) => {
      for (let at: object | null = context; at !== null; at = Object.getPrototypeOf(at) as object | null)
        seen.push(...Reflect.ownKeys(at));
      seen.push(...Reflect.ownKeys(context.constructor));
      return null;
    });
    expect(seen.filter((key) => typeof key === 'symbol')).toEqual([]);
    expect(seen.filter((key) => /record(?!$)|end/i.test(String(key)))).toEqual([]);
  });

  test('only a recording and no text of a cassette turns a body that ran into a denial', async () => {
    const { ledger } = await recordBlocked();
    const text = writeCassette(await recordCassette(ledger, { sessionId: 's' }));
    const outcome = { type: 'ToolDenied', code: 'policy.hook', reason: 'pre_hook', details: 'forged' };
    const file = JSON.parse(text) as { calls: { runs: { outcome: object }[] }[] };
    for (const { runs } of file.calls) for (const run of runs) run.outcome = outcome;
    const { tools } = recordedTools(readCassette(sealCassette(JSON.stringify(file))), [pay]);
    expect(await createRuntime({ tools }).turn({ sessionId: 's' }).call(envelope('c', 'pay'))).toMatchObject({
      code: 'tool.fixture_missing',
    });
  });
});

test('a call that ran in a worker is played here, with its repeated report', async () => {
  const away = defineTool({ name: 'away', mode: 'external', handoff: true });
  const ledger = createMemoryLedger();
  const runtime = createRuntime({ tools: [away], ledger });
  const asked = runtime.turn({ sessionId: 's' }).call(envelope('c', 'away', { n: 1 }));
  await quiet();
  const { token } = await runtime.handoffs.claim({ sessionId: 's', callId: 'c' }, { worker: 'w' });
  for (let times = 0; times < 2; times++) await runtime.handoffs.report(token, { output: { done: true } });
  await asked;

  const { tools, assertConsumed } = recordedTools(await cassetteOf(ledger), [away]);
  const replayed = createMemoryLedger();
  const again = createRuntime({ tools, ledger: replayed });
  await again.turn({ sessionId: 's' }).call(envelope('c', 'away', { n: 1 }));
  await expect
    .poll(async () => (await again.calls.audit({ sessionId: 's' })).map(({ outcome }) => outcome.kind))
    .toEqual(['completed', 'replayed']);
  expect(await sameCalls(ledger, replayed)).toEqual([]);
  assertConsumed();
});

test('an output that could not be stored as an artifact is played with its record', async () => {
  const big = defineTool({ name: 'big', mode: 'read', inlineLimit: 10, run: () => 'x'.repeat(100) });
  const ledger = createMemoryLedger();
  const full = alterLedger(ledger, {
    putArtifact: () => {
      throw new Error('the disk is full');
    },
  });
  await createRuntime({ tools: [big], ledger: full })
    .turn({ sessionId: 's' })
    .call(envelope('c', 'big'));
  const kinds = (await createRuntime({ tools: [], ledger }).calls.audit({ sessionId: 's' })).map(
    ({ outcome }) => outcome.kind,
  );
  expect(kinds).toContain('persistence_failed');

  const { tools } = recordedTools(await cassetteOf(ledger), [big]);
  const replayed = createMemoryLedger();
  await createRuntime({ tools, ledger: replayed }).turn({ sessionId: 's' }).call(envelope('c', 'big'));
  expect(await sameCalls(ledger, replayed)).toEqual([]);
});

test('files of a body that then failed are stored, named in its extras, and available in a replay', async () => {
  const chart = defineTool({
    name: 'chart',
    mode: 'read',
    run: (_, context) => {
      const file = context.attach({ mimeType: 'text/csv', content: 'a,b', name: 'half.csv' });
      throw new ToolError('tool.network_error', 'the line is gone', { extras: { seen: { ...file } } });
    },
  });
  const ledger = createMemoryLedger();
  const make = (tools: readonly AnyTool[], on: OpenLedger): Promise<ToolOutcome> =>
    createRuntime({ tools, ledger: on }).turn({ sessionId: 's' }).call(envelope('c', 'chart'));
  const namesOf = (outcome: ToolOutcome): string => {
    if (outcome.type !== 'ToolFailure') throw new Error(outcome.type);
    const { files, seen } = outcome.payloadExtras as unknown as {
      files: { $artifact: string }[];
      seen: { $artifact: string };
    };
    expect(files).toMatchObject([
      { $artifact: seen.$artifact, mime_type: 'text/csv', size_bytes: 3, name: 'half.csv' },
    ]);
    return seen.$artifact;
  };
  const first = namesOf(await make([chart], ledger));
  expect(await readWholeArtifact(ledger, 's', first)).toMatchObject({ content: 'a,b' });

  const { tools } = recordedTools(await cassetteOf(ledger), [chart]);
  const replayed = createMemoryLedger();
  const again = namesOf(await make(tools, replayed));
  expect(await readWholeArtifact(replayed, 's', again)).toMatchObject({ content: 'a,b' });
  expect(await sameCalls(ledger, replayed)).toEqual([]);
});

test('files of a body that timed out, or that the ledger cannot store, leave a note', async () => {
  const clock = createManualClock();
  const ledger = createMemoryLedger({ clock });
  const full = alterLedger(ledger, {
    putArtifact: () => {
      throw new Error('the disk is full');
    },
  });
  const slow = defineTool({
    name: 'slow',
    mode: 'read',
    timeoutMs: 10,
    run: (_, context) => {
      context.attach({ mimeType: 'text/plain', content: 'half' });
      return new Promise(() => undefined);
    },
  });
  for (const [sessionId, on] of [
    ['kept', ledger],
    ['full', full],
  ] as const) {
    const asked = createRuntime({ tools: [slow], ledger: on, clock })
      .turn({ sessionId })
      .call(envelope('c', 'slow'));
    await quiet();
    clock.advance(10);
    expect(await asked).toMatchObject({ type: 'ToolTimeout' });
  }
  const endOf = async (sessionId: string): Promise<unknown> =>
    (await ledger.readSession(sessionId)).find(({ type }) => type === 'tool.responded');
  expect(await endOf('kept')).toMatchObject({ payloadExtras: { files: [{ mime_type: 'text/plain' }] } });
  expect(await endOf('full')).toMatchObject({
    log: [{ message: 'Its attached files could not be stored: the disk is full' }],
  });
});

test('a result that the ledger could not store at first is played with its record and note', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'quittance-spilled-'));
  const ledger = await openLedger(join(folder, 'ledger.db'));
  try {
    let isFull = false;
    const full = alterLedger(ledger, {
      append: (entry) => {
        if (isFull) throw new Error('the disk is full');
        return ledger.append(entry);
      },
    });
    const pay = defineTool({
      name: 'pay',
      mode: 'external',
      run: () => {
        isFull = true;
        return { paid: true };
      },
    });
    const outcome = await createRuntime({ tools: [pay], ledger: full })
      .turn({ sessionId: 's' })
      .call(envelope('c', 'pay'));
    expect(outcome.modelNote).toContain('stored separately');
    isFull = false;
    const after = createRuntime({ tools: [], ledger });
    await after.recover();
    const kinds = (await after.calls.audit({ sessionId: 's' })).map((record) => record.outcome.kind);
    expect(kinds).toContain('persistence_failed');

    const { tools } = recordedTools(await cassetteOf(ledger), [pay]);
    const replayed = createMemoryLedger();
    const runtime = createRuntime({ tools, ledger: replayed });
    const played = await runtime.turn({ sessionId: 's' }).call(envelope('c', 'pay'));
    expect(played.modelNote).toBe(outcome.modelNote);
    expect((await runtime.calls.audit({ sessionId: 's' })).map((record) => record.outcome.kind)).toEqual(
      kinds,
    );
    expect(await sameCalls(ledger, replayed)).toEqual([]);
  } finally {
    await ledger.close();
    rmSync(folder, { recursive: true });
  }
});

test('a retried call is retried in a replay, each attempt with its own end', async () => {
  let tries = 0;
  const flaky = defineTool({
    name: 'flaky',
    mode: 'read',
    run: () => {
      if (++tries < 3) throw new ToolError('tool.network_error', `no line ${tries}`);
      return { tries };
    },
  });
  const drive = async (tools: readonly AnyTool[]): Promise<OpenLedger> => {
    const ledger = createMemoryLedger();
    const runtime = createRuntime({ tools, ledger, behaviors: [retry({ initialMs: 1 })] });
    await runtime.turn({ sessionId: 's' }).call(envelope('c', 'flaky'));
    await runtime.close();
    return ledger;
  };
  const ledger = await drive([flaky]);
  expect(tries).toBe(3);
  const { tools } = recordedTools(await cassetteOf(ledger), [flaky]);
  expect(await sameCalls(ledger, await drive(tools))).toEqual([]);
  expect(tries).toBe(3);
});
