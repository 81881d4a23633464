/* oxlint-disable unicorn/no-thenable -- `then` is a word of the language */
/**
 * Contracts inside a runtime, through the public API: their effect on results, and what is stored of them.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { SuccessCheck, ToolContext, ToolOutcome } from 'quittance';
import type { OpenLedger } from 'quittance/store';
import { createRuntime, defineTool, outcomeToContentParts, ToolError } from 'quittance';
import type { ReloadResult } from 'quittance/contracts';
import { contractsFromMultiple, contractsFromYaml, contractsFromYamlString } from 'quittance/contracts';
import { createMemoryLedger, openLedger } from 'quittance/ledger';
import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { JsonObject } from '../packages/quittance/src/base/json.ts';
import { documentOf } from './sample-policy.ts';
import { releaseStages } from './sample-workflow.ts';
import { deferred, envelope, eventsOf, expectSettledOnce, quiet, setStage } from './stage.ts';

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});
function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'quittance-contracts-'));
  folders.push(folder);
  return folder;
}

const post = (action: string, when: JsonObject, more: JsonObject = {}): JsonObject => ({
  id: `p-${action}`,
  type: 'post',
  tool: '*',
  when,
  then: { action, message: `p-${action} fired` },
  ...more,
});
const load = (...rules: readonly JsonObject[]) => contractsFromYamlString(JSON.stringify(documentOf(rules)));
const tool = (
  run: (args: unknown, context: ToolContext) => unknown,
  more: Partial<Parameters<typeof defineTool>[0]> = {},
) => defineTool({ name: 'look', mode: 'external', loopLimit: 100, ...more, run });

/** Unknown to the redactor: only the rule identifies it as a secret. */
const secret = 'tok-zjwyxqthlkmv-4711';
const token = { 'output.text': { matches: 'tok-[a-z]+-\\d+' } };

/** Everything on disk, in one text. */
const bytesBelow = (folder: string): string =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'latin1'))
    .join('\n');

