/**
 * Decisions typed by people.
 *
 * 1. A decision that lets something run is about what was seen: shown here and agreed to, or named by its digest.
 * 2. No tool is here, so nothing runs here: whoever holds the call goes on, or whoever has its tool.
 */
import { isQuittanceError } from '../base/error.ts';
import type { Call } from '../call/call.ts';
import { describeDecider } from '../call/describe-identity.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { toCallSummary } from '../ledger/summarise-call.ts';
import type { ConfirmationView } from '../runtime/host/confirmation-view.ts';
import type { PersonDecision } from '../runtime/hold/keep-decision.ts';
import { createRuntime } from '../store/memory/create-runtime.ts';
import type { Awaited } from './await-outcome.ts';
import { awaitOutcome } from './await-outcome.ts';
import { callToJson } from './call-columns.ts';
import type { Context, Given, Options } from './command.ts';
import { jsonOption } from './command.ts';
import { confirmationToJson } from './confirmation-columns.ts';
import type { ExitCode } from './exit-code.ts';
import { exitCodes } from './exit-code.ts';
import { shellWord } from './find-call.ts';
import type { Question } from './find-question.ts';
import { findQuestion } from './find-question.ts';
import { standing } from './outcome-word.ts';
import { block } from './page-layout.ts';
import { questionPage } from './question-page.ts';
import { terminalId, safeJson, safeSentence, terminalText } from './terminal-text.ts';
import { namesDigest, shortDigest } from './short-digest.ts';
import { UsageError } from './usage-error.ts';

export type Verb = 'approve' | 'deny' | 'respond' | 'edit';

/** What a command says about the held call, beside who says it and why. */
export type Deciding = {
  readonly verb: Verb;
  /** What it was decided to, for the line that says so. */
  readonly done: string;
  /** Asked at a terminal; undefined where nothing would run. */
  readonly question: string | undefined;
  /** What is decided, and lines that show it. Throws where the words that were typed do not say. */
  readonly decide: (
    given: Given,
    view: ConfirmationView,
    context: Context,
  ) => { readonly decision: Decision; readonly lines: readonly string[] };
};

type Decision =
  | { readonly decision: 'approve' | 'deny' }
  | Pick<PersonDecision & { decision: 'edit' }, 'decision' | 'arguments'>
  | Pick<PersonDecision & { decision: 'respond' }, 'decision' | 'response'>;

export const decisionOptions: Options = {
  by: { value: 'NAME', help: 'Who decides' },
  reason: { value: 'TEXT', help: 'Why' },
  digest: {
    value: 'DIGEST',
    help: 'Of the arguments you have seen: all of it, or at least 12 characters. To let a call run, needed where there is no terminal to show them on',
  },
  revision: {
    value: 'N',
    help: 'Of what the tool showed you beforehand; to let a call run, needed with --digest where it shows something',
  },
  session: { value: 'ID', help: 'The session of the call, where several have a call of this id' },
  wait: { value: 'SECONDS', help: 'Wait so long for the outcome, and print it' },
  json: jsonOption,
};

export async function decideQuestion(given: Given, context: Context, deciding: Deciding): Promise<ExitCode> {
  const { verb } = deciding;
  const [typed] = given.args;
  const by = given.text('by');
  if (typed === undefined)
    throw new UsageError('Which question, or which call?', ['quittance pending', `quittance ${verb} --help`]);
  if (by === undefined || by.trim() === '')
    throw new UsageError('A decision has a name on it: --by is missing.', [
      `quittance ${verb} ${shellWord(typed)} --by NAME`,
    ]);
  const waitSeconds = given.count('wait');
  return context.withLedger(
    given,
    async (ledger) => {
      const question = await findQuestion(ledger, typed, given.text('session'), verb);
      const { view } = question;
      const isOpen = view.status === 'pending' && !(ledger.now() >= (view.expiresAt ?? Infinity));
      const { decision, lines } = deciding.decide(given, view, context);
      // Of one that is over, the refusal says by whom and when; there is nothing to look at any more.
      if (isOpen && !(await isSeen(given, context, deciding, question, lines, ledger.now()))) {
        await context.out.print('Nothing was decided.');
        return exitCodes.bad;
      }
      const reason = given.text('reason');
      const revision = given.count('revision') ?? view.preview?.revision;
      const bound = deciding.question !== undefined || given.has('digest');
      const decided = await decide(ledger, view, {
        ...decision,
        by,
        identity: context.identity,
        ...(reason !== undefined && { reason }),
        ...(bound && { inputDigest: view.inputDigest }),
        ...((bound || given.has('revision')) && revision !== undefined && { revision }),
      });
      const isAlive = (await ledger.owners.statusOf(question.stored.ownerId)) !== 'gone';
      const ends = decision.decision === 'deny' || decision.decision === 'respond';
      // With its holder gone, what will not run is ended by this process: it must not leave before.
      const waitMs = waitSeconds === undefined ? (ends && !isAlive ? 3_000 : 0) : waitSeconds * 1_000;
      if (given.has('json'))
        await context.out.print(safeJson({ ...confirmationToJson(decided), holder_alive: isAlive }));
      else for (const line of said(decided, deciding, isAlive, ends)) await context.out.say(line);
      const found = waitMs === 0 ? undefined : await awaitOutcome(ledger, view, waitMs, context.signal);
      return waitSeconds === undefined || found === undefined
        ? exitCodes.good
        : printDecision(found, given, context, waitSeconds);
    },
    'write',
  );
}

