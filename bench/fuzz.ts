/**
 * Sends random envelopes, arguments and tool results, including hostile ones, through the public API. Every call must
 * end in one outcome with parseable content, equal to the ledger's, in a legal order of records. An envelope without
 * id or name must throw `call.malformed`, and nothing else may throw.
 *
 *   npm run fuzz -- [--calls 100000] [--seed 1]
 *
 * With `--shell` it generates command lines instead. It runs the readable ones in real shells. What a shell runs, reads
 * or writes must be what the reader of command lines said.
 *
 *   npm run fuzz -- --shell [--lines 20000] [--seed 1]
 */
import {
  createRuntime,
  defineTool,
  isQuittanceError,
  jsonSchema,
  outcomeToContentParts,
  outcomeToModelContent,
  ToolDecision,
  ToolError,
  toolResult,
} from 'quittance';
import { checkAuditOrder } from 'quittance/events';
import { createMemoryLedger } from 'quittance/ledger';
import { outcomeToToolResult, outcomeToWire } from 'quittance/wire';
import type { Runtime, ToolOutcome } from 'quittance';
import { z } from 'zod';
import { createNasty } from './nasty.ts';
import { createProgress } from './progress.ts';
import { fuzzShells } from './shell/fuzz.ts';
import { printTable } from './table.ts';

if (process.argv.includes('--shell')) {
  await fuzzShells();
  process.exit();
}

const option = (name: string, otherwise: number): number => {
  const at = process.argv.indexOf(`--${name}`);
  const value = at < 0 ? otherwise : Number(process.argv[at + 1]);
  if (Number.isSafeInteger(value) && value > 0) return value;
  process.stderr.write(`--${name} takes a whole number above 0, e.g. --${name} ${otherwise}.\n`);
  process.exit(2);
};
const calls = option('calls', 100_000);
const seed = option('seed', Math.floor(Math.random() * 2 ** 31) + 1);
const nasty = createNasty(seed);
const callsPerSession = 500;

/** The behavior of the next tool run; set before the call. */
let behave: () => unknown = () => null;
const run = (): unknown => behave();

const tools = [
  defineTool({ name: 'get_any', run }),
  defineTool({ name: 'pay', run }),
  defineTool({ name: 'set_flag', idempotent: true, run }),
  defineTool({
    name: 'zod_typed',
    input: z.object({
      n: z.number().optional(),
      list: z.array(z.number()).optional(),
      flag: z.boolean().optional(),
    }),
    output: z.object({ ok: z.boolean() }),
    run: () => behave() as { ok: boolean },
  }),
  defineTool({
    name: 'json_typed',
    input: jsonSchema<{ n?: number }>({
      type: 'object',
      properties: {
        n: { type: 'integer' },
        s: { type: 'string' },
        deep: { type: 'object', properties: { a: { type: 'array', items: { type: 'number' } } } },
      },
    }),
    run,
  }),
  defineTool({ name: 'keyed', idempotencyKey: (args) => JSON.stringify(args['key'] ?? 'same'), run }),
  defineTool({ name: 'delete_it', run }),
];

const newRuntime = (): Runtime =>
  createRuntime({
    tools,
    ledger: createMemoryLedger(),
    inlineLimit: 2_000,
    cancelGraceMs: 1,
    defaultTimeoutMs: 5,
    onPreToolUse: () =>
      nasty.pick([
        ...Array<ToolDecision>(12).fill(ToolDecision.allow),
        ToolDecision.block('no'),
        ToolDecision.requiresConfirmation('sure?'),
        nasty.value() as ToolDecision,
      ]),
    onConfirm: () =>
      nasty.pick([
        { decision: 'approve', by: 'fuzz' },
        { decision: 'deny', by: 'fuzz' },
        nasty.value() as never,
      ]),
    repair: () => nasty.pick([undefined, { n: 1 }, nasty.value() as never]),
  });

const behaviors: readonly (() => unknown)[] = [
  () => nasty.value(),
  () => ({ ok: true }),
  () => Promise.resolve(nasty.value()),
  () => toolResult({ success: nasty.chance(0.5), needsFollowup: true, data: { a: 1 } }),
  () => {
    throw nasty.value();
  },
  () => Promise.reject(nasty.value()),
  () => {
    throw new ToolError(
      nasty.pick(['tool.network_error', 'budget.cost_exhausted', 'tool.indeterminate']),
      nasty.text(),
      { extras: { a: nasty.value() } },
    );
  },
  () => nasty.thenable(),
];