describe('rules about results', () => {
  const ways: Readonly<Record<string, (context: ToolContext) => unknown>> = {
    'a text': () => `it is ${secret}.`,
    'a value deep inside': () => ({ n: 7, list: [true, { deep: `${secret} and ${secret}` }] }),
    'a key': () => ({ [secret]: 1 }),
    'an output stored as an artifact': () => ({ text: 'x'.repeat(30_000) + secret + 'y'.repeat(30_000) }),
    'an error': () => {
      throw new Error(`cannot use ${secret}`);
    },
    'an error with extras': () => {
      throw new ToolError('tool.execution_error', `no ${secret}`, { extras: { tried: [secret], n: 1 } });
    },
    'a reported error': () => ({ success: false, error: `bad ${secret}`, detail: { also: secret } }),
    'a text that is an error': () => `Error: ${secret}`,
    'a partial result before a failure': ({ record }) => {
      record({ so: { far: secret } });
      throw new Error('then it broke');
    },
    'an output that does not fit its schema': () => ({ wrong: secret }),
    'a log line': ({ log }) => {
      log(`used ${secret}`, { deep: [secret] });
      return secret;
    },
    'a place that was reached': ({ reached }) => {
      reached(`https://example.org/${secret}`);
      return secret;
    },
    'files, by their text and their names': ({ attach }) => [
      attach({ mimeType: 'text/plain', content: `a ${secret}`, name: `${secret}.txt` }),
      attach({ mimeType: 'application/json', content: Buffer.from(JSON.stringify({ secret })) }),
      secret,
    ],
  };
  // Long texts are cut, but never through a secret: half of it would not be recognized.
  const cuts: typeof ways = Object.fromEntries(
    [500, 1_000, 2_000, 4_000].flatMap((length) => {
      const long = `${'x'.repeat(length - 8)}${secret}${'y'.repeat(9_000)}`;
      return [
        [
          `an error that is cut at ${length}`,
          () => {
            const error = new Error(long);
            error.stack = `${error.name}: ${long}`.slice('Error: '.length);
            throw error;
          },
        ],
        [`a reported error that is cut at ${length}`, () => ({ is_error: true, error: long })],
        [`an error in a text that is cut at ${length}`, () => `Error: ${long.slice('Error: '.length)}`],
        [
          `side output cut at ${length}`,
          ({ log, reached, attach }: ToolContext) => {
            log(long);
            reached(long);
            attach({ mimeType: 'text/plain', content: '', name: long });
            return secret;
          },
        ],
      ];
    }),
  );

  it.each(Object.entries({ ...ways, ...cuts }))(
    'redact %s: no caller gets it, and no byte on disk holds it',
    async (name, give) => {
      const folder = newFolder();
      const ledger = await openLedger(join(folder, 'ledger.db'));
      let ran = 0;
      const runtime = createRuntime({
        ledger,
        contracts: load(post('redact', token)),
        tools: [
          tool(
            (_, context) => {
              ran += 1;
              return give(context);
            },
            name.includes('schema') ? { output: z.object({ right: z.number() }) } : {},
          ),
        ],
      });
      const outcome = await runtime.turn({ sessionId: 's' }).call(envelope('c', 'look'));
      expect(ran).toBe(1);
      expect(JSON.stringify(outcome)).not.toContain('zjwyxqthlkmv');
      expect(JSON.stringify(outcomeToContentParts(outcome))).not.toContain('zjwyxqthlkmv');
      const [responded] = await eventsOf(runtime, 'tool.responded');
      expect(responded?.rules.map(({ ruleId, action }) => [ruleId, action])).toContainEqual([
        'p-redact',
        'redact',
      ]);
      await runtime.close();
      await ledger.close();
      const bytes = bytesBelow(folder);
      expect(bytes).toContain('p-redact');
      expect(bytes).not.toContain('zjwyxqthlkmv');
    },
  );

  it('redact late results and late errors, and withhold what they block', async () => {
    for (const [action, kept] of [
      ['redact', '[REDACTED]'],
      ['block', '[WITHHELD]'],
    ] as const) {
      for (const throws of [false, true]) {
        const body = deferred();
        const { clock, runtime, turn } = setStage({
          contracts: load(post(action, token)),
          tools: [
            tool(
              async () => {
                await body.promise;
                if (throws) throw new Error(`late ${secret}`);
                return { late: secret };
              },
              { timeoutMs: 10 },
            ),
          ],
        });
        const told = turn.call(envelope('c', 'look'));
        await quiet();
        clock.advance(10);
        expect(await told).toMatchObject({ type: 'ToolTimeout' });
        body.resolve();
        await quiet();
        const [late] = await eventsOf(runtime, 'tool.late');
        expect(JSON.stringify(late?.result)).toContain(kept);
        expect(JSON.stringify(await runtime.events.list({ sessionId: 's' }))).not.toContain('zjwyxqthlkmv');
      }
    }
  });

  it('redact in place: types, surrounding text and other members stay', async () => {
    const { turn } = setStage({
      contracts: load(
        post('redact', token),
        post('redact', { 'result.balance': { gt: 100 } }, { id: 'p-balance' }),
      ),
      tools: [tool(() => ({ n: 7, ok: true, nothing: null, list: [`a ${secret} b`, 1], balance: 500 }))],
    });
    expect(await turn.call(envelope('c', 'look'))).toMatchObject({
      type: 'ToolExecutionResult',
      output: { n: 7, ok: true, nothing: null, list: ['a [REDACTED] b', 1], balance: '[REDACTED]' },
    });
  });

  it('block: the body ran, so the outcome is a failure policy.output, never a denial, and contains no output', async () => {
    const { runtime, turn } = setStage({
      contracts: load(post('block', token)),
      tools: [tool(() => ({ a: secret })), tool(() => { throw new Error(secret); }, { name: 'throws' })], // oxfmt-ignore
    });
    for (const name of ['look', 'throws']) {
      const outcome = await turn.call(envelope(name, name));
      expect(outcome).toMatchObject({ type: 'ToolFailure', code: 'policy.output', retryable: false });
      expect(outcome).toMatchObject({ error: 'p-block fired' });
    }
    expect(JSON.stringify(await runtime.events.list({ sessionId: 's' }))).not.toContain('zjwyxqthlkmv');
    const records = await runtime.calls.audit({ sessionId: 's' });
    expect(records.map(({ outcome }) => outcome.kind)).toEqual(['completed', 'completed']);
    // A blocked result does not block the tool.
    expect(await turn.call(envelope('again', 'look', { n: 2 }))).toMatchObject({ code: 'policy.output' });
    await expectSettledOnce(runtime);
  });

  it('block: files attached to a withheld output are withheld too', async () => {
    const { runtime, turn } = setStage({
      contracts: load(post('block', token)),
      tools: [
        tool((_args, { attach }) => {
          attach({ mimeType: 'text/plain', content: 'nothing of note', name: 'beside.txt' });
          throw new Error(secret);
        }),
      ],
    });
    const outcome = await turn.call(envelope('c', 'look'));
    expect(outcome).toMatchObject({ type: 'ToolFailure', code: 'policy.output' });
    expect(JSON.stringify(await runtime.events.list({ sessionId: 's' }))).not.toContain('beside.txt');
  });

  it('warn: the output is unchanged, and the model gets a note', async () => {
    const { turn } = setStage({
      contracts: load(post('warn', token)),
      tools: [tool(() => ({ a: secret }))],
    });
    expect(await turn.call(envelope('c', 'look'))).toMatchObject({
      type: 'ToolExecutionResult',
      output: { a: secret },
      modelNote: expect.stringContaining('p-warn fired') as string,
    });
  });

  it('observe: nothing changes, no caller learns of it, and the record says what would have happened', async () => {
    const observe = { mode: 'observe' };
    const { runtime, turn } = setStage({
      contracts: load(
        post('warn', token, observe),
        post('redact', token, observe),
        post('block', token, observe),
      ),
      tools: [tool(() => ({ a: secret }))],
    });
    const outcome = await turn.call(envelope('c', 'look'));
    expect(outcome).toMatchObject({ type: 'ToolExecutionResult', output: { a: secret } });
    expect(outcome).not.toHaveProperty('modelNote');
    const [responded] = await eventsOf(runtime, 'tool.responded');
    expect(responded?.rules).toEqual(
      ['warn', 'redact', 'block'].map((action) =>
        expect.objectContaining({ ruleId: `p-${action}`, action, observed: true }),
      ),
    );
  });
});