/** Whether what is decided was seen. Throws where that cannot be said. */
async function isSeen(
  given: Given,
  { ask, out }: Context,
  deciding: Deciding,
  { view, ambiguous }: Question,
  lines: readonly string[],
  now: number,
): Promise<boolean> {
  const { verb, question } = deciding;
  const [digest, by] = [given.text('digest'), shellWord(given.text('by') ?? 'NAME')];
  if (digest !== undefined && !namesDigest(digest, view.inputDigest))
    throw new UsageError(
      `What is held has another digest than ${digest}: it is not what you saw.`,
      [
        'quittance pending',
        `quittance show ${shellWord(terminalId(view.callId))} --session ${shellWord(terminalId(view.sessionId))}`,
      ],
      exitCodes.bad,
    );
  if (question === undefined) return true;
  const isShown = ask !== undefined && digest === undefined && !given.has('json');
  if (isShown) {
    for (const line of questionPage(view, out, now)) await out.print(line);
    for (const line of ['', ...lines]) await out.print(line);
    return ask(question);
  }
  if (digest === undefined)
    throw new UsageError(
      'Without a terminal to show it on, a decision names what was seen: --digest is missing.',
      ['quittance pending', `quittance ${verb} ${view.confirmationId} --by ${by} --digest DIGEST`],
    );
  if (view.preview !== undefined && !given.has('revision'))
    throw new UsageError(
      `"${terminalId(view.toolName)}" shows beforehand what it would do; the decision names what was seen of that: --revision is missing.`,
      [
        `quittance show ${shellWord(terminalId(view.callId))} --session ${shellWord(terminalId(view.sessionId))}`,
        `quittance ${verb} ${view.confirmationId} --by ${by} --digest DIGEST --revision N`,
      ],
    );
  if (ambiguous)
    throw new UsageError(
      `Call ${JSON.stringify(terminalId(view.callId))} has asked more than once. Name the question you saw.`,
      ['quittance pending', `quittance ${verb} QUESTION --by ${by} --digest DIGEST`],
    );
  if (!given.has('json')) for (const line of lines) await out.print(line);
  return true;
}

const refusals = [
  'confirmation.decided',
  'confirmation.expired',
  'confirmation.mismatch',
  'confirmation.forbidden',
  'confirmation.unknown',
] as const;

async function decide(
  ledger: Ledger,
  { confirmationId, callId, sessionId }: ConfirmationView,
  decision: PersonDecision,
): Promise<ConfirmationView> {
  const runtime = createRuntime({ tools: [], ledger });
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

function said(view: ConfirmationView, { done }: Deciding, isAlive: boolean, ends: boolean): string[] {
  const who = view.by === undefined ? '' : ` by ${terminalText(describeDecider(view.by))}`;
  return [
    `${done}${who}: ${terminalId(view.toolName)}, call ${terminalId(view.callId)}, digest ${shortDigest(view.inputDigest)}.`,
    isAlive
      ? `The process that holds the call ${ends ? 'ends it' : 'goes on with it'}.`
      : ends
        ? 'The process that held the call is gone; the call ends here.'
        : 'The process that held the call is gone. Another that has the tool goes on with it: by runtime.recover(), its next turn, or when the agent asks again.',
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
          `It ended: ${word}${code === undefined ? '' : ` (${terminalText(code)})`}. The model is told:`,
        );
        for (const line of block(safeSentence(found.call.settled?.content ?? ''), out)) await out.print(line);
      }
      return exitCodes.good;
    case 'asks':
      await err.say(`The call asks another question now: quittance approve ${found.confirmationId}`);
      return exitCodes.bad;
    case 'open':
      await err.say(
        `There is no outcome after ${seconds} s; the decision stands. quittance show ${shellWord(terminalId(found.call?.callId ?? ''))} says how it goes on.`,
      );
      return exitCodes.bad;
  }
}

const settledToJson = (call: Call): object => ({
  ...callToJson(toCallSummary(call)),
  told: call.settled?.content,
});
