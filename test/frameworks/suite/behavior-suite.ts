/** What every adapter must do, on its real framework, with a model that follows a script. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import type { ToolOutcome } from 'quittance';
import { outcomeToModelContent, ToolDecision, ToolError } from 'quittance';
import { createMemoryLedger, openLedger } from 'quittance/ledger';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { apiName } from '../../model-api-name.ts';
import { eventually } from './eventually.ts';
import type { Harness, PlainTool, Script, Stage, StageOptions, Told } from './harness.ts';
import { prepareKilledProcess } from './killed-process.ts';
import { cellsOf, refuseMissingTests } from './matrix-cells.ts';
import { play, playHere } from './play.ts';

const done: Script = [{ text: 'Done.' }];
const sessionId = 'thread-1';

export function behaviorSuite(harness: Harness): void {
  const folder = mkdtempSync(join(tmpdir(), 'quittance-frameworks-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  let files = 0;
  const newPath = (ending: string): string => join(folder, `${files++}${ending}`);

  const killedProcess = prepareKilledProcess(harness, sessionId, newPath);

  const ways = harness.streams ? [false, true] : [false];
  const isInProcess = harness.startsProgram !== true;
  /** What the shared driver does by itself, whatever the framework. */
  const inProcess: (title: string, run: () => Promise<void>) => void = isInProcess ? test : () => undefined;

  test(`every cell of the adapter matrix for ${harness.name} is a test here`, ({ task }) => {
    const own = cellsOf(harness).filter(({ file }) => file === 'suite/behavior-suite.ts');
    expect(() => refuseMissingTests(own, task.file.tasks)).not.toThrow();
  });

  describe(harness.name, () => {
    describe.each(ways)('streaming: %s', (stream) => {
      const options = { sessionId, stream };

      test('a blocked call does not run, the model gets the tabled content, and the run continues', async () => {
        const run = vi.fn<PlainTool['run']>();
        const { stage, outcomeOf } = await start(harness, [pay(run)], {
          onPreToolUse: () => ToolDecision.block('Not on a Sunday.'),
        });
        const { text, told } = await stage.run([call('c1', 'pay', { cents: 5 }), ...done], options);
        expect([text, run.mock.calls]).toEqual(['Done.', []]);
        expect(told.map(contentOf)).toEqual(['{"error":"Blocked: Not on a Sunday.","blocked":true}']);
        expect(told[0]?.isError ?? false).toBe(harness.denialIsError ?? false);
        expect(await outcomeOf('c1')).toMatchObject({ type: 'ToolDenied', code: 'policy.hook' });
      });

      test('the content for the model of a success and of a failure is what the ledger holds', async () => {
        const { stage, outcomeOf } = await start(harness, [
          { name: 'weigh', parameters: {}, run: () => ({ grams: 12, of: ['a', null] }) },
          {
            name: 'fall',
            parameters: {},
            run: () => {
              throw new Error('It fell.');
            },
          },
        ]);
        const script: Script = [call('c1', 'weigh', {}), call('c2', 'fall', {}), ...done];
        const { text, told } = await stage.run(script, options);
        expect(text).toBe('Done.');
        for (const { callId, texts, isError } of told) {
          const outcome = await outcomeOf(callId);
          const { modelNote: note } = outcome;
          expect(texts).toEqual([outcomeToModelContent(outcome), ...(note === undefined ? [] : [note])]);
          expect(isError ?? outcome.type === 'ToolFailure').toBe(outcome.type === 'ToolFailure');
        }
        expect(told.map(({ callId }) => callId)).toEqual(['c1', 'c2']);
      });

      test('parallel calls of one tool are not mixed up, whichever ends first', async () => {
        const gates = new Map<unknown, PromiseWithResolvers<void>>(
          ['a', 'b', 'c'].map((name) => [name, Promise.withResolvers<void>()]),
        );
        let running = 0;
        const inTurn = harness.oneByOne === 'always' || (stream && harness.oneByOne === 'streaming');
        const together = inTurn ? 1 : 3;
        const echo: PlainTool = {
          name: 'lookup',
          parameters: { name: 'string' },
          run: async ({ name }) => {
            if (++running === together) for (const gate of [...gates.values()].toReversed()) gate.resolve();
            await gates.get(name)?.promise;
            return { for: name };
          },
        };
        // A read: adapters that keep the order of effects run reads in parallel.
        const { stage } = await start(harness, [echo], { overrides: { lookup: { mode: 'read' } } });
        const names = ['a', 'b', 'c'] as const;
        const calls = names.map((name) => ({ id: `call_${name}`, name: 'lookup', arguments: { name } }));
        const { told } = await stage.run([{ calls }, ...done], options);
        expect(Object.fromEntries(told.map((one) => [one.callId, contentOf(one)]))).toEqual({
          call_a: '{"for":"a"}',
          call_b: '{"for":"b"}',
          call_c: '{"for":"c"}',
        });
      });
    });

    const options = { sessionId };

    test('nested arguments and outputs arrive unchanged', async () => {
      const order = {
        lines: [
          { sku: 'a', count: 2 },
          { sku: 'b', count: 1 },
        ],
        ship: { to: ['Ulm', null] },
      };
      const run = vi.fn<PlainTool['run']>((args) => ({ got: args, tags: [[1], []] }));
      const { stage, outcomeOf } = await start(harness, [
        { name: 'place_order', parameters: {}, takesAnything: true, run },
      ]);
      const { told } = await stage.run([call('c1', 'place_order', { order }), ...done], options);
      expect(run.mock.calls.map(([args]) => args)).toEqual([{ order }]);
      expect(JSON.parse(contentOf(told[0]))).toEqual({ got: { order }, tags: [[1], []] });
      expect(await outcomeOf('c1')).toMatchObject({ output: { got: { order }, tags: [[1], []] } });
    });

    inProcess('the content for the model names no option and no function of Quittance', async () => {
      const developer = 'Give governTools overrides: { break_it: { timeoutMs: 5 } }.';
      const { stage } = await start(
        harness,
        [
          pay(() => 'paid'),
          {
            name: 'break_it',
            parameters: {},
            run: () => {
              throw new ToolError('tool.execution_error', developer, { problem: 'It broke.' });
            },
          },
        ],
        {
          onPreToolUse: ({ arguments: { cents } }) =>
            cents === 9 ? ToolDecision.block('Not nine.') : ToolDecision.allow,
        },
      );
      const script: Script = [
        call('c1', 'break_it', {}),
        call('c2', 'pay', { cents: 'many' }),
        call('c3', 'pay', { cents: 9 }),
        ...done,
      ];
      const { told } = await stage.run(script, options);
      expect(told.map(({ callId }) => callId)).toEqual(['c1', 'c2', 'c3']);
      expect(contentOf(told[0])).toContain('It broke.');
      const ours =
        /governTools|createRuntime|onConfirm|onPreToolUse|overrides|timeoutMs|approver|defineTool|quittance/i;
      expect(told.flatMap(({ texts }) => texts).filter((text) => ours.test(text))).toEqual([]);
    });

    test('a fault of the program goes to the developer; the model gets facts that name no API', async () => {
      const run = vi.fn<PlainTool['run']>();
      const onTrouble = vi.fn<NonNullable<StageOptions['onTrouble']>>();
      const { stage } = await start(harness, [pay(run)], { onTrouble });
      await stage.runtime.close();
      const told: Told[] = [];
      const listen = (heard: readonly Told[]) => {
        told.push(...heard);
        return { text: 'Done.' };
      };
      const thrown = await stage.run([call('c1', 'pay', { cents: 5 }), listen], options).then(
        () => undefined,
        (error: unknown) => error,
      );
      expect(run).not.toHaveBeenCalled();
      // Either the run ends with the error, or the model gets a text and `onTrouble` has the error.
      const troubles = onTrouble.mock.calls.map(([trouble]) => trouble);
      const heard = thrown === undefined ? told.length : 1;
      expect(heard).toBe(1);
      expect(inspect(thrown ?? troubles)).toContain('This runtime is closed');
      expect(troubles).toMatchObject(
        thrown === undefined ? [{ type: 'call.fault', toolName: 'pay' }] : troubles,
      );
      const texts = told.flatMap((one) => one.texts);
      expect(texts.filter((text) => apiName.test(text) || /\bruntime\b|\bledger\b/i.test(text))).toEqual([]);
    });

    // Plain loops take functions, which have no annotations.
    test.each(harness.annotations === undefined || !isInProcess ? [] : [harness.annotations])(
      'an MCP annotation raises the risk of a tool, and lowers it only if the host trusts the server',
      async (annotated) => {
        /** Calls the tool once, and returns whether an approval was needed. */
        const asks = async (
          name: string,
          annotations: Readonly<Record<string, boolean>>,
          more: StageOptions = {},
        ): Promise<boolean> => {
          const onConfirm = vi.fn<NonNullable<StageOptions['onConfirm']>>(() => ({
            decision: 'deny',
            by: 'ada',
          }));
          const tool: PlainTool = { name, parameters: {}, run: () => 'ran', annotations };
          const { stage } = await start(harness, [tool], { onConfirm, ...more });
          await stage.run([call('c1', name, {}), ...done], options);
          return onConfirm.mock.calls.length > 0;
        };
        expect(await asks('lookup', { destructiveHint: true })).toBe(true);
        expect(await asks('lookup', { destructiveHint: true, readOnlyHint: true })).toBe(true);
        expect(await asks('delete_all', { readOnlyHint: true })).toBe(annotated === 'of a server');
        expect(await asks('delete_all', { readOnlyHint: true }, { trustAnnotations: true })).toBe(false);
      },
    );

    inProcess('a tool that ignores its timeout ends at its timeout', async () => {
      let signal: AbortSignal | undefined;
      const { stage, outcomeOf } = await start(
        harness,
        [
          {
            name: 'pay',
            parameters: {},
            run: (_, given) => ((signal = given), new Promise(() => undefined)),
          },
        ],
        { overrides: { pay: { timeoutMs: 40 } } },
      );
      const { text, told } = await stage.run([call('c1', 'pay', {}), ...done], options);
      expect(text).toBe('Done.');
      expect(JSON.parse(contentOf(told[0]))).toMatchObject({ status: 'error', timed_out: true });
      expect(await outcomeOf('c1')).toMatchObject({ type: 'ToolTimeout' });
      expect(signal?.aborted ?? true).toBe(true);
    });

    test.each(isInProcess ? (['throws', 'runs out of time'] as const) : [])(
      'the model learns not to repeat an effect that %s; other arguments pass, a repeat waits for a person',
      async (how) => {
        let runs = 0;
        const asked: string[] = [];
        const { stage, outcomeOf } = await start(
          harness,
          [
            pay(() => {
              if (runs++ > 0) return 'paid';
              if (how === 'throws') throw new Error('socket hang up');
              return new Promise(() => undefined);
            }),
          ],
          {
            // Long enough for the calls that end, on a busy machine too.
            overrides: { pay: { mode: 'external', timeoutMs: how === 'throws' ? 60_000 : 1_000 } },
            onConfirm: ({ callId, description }) => {
              asked.push(callId, description);
              return { decision: 'deny', by: 'ada' };
            },
          },
        );
        const script: Script = [
          call('c1', 'pay', { cents: 5 }),
          call('c2', 'pay', { cents: 6 }),
          call('c3', 'pay', { cents: 5 }),
          ...done,
        ];
        const { text, told } = await stage.run(script, options);
        expect(text).toBe('Done.');
        const first = JSON.parse(contentOf(told[0])) as { error: string; retryable: boolean };
        expect(first).toMatchObject({ status: 'error', retryable: false });
        expect(first.error).toMatch(/may have happened; do not repeat it/);
        expect(contentOf(told[0])).toBe(outcomeToModelContent(await outcomeOf('c1')));
        expect(contentOf(told[1])).toBe('"paid"');
        expect(asked).toEqual(['c3', expect.stringContaining('Call c1 ')]);
        expect(JSON.parse(contentOf(told[2]))).toMatchObject({ blocked: true });
        expect(runs).toBe(2);
      },
    );

    inProcess('an output too long to show becomes a reference that the model can read', async () => {
      const long = `${'x'.repeat(20_000)}END`;
      const { stage } = await start(harness, [{ name: 'fetch_page', parameters: {}, run: () => long }]);
      const script: Script = [
        call('c1', 'fetch_page', {}),
        (told) => {
          const { artifact_reference: artifactId } = JSON.parse(contentOf(told.at(-1))) as {
            artifact_reference: string;
          };
          return call('c2', 'read_artifact', { artifactId, search: 'END' });
        },
        ...done,
      ];
      const { text, told } = await stage.run(script, options);
      expect(text).toBe('Done.');
      const [reference, piece] = told.map(contentOf);
      expect(reference?.length).toBeLessThan(2_000);
      expect(JSON.parse(reference ?? '')).toMatchObject({ artifact_reference: expect.any(String) as string });
      expect(piece).toContain('END');
    });

    test('the body gets coerced input, and the model a note next to the tabled content', async () => {
      const run = vi.fn<PlainTool['run']>(() => 'paid');
      const { stage, outcomeOf } = await start(harness, [pay(run)]);
      const { told } = await stage.run([call('c1', 'pay', { cents: '500' }), ...done], options);
      expect(run.mock.calls.map(([args]) => args)).toEqual([{ cents: 500 }]);
      const { modelNote } = await outcomeOf('c1');
      expect(modelNote).toBeTypeOf('string');
      expect(told[0]?.texts).toEqual(['"paid"', modelNote]);
    });

    test('arguments that do not match are denied, and the body does not run', async () => {
      const run = vi.fn<PlainTool['run']>();
      const { stage } = await start(harness, [pay(run)]);
      const { text, told } = await stage.run([call('c1', 'pay', { cents: 'many' }), ...done], options);
      expect([text, run.mock.calls]).toEqual(['Done.', []]);
      expect(JSON.parse(contentOf(told[0]))).toMatchObject({ error: 'argument_validation_failed' });
    });

    inProcess('the same call id again is answered from the record', async () => {
      const run = vi.fn<PlainTool['run']>(() => 'paid');
      const { stage } = await start(harness, [pay(run)]);
      const script: Script = [call('c1', 'pay', { cents: 5 }), ...done];
      const [first, second] = [await stage.run(script, options), await stage.run(script, options)];
      expect(second.told.map(contentOf)).toEqual(first.told.map(contentOf));
      expect(run).toHaveBeenCalledOnce();
    });

    describe('a provider that uses a call id again', () => {
      const tellsOnce = harness.reuse === 'told once';

      test('in a later message: the same arguments and others are new calls', async () => {
        const run = vi.fn<PlainTool['run']>(({ cents }) => ({ paid: cents }));
        const { stage } = await start(harness, [pay(run)]);
        const script: Script = [5, 5, 7, 5].map((cents) => call('call_0', 'pay', { cents }));
        const ran = await stage.run([...script, ...done], options).catch(refusal);
        const paid = run.mock.calls.map(([args]) => args['cents']);
        // If the framework withholds a call from its tools, no adapter can make it.
        if (harness.reuse === 'refused' && ran === undefined) return;
        if (harness.reuse === 'left out' && paid.length === 1) return;
        expect(paid).toEqual([5, 5, 7, 5]);
        const { told } = ran ?? { told: [] };
        const contents = told.map(contentOf);
        const heard = tellsOnce ? [5] : harness.reuse === 'told the last' ? [5, 5, 5, 5] : [5, 5, 7, 5];
        expect(contents).toEqual(heard.map((cents) => JSON.stringify({ paid: cents })));
        const kept = await stage.runtime.calls.list({ sessionId });
        expect(kept.map(({ callId }) => callId)).toEqual(['call_0', 'call_0~2', 'call_0~3', 'call_0~4']);
        // The same conversation once more, as after a restart: every call finds its record.
        const again = await stage.run([...script, ...done], options);
        expect(again.told.map(contentOf)).toEqual(told.map(contentOf));
        expect(run).toHaveBeenCalledTimes(4);
      });

      test('in the same message: the same arguments are a repeat, others are refused with a message', async () => {
        const run = vi.fn<PlainTool['run']>(({ cents }) => ({ paid: cents }));
        const { stage } = await start(harness, [pay(run)]);
        const calls = [5, 5, 7].map((cents) => ({ id: 'call_0', name: 'pay', arguments: { cents } }));
        const ran = await stage.run([{ calls }, ...done], options).catch(refusal);
        if (harness.reuse === 'refused' && ran === undefined) return;
        expect(run.mock.calls.map(([args]) => args['cents'])).toHaveLength(1);
        const refused = ran?.told.map(contentOf).filter((content) => content.includes('Make the call again'));
        expect(tellsOnce ? 1 : refused?.length).toBe(1);
      });

      test('a process killed in the second call and run again repeats neither', async () => {
        const {
          signal,
          inTheSecondBody: { part, hung },
        } = await killedProcess();
        if ((harness.reuse === 'left out' || harness.reuse === 'refused') && !hung) return;
        expect([signal, hung]).toEqual(['SIGKILL', true]);
        const second = await playHere({ ...part, dies: 'never' });
        expect(readFileSync(part.effects, 'utf8')).toBe('{"cents":500}\n'.repeat(2));
        expect(second?.text).toBe('Done.');
        const told = second?.told.map((one) => JSON.parse(contentOf(one)) as unknown) ?? [];
        expect(told.length).toBe(tellsOnce ? 1 : 2);
        const failed = { status: 'error', retryable: false };
        expect(tellsOnce ? failed : told.at(-1)).toMatchObject(failed);
      });
    });

    test.each(['no_such_tool', ...(isInProcess ? ['constructor', '__proto__'] : [])])(
      'a model that calls for %s does not crash the run',
      async (name) => {
        const run = vi.fn<PlainTool['run']>();
        const { stage } = await start(harness, [pay(run)]);
        const { text } = await stage.run([call('c1', name, {}), ...done], options);
        expect([text, run.mock.calls]).toEqual(['Done.', []]);
      },
    );

    test('cancelling the run ends the call, and the body gets the abort', async () => {
      const controller = new AbortController();
      const stopped = Promise.withResolvers<void>();
      const { stage, outcomeOf } = await start(
        harness,
        [
          {
            name: 'pay',
            parameters: {},
            run: (_, signal) =>
              new Promise((_resolve, reject) => {
                signal?.addEventListener('abort', () => {
                  stopped.resolve();
                  reject(signal.reason as Error);
                });
                controller.abort();
              }),
          },
        ],
        { cancelGraceMs: 2_000 },
      );
      await stage
        .run([call('c1', 'pay', {}), ...done], { ...options, signal: controller.signal })
        .catch(() => undefined);
      await stopped.promise;
      await eventually(async () => expect(await outcomeOf('c1')).toMatchObject({ type: 'ToolFailure' }));
      expect(['tool.cancelled', 'tool.indeterminate']).toContain(
        ((await outcomeOf('c1')) as { code: string }).code,
      );
    });

    const answers = [
      ['approve', undefined, [{ cents: 500 }], '"paid"'],
      ['edit', { cents: 7 }, [{ cents: 7 }], '"paid"'],
      ['deny', undefined, [], '"blocked":true'],
    ] as const;
    test.each(answers.slice(0, isInProcess ? 3 : 1))(
      'a held call waits for a person elsewhere: %s',
      async (decision, edited, got, heard) => {
        const path = newPath('.db');
        const ledger = await openLedger(path);
        const run = vi.fn<PlainTool['run']>(() => 'paid');
        const { stage } = await start(harness, [pay(run)], {
          ledger,
          overrides: { pay: { mode: 'destructive' } },
        });
        const running = stage.run([call('c1', 'pay', { cents: '500' }), ...done], options);
        await eventually(async () =>
          expect((await stage.runtime.confirmations.list({ status: 'pending' })).rows).toHaveLength(1),
        );
        expect(run).not.toHaveBeenCalled();
        const part = {
          type: 'decide',
          ledger: path,
          decision,
          ...(edited && { arguments: edited }),
        } as const;
        // One answer comes from another process. The other two come from another runtime, which costs less.
        await (decision === 'approve' ? play([part]) : playHere(part));
        const { text, told } = await running;
        expect(text).toBe('Done.');
        expect(run.mock.calls.map(([args]) => args)).toEqual(got);
        expect(contentOf(told[0])).toContain(heard);
        await stage.runtime.close();
        await ledger.close();
      },
    );

    test.each(['in the body', 'before the model goes on'] as const)(
      'a process killed %s and run again does not repeat the effect',
      async (dies) => {
        const { signal, inTheBody, beforeTheModel } = await killedProcess();
        const { part, ran, hung } = dies === 'in the body' ? inTheBody : beforeTheModel;
        expect([signal, ran, hung]).toEqual(['SIGKILL', undefined, dies === 'in the body']);
        const second = await playHere({ ...part, dies: 'never' });
        expect(readFileSync(part.effects, 'utf8')).toBe('{"cents":500}\n');
        expect(second?.text).toBe('Done.');
        const told = contentOf(second?.told[0]);
        expect(JSON.parse(told)).toMatchObject(
          dies === 'in the body' ? { status: 'error', retryable: false } : { paid: 500 },
        );
        expect(/may have happened; do not repeat it/.test(told)).toBe(dies === 'in the body');
      },
    );

    if (!harness.suspends) return;
    describe('the approvals of the framework', () => {
      const held = { approver: 'grace', overrides: { pay: { mode: 'destructive' } } } as const;

      const suspend = async (
        options: StageOptions,
        run: PlainTool['run'],
      ): Promise<{ stage: Stage; suspended: string }> => {
        const { stage } = await start(harness, [pay(run)], options);
        const { suspended } = await stage.run([call('c1', 'pay', { cents: '500' })], { sessionId });
        expect(run).not.toHaveBeenCalled();
        expect((await stage.runtime.confirmations.list({ status: 'pending' })).rows).toHaveLength(1);
        if (suspended === undefined) throw new Error('The run did not stop for the approval.');
        return { stage, suspended };
      };

      test('an approval given there is a decision of the named person', async () => {
        const run = vi.fn<PlainTool['run']>(() => 'paid');
        const found = await suspend(held, run);
        const ran = await found.stage.resume?.(found.suspended, { approved: true }, done, { sessionId });
        expect(ran?.text).toBe('Done.');
        expect(run.mock.calls.map(([args]) => args)).toEqual([{ cents: 500 }]);
        const [kept] = await found.stage.runtime.calls.list({ sessionId, callId: 'c1' });
        expect(kept?.confirmation).toMatchObject({
          status: 'approved',
          by: { type: 'person', name: 'grace' },
        });
      });

      test('a denial given there is one too, and nothing runs', async () => {
        const run = vi.fn<PlainTool['run']>();
        const found = await suspend(held, run);
        const answer = { approved: false, reason: 'Too much.' };
        const ran = await found.stage.resume?.(found.suspended, answer, done, { sessionId });
        expect([ran?.text, run.mock.calls]).toEqual(['Done.', []]);
        const [kept] = await found.stage.runtime.calls.list({ sessionId, callId: 'c1' });
        expect(kept?.confirmation).toMatchObject({ status: 'denied', by: { name: 'grace' } });
      });

      test('a decision made meanwhile counts, and the run continues with exactly that', async () => {
        const run = vi.fn<PlainTool['run']>(() => 'paid');
        const found = await suspend(held, run);
        const [question] = (await found.stage.runtime.confirmations.list({ status: 'pending' })).rows;
        await found.stage.runtime.confirmations.decide(question?.confirmationId ?? '', {
          decision: 'edit',
          arguments: { cents: 9 },
          by: 'ada',
          inputDigest: question?.inputDigest ?? '',
        });
        const ran = await found.stage.resume?.(found.suspended, { approved: true }, done, { sessionId });
        expect(ran?.text).toBe('Done.');
        expect(run.mock.calls.map(([args]) => args)).toEqual([{ cents: 9 }]);
        expect(ran?.told.map(contentOf)).toEqual(['"paid"']);
      });

      test('a run that stopped in one process continues in another, and resuming twice runs once', async () => {
        const {
          stopped: { part, ran: stopped },
        } = await killedProcess();
        const suspended = stopped?.suspended ?? '';
        expect(suspended).not.toBe('');
        for (const ran of [await playHere({ ...part, suspended }), await playHere({ ...part, suspended })])
          expect([ran?.text, ran?.told.map(contentOf)]).toEqual(['Done.', ['{"paid":500}']]);
        expect(readFileSync(part.effects, 'utf8')).toBe('{"cents":500}\n');
      });

      test('an approval covers one call, and no later call with its id', async () => {
        if (harness.reuse === 'refused' || harness.reuse === 'left out') return;
        const run = vi.fn<PlainTool['run']>(() => 'paid');
        const found = await suspend(held, run);
        const again: Script = [call('c1', 'pay', { cents: '500' }), ...done];
        const stop = new AbortController();
        const going = found.stage.resume?.(found.suspended, { approved: true }, again, {
          sessionId,
          signal: stop.signal,
        });
        going?.catch(() => undefined); // it may stop with an error
        // The second call is held: the run stops for it again, or waits.
        await eventually(async () =>
          expect((await found.stage.runtime.confirmations.list({ status: 'pending' })).rows).toMatchObject([
            { callId: 'c1~2' },
          ]),
        );
        stop.abort();
        await going?.catch(() => undefined);
        expect(run).toHaveBeenCalledOnce();
      });

      test('a tool with the approval option of the framework is held', async () => {
        const run = vi.fn<PlainTool['run']>(() => 'paid');
        const { stage } = await start(harness, [{ ...pay(run), needsApproval: true }], {
          onConfirm: () => ({ decision: 'deny', by: 'ada' }),
        });
        const { told } = await stage.run([call('c1', 'pay', { cents: 5 }), ...done], { sessionId });
        expect(run).not.toHaveBeenCalled();
        expect(JSON.parse(contentOf(told[0]))).toMatchObject({ blocked: true });
      });
    });
  });
}

/** The one error that stands for "the framework refuses reused ids". */
const refusal = (error: unknown): undefined => {
  if (!(error instanceof Error) || !/reused/.test(error.message)) throw error;
};

type OutcomeOf = (callId: string) => Promise<ToolOutcome>;

async function start(
  harness: Harness,
  tools: readonly PlainTool[],
  options: StageOptions = {},
): Promise<{ readonly stage: Stage; readonly outcomeOf: OutcomeOf }> {
  const stage = await harness.start(tools, { ledger: createMemoryLedger(), ...options });
  return {
    stage,
    outcomeOf: async (callId) => {
      const [kept] = await stage.runtime.calls.list({ sessionId, callId });
      if (kept?.settled === undefined) throw new Error(`Call ${callId} has no outcome.`);
      return kept.settled.outcome;
    },
  };
}

const pay = (run: PlainTool['run']): PlainTool => ({ name: 'pay', parameters: { cents: 'number' }, run });

const call = (id: string, name: string, args: Readonly<Record<string, unknown>>) => ({
  calls: [{ id, name, arguments: args }],
});

const contentOf = (told: Told | undefined): string => told?.texts[0] ?? '';