describe('workflows', () => {
  const document = (stages: readonly JsonObject[]): string =>
    JSON.stringify({
      apiVersion: 'edictum/v1',
      kind: 'Workflow',
      metadata: { name: 'flow', version: '1' },
      stages,
    });
  const release = document(releaseStages);

  it('accept evidence of successes only: not of failures, denials, errors and blocked results', async () => {
    const outputs: Record<string, () => unknown> = {
      reported: () => 'error: no such file',
      thrown: () => {
        throw new Error('no such file');
      },
      blocked: () => secret,
    };
    const { runtime, turn } = setStage({
      contracts: contractsFromMultiple([contractsFromYamlString(release), load(post('block', token))]),
      tools: [
        tool((args) => (outputs[(args as { how: string }).how] ?? (() => 'text'))(), { name: 'Read' }),
        tool(() => 'changed', { name: 'Edit' }),
      ],
    });
    const flow = runtime.workflow({ sessionId: 's' });
    for (const how of Object.keys(outputs)) {
      await turn.call(envelope(how, 'Read', { path: 'docs/plan.md', how }));
      expect([how, (await flow.state()).evidence.reads]).toEqual([how, []]);
      // A permanent failure blocks its tool for the rest of the turn.
      const next = runtime.turn({ sessionId: 's' });
      expect(await next.call(envelope(`edit-${how}`, 'Edit'))).toMatchObject({
        type: 'ToolDenied',
        details: 'Read the plan first',
      });
    }
    const later = runtime.turn({ sessionId: 's' });
    await later.call(envelope('good', 'Read', { path: 'docs/plan.md', how: 'well' }));
    expect((await flow.state()).evidence.reads).toEqual(['docs/plan.md']);
    expect(await later.call(envelope('edit', 'Edit'))).toMatchObject({ type: 'ToolExecutionResult' });
    expect((await flow.state()).activeStage).toBe('change');
    await expectSettledOnce(runtime);
  });

  it('move by compare-and-set: parallel calls of two runtimes on one file lose no evidence and skip no stage', async () => {
    const folder = newFolder();
    const ledgers = [
      await openLedger(join(folder, 'ledger.db')),
      await openLedger(join(folder, 'ledger.db')),
    ];
    const runtimes = ledgers.map((ledger) =>
      createRuntime({
        ledger,
        contracts: contractsFromYamlString(release),
        tools: [tool(async () => 'text', { name: 'Read' }), tool(async () => 'changed', { name: 'Edit' })],
      }),
    );
    const paths = Array.from({ length: 8 }, (_, index) => `file-${index}`);
    await Promise.all(
      runtimes.flatMap((runtime, which) =>
        paths.map((path) =>
          runtime
            .turn({ sessionId: 's' })
            .call(envelope(`${which}-${path}`, 'Read', { path: `${which}/${path}` })),
        ),
      ),
    );
    const [first, second] = runtimes.map((runtime) => runtime.workflow({ sessionId: 's' }));
    const all = paths.flatMap((path) => [`0/${path}`, `1/${path}`]).toSorted();
    expect((await first?.state())?.evidence.reads.toSorted()).toEqual(all);
    await runtimes[0]?.turn({ sessionId: 's' }).call(envelope('plan', 'Read', { path: 'docs/plan.md' }));
    const edits = await Promise.all(
      runtimes.flatMap((runtime, which) =>
        paths
          .slice(0, 4)
          .map((path) =>
            runtime.turn({ sessionId: 's' }).call(envelope(`e${which}-${path}`, 'Edit', { path })),
          ),
      ),
    );
    expect(edits.map(({ type }) => type)).toEqual(edits.map(() => 'ToolExecutionResult'));
    expect(await second?.state()).toMatchObject({ activeStage: 'change', completedStages: ['study'] });
    const events = await runtimes[0]?.events.list({ sessionId: 's' });
    expect(events?.filter(({ type }) => type === 'workflow.advanced')).toHaveLength(1);
    for (const runtime of runtimes) await runtime.close();
    for (const ledger of ledgers) await ledger.close();
  });

  it('are moved by named people, one event each, and report their state', async () => {
    const { runtime } = setStage({ contracts: contractsFromYamlString(release), tools: [] });
    const flow = runtime.workflow({ sessionId: 's', workflow: 'flow' });
    expect(await flow.setStage({ stageId: 'review', by: 'ada' })).toMatchObject({
      activeStage: 'review',
      completedStages: ['study', 'change', 'check'],
      pendingApproval: { stageId: 'review' },
    });
    await flow.reset({ stageId: 'change', by: 'bob' });
    expect(await flow.state()).toMatchObject({ activeStage: 'change', completedStages: ['study'] });
    expect(
      (await eventsOf(runtime, 'workflow.updated')).map(({ why, by, state }) => [
        why,
        by,
        state['active_stage'],
      ]),
    ).toEqual([
      ['stage_set', 'ada', 'review'],
      ['reset', 'bob', 'change'],
    ]);
    await expect(flow.reset({ stageId: 'nowhere', by: 'bob' })).rejects.toThrow(/nowhere.*Known/s);
    await expect(flow.reset({ stageId: 'study', by: ' ' })).rejects.toThrow(/by/);
    await expect(runtime.workflow({ sessionId: 's', workflow: 'flwo' }).state()).rejects.toThrow(/flow/);
    for (const sessionId of ['', 'half \uD800', 5 as never])
      expect(() => runtime.workflow({ sessionId })).toThrow('sessionId must be the id of a session');
    await expect(flow.reset({ stageId: 5 as never, by: 'ada' })).rejects.toThrow('the id of a stage');
    await expect(flow.reset(null as never)).rejects.toThrow('needs a name');
    expect(await eventsOf(runtime, 'workflow.updated')).toHaveLength(2);
  });
});

