/**
 * The disturbed scenario: open a ledger, make one call of each kind, close. The same calls are repeated after the
 * restart. Effects and answers are recorded in files outside the failing folder.
 */
import { appendFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Runtime, ToolOutcome } from 'quittance';
import type { OpenLedger } from 'quittance/store';
import { createRuntime, defineTool, isQuittanceError } from 'quittance';
import { openLedger } from 'quittance/ledger';

/** The calls of the scenario, by id. */
export const callIds = ['pay', 'look', 'delete', 'ship', 'print', 'mail'] as const;
export type CallId = (typeof callIds)[number];

/** Tools that only read have no effect to count. */
export const hasEffect = (callId: CallId): boolean => callId !== 'look';

/** The result of a step. `bare`: an error that is not one of ours reached the caller. */
export type Told =
  | { readonly type: 'outcome'; readonly callId: CallId; readonly outcome: ToolOutcome }
  | { readonly type: 'error'; readonly step: string; readonly bare: boolean; readonly message: string }
  | { readonly type: 'over' };

export type Places = {
  readonly ledger: string;
  readonly effects: string;
  /** Maximum wait for a person or a worker. */
  readonly patienceMs: number;
};

const sessionId = 's';

/** Plays the whole scenario. `tell` receives every answer before anything else happens. */
export async function playScenario(
  { ledger: path, effects, patienceMs }: Places,
  tell: (told: Told) => void,
): Promise<void> {
  const step = async <Result>(name: string, work: () => Promise<Result>): Promise<Result | undefined> => {
    try {
      return await work();
    } catch (error) {
      const message = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
      tell({ type: 'error', step: name, bare: !isQuittanceError(error), message });
      return undefined;
    }
  };
  const open = (): Promise<OpenLedger> => openLedger(path, { spillBytes: 65_536 });
  // As a program would be restarted.
  const ledger = (await step('open', open)) ?? (await step('open again', open));
  if (ledger === undefined) return tell({ type: 'over' });

  const effect = (callId: string): { done: string } => {
    appendFileSync(effects, `${callId}\n`);
    return { done: callId };
  };
  const create = async (): Promise<Runtime> =>
    createRuntime({
      ledger,
      tools: [
        defineTool({
          name: 'pay',
          mode: 'external',
          idempotencyScope: 'ledger',
          idempotencyKey: (args) => JSON.stringify(args),
          run: (_, { callId }) => effect(callId),
        }),
        defineTool({ name: 'look_up', mode: 'read', run: () => ({ found: true }) }),
        defineTool({ name: 'delete_order', mode: 'destructive', run: (_, { callId }) => effect(callId) }),
        defineTool({ name: 'ship', mode: 'external', handoff: true }),
        defineTool({
          name: 'print_report',
          mode: 'external',
          run: (_, { callId }) => ({ ...effect(callId), pages: 'x'.repeat(20_000) }),
        }),
        defineTool({ name: 'send_mail', mode: 'external', run: (_, { callId }) => effect(callId) }),
      ],
      budgets: [{ scope: 'session', toolCalls: 100 }],
    });
  const runtime = (await step('create', create)) ?? (await step('create again', create));
  if (runtime !== undefined) {
    await step('recover', () => runtime.recover());
    await playCalls(runtime, { step, effect, tell, patienceMs });
    await step('close the runtime', () => runtime.close());
  }
  await step('close the ledger', () => ledger.close());
  tell({ type: 'over' });
}

type Stage = {
  readonly step: <Result>(name: string, work: () => Promise<Result>) => Promise<Result | undefined>;
  readonly effect: (callId: string) => object;
  readonly tell: (told: Told) => void;
  readonly patienceMs: number;
};

async function playCalls(runtime: Runtime, { step, effect, tell, patienceMs }: Stage): Promise<void> {
  const turn = runtime.turn({ sessionId, deadlineMs: Date.now() + patienceMs });
  type Beside = (isOver: () => boolean) => Promise<unknown>;
  /** Makes the call, and repeats it once if the ledger was unavailable. */
  const call = async (
    id: CallId,
    name: string,
    args: object,
    beside?: Beside,
  ): Promise<ToolOutcome | undefined> => {
    for (let tries = 0; tries < 2; tries++) {
      let isOver = false;
      const asked = step(`call ${id}`, () => turn.call({ id, name, arguments: { ...args } })).finally(() => {
        isOver = true;
      });
      await beside?.(() => isOver);
      const outcome = await asked;
      if (outcome === undefined) continue;
      tell({ type: 'outcome', callId: id, outcome });
      if (!('code' in outcome && outcome.code === 'ledger.unavailable')) return outcome;
    }
    return undefined;
  };
  const until = async (isOver: () => boolean, work: () => Promise<boolean>): Promise<void> => {
    for (let failures = 0; !isOver() && failures < 3; await sleep(2)) {
      const done = await work().catch(() => undefined);
      if (done === true) return;
      if (done === undefined) failures++;
    }
  };

  await call('pay', 'pay', { order: 7 });
  await call('look', 'look_up', { order: 7 });
  await call('delete', 'delete_order', { order: 7, password: 'hunter2-hunter2' }, (isOver) =>
    until(isOver, async () => {
      const { rows } = (await step('list confirmations', () =>
        runtime.confirmations.list({ status: 'pending' }),
      )) ?? { rows: undefined };
      if (rows === undefined) throw new Error('listed above');
      for (const { confirmationId, inputDigest } of rows)
        await step('decide', () =>
          runtime.confirmations.decide(confirmationId, { decision: 'approve', by: 'ada', inputDigest }),
        );
      return false;
    }),
  );
  await call('ship', 'ship', { order: 7 }, async (isOver) => {
    let token: string | undefined;
    await until(isOver, async () => {
      token ??= (await step('claim', () => runtime.handoffs.claim({ toolName: 'ship' }, { worker: 'w' })))
        ?.token;
      return token !== undefined;
    });
    if (token === undefined) return;
    const report = effect('ship');
    const proof = token;
    await until(
      isOver,
      async () =>
        (await step('report', () => runtime.handoffs.report(proof, { output: report }))) !== undefined,
    );
  });
  const printed = await call('print', 'print_report', { order: 7 });
  if (printed?.type !== 'ToolArtifactReference') return;
  await call('mail', 'send_mail', { to: 'ada', artifact: { $artifact: printed.artifactId, as: 'text' } });
}
