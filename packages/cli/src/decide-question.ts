/**
 * Decisions that people type.
 *
 * 1. A decision needs proof that a person or a token may make it: see `proof.ts`.
 * 2. An approval covers what the person saw: either shown and confirmed here, or named by its digest.
 * 3. This process has no tools, so nothing runs here. The holder continues the call, or another process that has the
 *    tool.
 */
import { isQuittanceError } from 'quittance/internal/base/error';
import type { Call } from 'quittance/internal/call/call';
import type { OpenLedger } from 'quittance/internal/ledger/ledger';
import { toCallSummary } from 'quittance/internal/ledger/listed-call';
import type { ConfirmationView } from 'quittance/internal/runtime/views';
import type { PersonDecision } from 'quittance/internal/runtime/keep-decision';
import { createPeopleRuntime } from './people-runtime.ts';
import { callToJson } from './call-columns.ts';
import type { CliCommand, Context, Given, Options } from './command.ts';
import { jsonOption } from './command.ts';
import { confirmationToJson } from './confirmation-columns.ts';
import type { ExitCode } from './exit-code.ts';
import { exitCodes } from './exit-code.ts';
import { shellWord } from './find-call.ts';
import { findQuestion } from './find-question.ts';
import { proofOf, proofOptions } from './proof.ts';
import { standing } from './outcome-query.ts';
import { block } from './page-layout.ts';
import { terminalId, safeJson, safeSentence, terminalText } from './terminal-text.ts';
import { decidedLines } from './decided-lines.ts';
import type { Deciding } from './deciding.ts';
import { confirmSeen } from './deciding.ts';
import { serverOf, serverOption } from './server/server-client.ts';
import { UsageError } from './usage-error.ts';
import { foldStored } from 'quittance/internal/ledger/fold-stored';
import { statusOfOwner, whenCallChanged } from 'quittance/internal/ledger/reads';

export const decisionOptions: Options = {
  by: {
    value: 'NAME',
    help: 'Name of the person who decides; not with --server. A token has a name, so it needs none',
  },
  ...proofOptions,
  server: serverOption,
  reason: { value: 'TEXT', help: 'Reason, optional' },
  digest: {
    value: 'DIGEST',
    help: 'Digest of the arguments you reviewed: all of it, or at least 12 characters. Required to approve without a terminal',
  },
  revision: {
    value: 'N',
    help: 'Revision of the preview you reviewed. Required with --digest to approve a call that has a preview',
  },
  session: { value: 'ID', help: 'Session of the call, if several sessions have this call id' },
  wait: { value: 'SECONDS', help: 'Wait this long for the outcome, and print it' },
  json: jsonOption,
};

/** The effect of every command that decides about a held call. */
export const decisionEffect =
  (verb: Deciding['verb']): CliCommand['effect'] =>
  (given, context) => {
    const server = serverOf(given, context);
    const [typed] = given.args;
    if (typed === undefined)
      throw new UsageError(
        'Missing confirmation id or call id.',
        server === undefined
          ? ['quittance pending', `quittance ${verb} --help`]
          : [`quittance pending --server ${server}`],
      );
    if (server === undefined)
      return { kind: 'decides', role: 'approver', line: `quittance ${verb} ${shellWord(typed)}` };
    if (given.has('by') || given.has('wait'))
      throw new UsageError(
        '--by and --wait are for a ledger. A server records who is signed in, and runs the call.',
        [`quittance ${verb} ${typed} --server ${server}`],
      );
    return { kind: 'decides_at_server', line: `quittance ${verb} ${typed} --server ${server}` };
  };

export async function decideQuestion(given: Given, context: Context, deciding: Deciding): Promise<ExitCode> {
  const { verb } = deciding;
  const server = serverOf(given, context);
  if (server !== undefined) {
    const { decideOnServer } = await import('./server/decide-on-server.ts');
    return decideOnServer(given, context, deciding, server);
  }
  const [typed = ''] = given.args;
  const proof = proofOf(context);
  const waitSeconds = given.count('wait');
  return context.withLedger(
    given,
    async (ledger) => {
      const question = await findQuestion(ledger, typed, given.text('session'), verb);
      const { view } = question;
      const isOpen = view.status === 'pending' && !(ledger.now() >= (view.expiresAt ?? Infinity));
      const { decision, lines } = deciding.decide(given, view, context);
      // A decided confirmation is not shown: the error names the person and time of its decision.
      const decider = isOpen
        ? await confirmSeen(given, context, deciding, question, lines, ledger.now(), proof.confirm)
        : await proof.confirm({ question: `${deciding.question} (already decided)`, word: verb });
      if (decider === undefined) {
        await context.out.print('No decision was recorded.');
        return exitCodes.bad;
      }
      const reason = given.text('reason');
      const revision = given.count('revision') ?? view.preview?.revision;
      const bound = deciding.runs || given.has('digest');
      // Asked before the decision: a holder may end the call, and itself, before this process looks again.
      const isAlive = (await statusOfOwner(ledger, question.stored.ownerId)) !== 'gone';
      const decided = await decide(ledger, view, {
        ...decision,
        ...decider,
        ...(reason !== undefined && { reason }),
        ...(bound && { inputDigest: view.inputDigest }),
        ...((bound || given.has('revision')) && revision !== undefined && { revision }),
      });
      const ends =
        decided.status !== 'pending' && (decision.decision === 'deny' || decision.decision === 'respond');
      // If the holder has ended, this process settles a call that will not run, so it must wait for that.
      const waitMs = waitSeconds === undefined ? (ends && !isAlive ? 30_000 : 0) : waitSeconds * 1_000;
      if (given.has('json'))
        await context.out.print(safeJson({ ...confirmationToJson(decided), holderAlive: isAlive }));
      else for (const line of said(decided, deciding, isAlive, ends)) await context.out.say(line);
      const found = waitMs === 0 ? undefined : await awaitOutcome(ledger, view, waitMs, context.signal);
      return waitSeconds === undefined || found === undefined
        ? exitCodes.good
        : printDecision(found, given, context, waitSeconds);
    },
    'write',
  );
}