describe('what is stored of contracts', () => {
  it('each version once, with its text, across runtimes and restarts; and named on every decision', async () => {
    const ledger = createMemoryLedger();
    const rule = (message: string): string =>
      JSON.stringify(documentOf([post('warn', token, { then: { action: 'warn', message } })]));
    const contracts = contractsFromYamlString(rule('one'), { source: 'rules.yaml' });
    const options = { ledger, tools: [tool(() => 1)], contracts };
    const runtimes = [createRuntime(options), createRuntime(options)];
    const versions: string[] = [contracts.version];
    for (const [index, runtime] of runtimes.entries())
      await runtime.turn({ sessionId: 's' }).call(envelope(`a${index}`, 'look'));
    contracts.reload(rule('two'));
    versions.push(contracts.version);
    await runtimes[0]?.turn({ sessionId: 's' }).call(envelope('b', 'look'));
    contracts.reload(rule('one'));
    await runtimes[0]?.turn({ sessionId: 's' }).call(envelope('c', 'look'));
    await quiet();
    const loaded = (await ledger.readSession('quittance.ledger')).filter(
      (event) => event.type === 'contracts.loaded',
    );
    expect(loaded.map(({ policyVersion }) => policyVersion)).toEqual(versions);
    expect(loaded.map(({ documents }) => documents.map(({ name, text }) => [name, text]))).toEqual([
      [['rules.yaml', rule('one')]],
      [['rules.yaml', rule('two')]],
    ]);
    const records = (await runtimes[1]?.calls.audit({ sessionId: 's' })) ?? [];
    expect(records.map(({ callId, policyVersion }) => [callId, policyVersion])).toEqual([
      ['a0', versions[0]],
      ['a1', versions[0]],
      ['b', versions[1]],
      ['c', versions[0]],
    ]);
    const decided = await eventsOf(createRuntime(options), 'tool.decided');
    expect(decided.map(({ policyVersion }) => policyVersion)).toEqual(
      records.map(({ policyVersion }) => policyVersion),
    );
  });

  it('tags and metadata of a rule that fired', async () => {
    const then = { action: 'block', message: 'no', tags: ['t1', 't2'], metadata: { team: 'x', n: 1 } };
    const { runtime, turn } = setStage({
      contracts: load({ id: 'no', type: 'pre', tool: 'look', when: { 'args.a': { exists: true } }, then }),
      tools: [tool(() => 1)],
    });
    await turn.call(envelope('c', 'look', { a: 1 }));
    const [decided] = await eventsOf(runtime, 'tool.decided');
    expect(decided?.rules).toEqual([
      { ruleId: 'no', action: 'block', message: 'no', tags: ['t1', 't2'], metadata: { team: 'x', n: 1 } },
    ]);
  });
});