/** Rare, because it takes its tool's whole timeout. */
const neverEnds = (): unknown => new Promise(() => undefined);

const names = [...tools.map(({ name }) => name), 'read_artifact', 'nope'];

const counts = new Map<string, number>();
const count = (what: string): void => void counts.set(what, (counts.get(what) ?? 0) + 1);

function fail(why: string, detail: unknown): never {
  process.stderr.write(`\nFuzzing failed (seed ${seed}): ${why}\n`);
  process.stderr.write(
    `${detail instanceof Error ? detail.stack : String(detail)}\nTo repeat: npm run fuzz -- --seed ${seed} --calls ${calls}\n`,
  );
  process.exit(1);
}

function check(outcome: ToolOutcome): void {
  const content = outcomeToModelContent(outcome);
  try {
    JSON.parse(content);
    for (const part of outcomeToContentParts(outcome)) if (part.type === 'text') part.text.toString();
    JSON.stringify(outcomeToWire(outcome));
    outcomeToToolResult(outcome);
  } catch (error) {
    fail(`the content or the result of a ${outcome.type} cannot be read: ${content.slice(0, 200)}`, error);
  }
  count(
    outcome.type === 'ToolDenied'
      ? `denied ${outcome.reason}`
      : outcome.type === 'ToolFailure'
        ? outcome.code
        : outcome.type,
  );
}

async function checkSession(
  runtime: Runtime,
  sessionId: string,
  told: ReadonlyMap<string, ToolOutcome>,
): Promise<void> {
  const kinds = new Map<string, string[]>();
  for (const record of await runtime.calls.audit({ sessionId }))
    kinds.set(record.callId, [...(kinds.get(record.callId) ?? []), record.outcome.kind]);
  for (const call of await runtime.calls.list({ sessionId })) {
    const { settled } = call;
    if (settled === undefined) fail(`call ${call.callId} has no outcome`, JSON.stringify(call));
    const outcome = told.get(call.callId);
    if (outcome === undefined) continue;
    if (outcomeToModelContent(outcome) !== settled.content)
      fail(`call ${call.callId}: the answer and the record differ`, settled.content);
    const order = checkAuditOrder(kinds.get(call.callId) ?? [], { settled: true });
    if (!order.ok) fail(`call ${call.callId}: ${order.message}`, kinds.get(call.callId));
  }
}

const progress = createProgress(`fuzz, seed ${seed}`, calls);
process.on('unhandledRejection', (error) => fail('an unhandled rejection', error));
let stopped = false;
process.once('SIGINT', () => (stopped = true));

let made = 0;
while (made < calls && !stopped) {
  const runtime = newRuntime();
  const sessionId = nasty.chance(0.5) ? `s${made}` : nasty.id();
  let turn = runtime.turn({ sessionId });
  const told = new Map<string, ToolOutcome>();
  for (let n = 0; n < callsPerSession; n++, made++) {
    if (nasty.chance(0.05))
      turn = runtime.turn({
        sessionId,
        ...(nasty.chance(0.2) && { budgets: [{ scope: 'turn', toolCalls: 2 }] }),
      });
    behave = nasty.chance(0.002) ? neverEnds : nasty.pick(behaviors);
    const envelope = nasty.envelope(names);
    try {
      const envelopes = [
        envelope,
        ...(nasty.chance(0.05) ? [nasty.envelope(names), nasty.envelope(names)] : []),
      ];
      for (const outcome of await turn.callAll(envelopes as never)) {
        if (outcome.type === 'pending')
          fail('a call is pending in a turn without a deadline', outcome.callId);
        check(outcome);
        if (outcome.type !== 'ToolDenied' || outcome.reason !== 'conflict') told.set(outcome.callId, outcome);
      }
    } catch (error) {
      if (!isQuittanceError(error, 'call.malformed')) fail('a call threw', error);
      count('call.malformed');
    }
  }
  await checkSession(runtime, sessionId, told);
  progress.step(callsPerSession);
}
progress.done();
printTable(
  ['ended as', 'calls'],
  [...counts].sort((left, right) => right[1] - left[1]).map(([what, times]) => [what, String(times)]),
);
process.stdout.write(
  `${JSON.stringify({ fuzz: 'core', seed, calls: made, failures: 0, kinds: counts.size })}\n`,
);
