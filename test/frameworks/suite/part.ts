/** Parts of what may be spread over processes: a decision, or a run of the agent on a ledger. */
import { appendFileSync, readFileSync } from 'node:fs';
import { createRuntime } from 'quittance';
import type { OpenLedger } from 'quittance/store';
import { openLedger } from 'quittance/ledger';
import type { Harness, PlainTool, Ran, Script } from './harness.ts';

/** The instructions. */
export type Part = { readonly ledger: string } & (
  | {
      readonly type: 'decide';
      readonly decision: 'approve' | 'deny' | 'edit';
      readonly arguments?: Readonly<Record<string, string | number>>;
    }
  | {
      readonly type: 'run';
      readonly module: string;
      readonly sessionId: string;
      /** Where each run of the body leaves a line. */
      readonly effects: string;
      /** Does the body never return, or does the process die when the model gets the result? */
      readonly dies: 'in the body' | 'before the model goes on' | 'never';
      readonly suspended?: string;
      readonly holds?: boolean;
      /** How many rounds of the model make the call, all with the same id. Default: one. */
      readonly rounds?: number;
      /** The run of the body that never comes back, counted from 1 by the lines in `effects`. The first otherwise. */
      readonly diesAt?: number;
    }
);

/** A report about the part at `index` of those that a process plays. */
export type Line = { readonly index: number } & Report;
type Report = { readonly hangs?: true; readonly ran?: Ran | undefined; readonly decided?: number };

/** Plays one part after the other. A run whose body never returns hangs on while the next part is played. */
export async function playParts(parts: readonly Part[], say: (line: Line) => void): Promise<void> {
  for (const [index, part] of parts.entries())
    await new Promise<void>((resolve, reject) => {
      playPart(part, (report) => {
        say({ index, ...report });
        if (report.hangs === true) resolve();
      }).then(resolve, reject);
    });
}

export async function playPart(part: Part, say: (report: Report) => void): Promise<void> {
  const ledger = await openLedger(part.ledger);
  if (part.type === 'decide') await decideAll(part, ledger, say);
  else await runAgent(part, ledger, say);
  await ledger.close();
}

async function decideAll(
  part: Part & { type: 'decide' },
  ledger: OpenLedger,
  say: (report: Report) => void,
): Promise<void> {
  const runtime = createRuntime({ tools: [], ledger });
  const { rows } = await runtime.confirmations.list({ status: 'pending' });
  for (const { confirmationId, inputDigest } of rows)
    await runtime.confirmations.decide(confirmationId, {
      by: 'ada',
      inputDigest,
      ...(part.decision === 'edit'
        ? { decision: 'edit', arguments: part.arguments ?? {} }
        : { decision: part.decision }),
    });
  say({ decided: rows.length });
}

async function runAgent(
  part: Part & { type: 'run' },
  ledger: OpenLedger,
  say: (report: Report) => void,
): Promise<void> {
  const { default: harness } = (await import(part.module)) as { default: Harness };
  const pay: PlainTool = {
    name: 'pay',
    parameters: { cents: 'number' },
    run: (args) => {
      appendFileSync(part.effects, `${JSON.stringify(args)}\n`);
      const ran = readFileSync(part.effects, 'utf8').split('\n').length - 1;
      if (part.dies !== 'in the body' || ran !== (part.diesAt ?? 1)) return { paid: args['cents'] };
      say({ hangs: true });
      return new Promise(() => setInterval(() => undefined, 1_000));
    },
  };
  const stage = await harness.start([pay], {
    ledger,
    overrides: { pay: { mode: part.holds === true ? 'destructive' : 'external' } },
    ...(part.holds === true && { approver: 'grace' }),
  });
  const script: Script = [
    ...(part.suspended === undefined
      ? Array.from({ length: part.rounds ?? 1 }, () => ({
          calls: [{ id: 'call_pay', name: 'pay', arguments: { cents: 500 } }],
        }))
      : []),
    () => {
      if (part.dies === 'before the model goes on') process.kill(process.pid, 'SIGKILL');
      return { text: 'Done.' };
    },
  ];
  const options = { sessionId: part.sessionId };
  const ran =
    part.suspended === undefined
      ? await stage.run(script, options)
      : await stage.resume?.(part.suspended, { approved: true }, script, options);
  say({ ran });
  await stage.runtime.close();
}