describe('what contracts state about tools', () => {
  it('withdraws the permission to rerun a tool, and never grants it', async () => {
    const cases: readonly (readonly [declared: boolean, said: boolean, mayRerun: boolean])[] = [
      [true, false, false],
      [true, true, true],
      [false, true, false],
    ];
    for (const [declared, said, mayRerun] of cases) {
      const rules = [post('warn', token)];
      const { runtime, turn } = setStage({
        contracts: contractsFromYamlString(
          JSON.stringify(documentOf(rules, { tools: { 'l*': { side_effect: 'write', idempotent: said } } })),
        ),
        tools: [tool(() => 'done', { idempotent: declared })],
      });
      await turn.call(envelope('a', 'look'));
      const [started] = await eventsOf(runtime, 'tool.started');
      expect([declared, said, started?.mayRerun]).toEqual([declared, said, mayRerun]);
      // Only a tool that may rerun answers a second identical call from the first.
      const second = await turn.call(envelope('b', 'look'));
      expect(second.type).toBe(mayRerun ? 'ToolDenied' : 'ToolExecutionResult');
      const [decided] = await eventsOf(runtime, 'tool.decided');
      expect(decided?.sideEffect).toBe('write');
    }
  });

  it('what contracts state about tools which success check counts: the tool’s, then the runtime’s, then the contracts’, then the default', async () => {
    const says =
      (who: string): SuccessCheck =>
      () => ({ ok: false, reason: `${who} says no` });
    const contracts = (given: boolean) =>
      contractsFromYamlString(
        JSON.stringify(documentOf([post('warn', token)])),
        given ? { successCheck: says('contracts') } : {},
      );
    const play = async (who: readonly string[]): Promise<ToolOutcome> => {
      const { turn } = setStage({
        ...(who.includes('runtime') && { successCheck: says('runtime') }),
        contracts: contracts(who.includes('contracts')),
        tools: [
          tool(() => 'Error: default says no', who.includes('tool') ? { successCheck: says('tool') } : {}),
        ],
      });
      return turn.call(envelope('c', 'look'));
    };
    const all = ['tool', 'runtime', 'contracts', 'default'];
    for (const [index, first] of all.entries())
      expect(await play(all.slice(index))).toMatchObject({
        type: 'ToolFailure',
        error: expect.stringContaining(`${first} says no`) as string,
      });
  });
});