const refusals = [
  'confirmation.decided',
  'confirmation.expired',
  'confirmation.mismatch',
  'confirmation.forbidden',
  'confirmation.unknown',
] as const;

async function decide(
  ledger: OpenLedger,
  { confirmationId, callId, sessionId }: ConfirmationView,
  decision: PersonDecision,
): Promise<ConfirmationView> {
  const runtime = createPeopleRuntime(ledger);
  try {
    return await runtime.confirmations.decide(confirmationId, decision);
  } catch (error) {
    if (!(error instanceof Error) || !refusals.some((code) => isQuittanceError(error, code))) throw error;
    throw new UsageError(
      error.message,
      [
        `quittance show ${shellWord(terminalId(callId))} --session ${shellWord(terminalId(sessionId))}`,
        'quittance pending',
      ],
      exitCodes.bad,
    );
  } finally {
    await runtime.close();
  }
}

function said(
  view: ConfirmationView,
  { done }: Deciding,
  isAlive: boolean,
  ends: boolean,
): readonly string[] {
  const lines = decidedLines(view, done);
  if (view.status === 'pending') return lines;
  return [
    ...lines,
    isAlive
      ? `The process that holds the call ${ends ? 'ends it' : 'continues it'}.`
      : ends
        ? 'The process that held the call has ended, so this command settles the call.'
        : 'The process that held the call has ended. Another process with the tool continues it: through runtime.recover(), its next turn, or when the agent repeats the request.',
  ];
}

async function printDecision(
  found: Awaited,
  given: Given,
  context: Context,
  seconds: number,
): Promise<ExitCode> {
  const { out, err } = context;
  switch (found.status) {
    case 'settled':
      if (given.has('json')) await out.print(safeJson(settledToJson(found.call)));
      else {
        const { outcome, code } = toCallSummary(found.call);
        const word = standing({ outcome, status: 'settled', code });
        await out.print(
          `The call ended: ${word}${code === undefined ? '' : ` (${terminalText(code)})`}. The model receives:`,
        );
        for (const line of block(safeSentence(found.call.settled?.content ?? ''), out)) await out.print(line);
      }
      return exitCodes.good;
    case 'asks':
      await err.say(`The call now needs another approval: quittance approve ${found.confirmationId}`);
      return exitCodes.bad;
    case 'open':
      await err.say(
        `No outcome after ${seconds} s; the decision is recorded. To follow the call: quittance show ${shellWord(terminalId(found.call?.callId ?? ''))}`,
      );
      return exitCodes.bad;
  }
}

const settledToJson = (call: Call): object => ({
  ...callToJson(toCallSummary(call)),
  content: call.settled?.content,
});

/** Waits for the outcome of a call after a decision. */

type Awaited =
  /** The call has an outcome. */
  | { readonly status: 'settled'; readonly call: Call }
  /** The call waits for another confirmation than the decided one. */
  | { readonly status: 'asks'; readonly call: Call; readonly confirmationId: string }
  | { readonly status: 'open'; readonly call: Call | undefined };

async function awaitOutcome(
  ledger: OpenLedger,
  { sessionId, callId, confirmationId }: Readonly<Record<'sessionId' | 'callId' | 'confirmationId', string>>,
  ms: number,
  signal: AbortSignal,
): Promise<Awaited> {
  const over = new AbortController();
  const timer = setTimeout(() => over.abort(), ms);
  const either = AbortSignal.any([signal, over.signal]);
  try {
    for (;;) {
      const stored = await ledger.readCall(sessionId, callId);
      const call = stored && foldStored(stored);
      if (stored === undefined || call === undefined) return { status: 'open', call: undefined };
      if (call.settled !== undefined) return { status: 'settled', call };
      const asked = call.confirmation;
      if (asked?.status === 'pending' && asked.confirmationId !== confirmationId)
        return { status: 'asks', call, confirmationId: asked.confirmationId };
      if (either.aborted) return { status: 'open', call };
      await whenCallChanged(ledger, sessionId, callId, stored.version, either);
    }
  } finally {
    clearTimeout(timer);
  }
}
