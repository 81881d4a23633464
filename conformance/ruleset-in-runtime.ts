/** Makes the same call for real: a runtime, a tool of that name, counters in the ledger, a scripted approver. */
import type { JsonValue } from 'quittance';
import type { Ask, QuittanceEvent, RuleMark } from 'quittance/events';
import type { ConfirmationRequest } from 'quittance/runtime';
import type { OpenLedger } from 'quittance/store';
import { createRuntime, defineTool, isQuittanceError } from 'quittance';
import { createMemoryLedger } from 'quittance/ledger';
import { mergeAsks } from 'quittance/contracts';
import { runsUnasked } from './runs-unasked.ts';
import type { RulesetCase } from './ruleset-case.ts';
import type { Verdict } from './verdict.ts';
import { unapproved, verdictOfOutput } from './verdict.ts';

const sessionId = 'conformance';

/**
 * Undefined if a runtime cannot judge the case. A runtime rejects some tool names (control characters, its own
 * tools). Its rules never see arguments that are not JSON. It waits for people without a limit, so a call that runs
 * after an expiry cannot be observed.
 */
export async function judgeInRuntime(asked: RulesetCase): Promise<Verdict | undefined> {
  const tool = toolNamed(asked.toolName, asked.result);
  if (tool === undefined) return undefined;
  const ledger = createMemoryLedger();
  await seedCounters(ledger, asked);
  const held = Promise.withResolvers<ConfirmationRequest>();
  const { approval } = asked;
  const runtime = createRuntime({
    tools: [tool],
    ledger,
    contracts: asked.contracts(),
    treatments: runsUnasked,
    onConfirm: (request) => {
      held.resolve(request);
      if (approval === 'approved') return { decision: 'approve', by: 'reviewer' };
      if (approval === 'rejected') return { decision: 'deny', by: 'reviewer' };
      return new Promise(() => undefined);
    },
  });
  const { principal, metadata } = asked;
  const made = runtime
    .turn({ sessionId, ...(principal !== undefined && { principal }) })
    .submit(
      { id: 'call', name: asked.toolName, arguments: asked.input },
      metadata === undefined ? {} : { attrs: metadata },
    );
  const request = await Promise.race([held.promise, made.outcome().then(() => undefined)]);
  const waits = request !== undefined && (approval === 'pending' || approval === 'expired');
  if (!waits) await made.outcome();
  const events = await runtime.events.list({ sessionId });
  return verdictOf(asked, events, request);
}

function verdictOf(
  { approval, result }: RulesetCase,
  events: readonly QuittanceEvent[],
  request: ConfirmationRequest | undefined,
): Verdict | undefined {
  const marks = events.flatMap((event) => (event.type === 'tool.decided' ? event.rules : []));
  const observed = marks.some((mark) => mark.observed === true);
  const end = events.find((event) => event.type === 'tool.responded');
  const asked = firstAsk(marks, request);
  if (request !== undefined && approval !== 'approved') {
    if (approval !== 'expired') return unapproved(asked, approval, observed);
    const effect = timeoutOf(request.asks);
    const decisive = request.asks.find((ask) => (ask.timeoutEffect ?? 'block') === effect);
    if (effect === 'block') return unapproved(askedBy(marks, decisive), approval, observed);
    return result === undefined ? { verdict: 'allowed', message: undefined, tags: [], observed } : undefined;
  }
  if (end?.outcome.type === 'ToolDenied') {
    if (end.outcome.reason === 'validation') return undefined;
    const decidedBy = marks.find((mark) => mark.action === 'block' && mark.observed === undefined);
    return { verdict: 'denied', message: end.outcome.details, tags: decidedBy?.tags ?? [], observed };
  }
  if (result === undefined) return { verdict: 'allowed', message: undefined, tags: [], observed };
  const said = end?.rules ?? [];
  return verdictOfOutput(
    said.filter((mark) => mark.observed === undefined),
    observed || said.some((mark) => mark.observed === true),
  );
}

const firstAsk = (
  marks: readonly RuleMark[],
  request: ConfirmationRequest | undefined,
): RuleMark | undefined => askedBy(marks, request?.asks[0]);

const askedBy = (marks: readonly RuleMark[], ask: Ask | undefined): RuleMark | undefined =>
  marks.find((mark) => mark.ruleId === ask?.by.name && mark.action === 'ask');

const timeoutOf = (asks: readonly Ask[]): 'block' | 'allow' =>
  mergeAsks(
    asks.map(({ description, timeoutSeconds, timeoutEffect, by }) => ({
      ruleId: by.name,
      ruleType: 'pre',
      action: 'ask',
      message: description,
      tags: [],
      metadata: undefined,
      policyError: false,
      observed: false,
      ...(timeoutSeconds !== undefined && { timeoutSeconds }),
      ...(timeoutEffect !== undefined && { timeoutEffect }),
    })),
  )?.timeoutEffect ?? 'block';

function toolNamed(name: string, result: JsonValue | undefined): ReturnType<typeof defineTool> | undefined {
  try {
    const tool = defineTool({ name, mode: 'external', run: () => result ?? null });
    createRuntime({ tools: [tool] }); // rejects the names of its own tools
    return tool;
  } catch (error) {
    if (isQuittanceError(error) && error.code === 'config.invalid') return undefined;
    throw error;
  }
}

/** As if that many calls had been made, under the runtime's counter names. */
async function seedCounters(ledger: OpenLedger, { counters }: RulesetCase): Promise<void> {
  const used: readonly (readonly [counter: string, count: number])[] = [
    ['tool_calls', counters.toolCalls],
    ['attempts', counters.attempts],
    ...Object.entries(counters.perTool).map(
      ([name, count]) => [`calls_per_tool/${JSON.stringify(name)}`, Number(count)] as const,
    ),
  ];
  await ledger.append({
    entryId: 'seed',
    sessionId,
    callId: undefined,
    expectedVersion: 0,
    events: [
      {
        id: 'seed',
        type: 'turn.opened',
        sessionId,
        turnId: 'seed',
        at: ledger.now(),
        cause: undefined,
        deadlineMs: undefined,
        parentSessionId: undefined,
        principal: undefined,
      },
    ],
    settle: used.map(([counter, count]) => ({
      counter: `session/${JSON.stringify(sessionId)}/contract/${counter}`,
      reserved: 0,
      used: count,
    })),
  });
}