describe('files that change', () => {
  it('come into force by themselves; a bad one leaves the old rules in force and is reported', async () => {
    const path = join(newFolder(), 'rules.yaml');
    const write = (...rules: readonly JsonObject[]): void =>
      writeFileSync(path, JSON.stringify(documentOf(rules)));
    const block = (message: string): JsonObject => ({
      id: 'no',
      type: 'pre',
      tool: 'look',
      when: { 'args.a': { exists: true } },
      then: { action: 'block', message },
    });
    let heard = deferred<ReloadResult>();
    write(block('first'));
    const contracts = await contractsFromYaml(path, {
      watch: true,
      onReload: (result) => heard.resolve(result),
    });
    const ledger: OpenLedger = createMemoryLedger();
    const turn = createRuntime({ ledger, contracts, tools: [tool(() => 1)] }).turn({ sessionId: 's' });
    let calls = 0;
    const details = async (): Promise<unknown> => {
      const outcome = await turn.call(envelope(`c${++calls}`, 'look', { a: calls }));
      return outcome.type === 'ToolDenied' ? outcome.details : outcome.type;
    };
    const next = async (): Promise<ReloadResult> => {
      const result = await heard.promise;
      heard = deferred<ReloadResult>();
      return result;
    };
    try {
      expect(await details()).toBe('first');
      write(block('second'));
      expect(await next()).toEqual({ ok: true, version: contracts.version });
      expect(await details()).toBe('second');
      writeFileSync(path, 'rules: [');
      expect(await next()).toMatchObject({ ok: false, error: { code: 'contracts.invalid' } });
      expect(await details()).toBe('second');
      write(block('third'));
      expect(await next()).toMatchObject({ ok: true });
      expect(await details()).toBe('third');
      contracts.close();
      write(block('fourth'));
      expect(await details()).toBe('third');
      expect(await contracts.reload()).toMatchObject({ ok: true });
      expect(await details()).toBe('fourth');
    } finally {
      contracts.close();
    }
  });
});
