/** What a person decides, and the check that they saw it. */
import type { ConfirmationView } from 'quittance/internal/runtime/views';
import type { ForSession, PersonDecision } from 'quittance/internal/runtime/keep-decision';
import type { Context, Given, Proof } from './command.ts';
import { exitCodes } from './exit-code.ts';
import { shellWord } from './find-call.ts';
import type { Question } from './find-question.ts';
import { questionPage } from './question-page.ts';
import { namesDigest, shortDigest } from './short-digest.ts';
import { terminalId } from './terminal-text.ts';
import { UsageError } from './usage-error.ts';

export type Verb = 'approve' | 'deny' | 'respond' | 'edit';

/** The decision of a command, without the person and the reason. */
export type Deciding = {
  readonly verb: Verb;
  /** Past tense of the decision, for the message. */
  readonly done: string;
  /** Question to ask at a terminal. */
  readonly question: string;
  /** Can the call run after it? Then the decision must name what was reviewed. */
  readonly runs: boolean;
  /** Returns the decision and the lines that show it. Throws if options are missing or invalid. */
  readonly decide: (
    given: Given,
    view: ConfirmationView,
    context: Context,
  ) => { readonly decision: Decision; readonly lines: readonly string[] };
};

type Decision =
  | { readonly decision: 'approve'; readonly forSession?: ForSession }
  | { readonly decision: 'deny' }
  | Pick<PersonDecision & { decision: 'edit' }, 'decision' | 'arguments'>
  | Pick<PersonDecision & { decision: 'respond' }, 'decision' | 'response'>;

/**
 * Asks who decides, after they saw what they decide about. Undefined if they did not confirm. Throws if it is unknown
 * what they saw.
 */
export async function confirmSeen<Decider>(
  given: Given,
  { person, out }: Context,
  deciding: Deciding,
  { view, ambiguous }: Pick<Question, 'view' | 'ambiguous'>,
  lines: readonly string[],
  now: number,
  confirm: (asked: Parameters<Proof['confirm']>[0]) => Promise<Decider>,
): Promise<Decider> {
  const { verb, question, runs } = deciding;
  const [digest, by] = [given.text('digest'), shellWord(given.text('by') ?? 'NAME')];
  if (digest !== undefined && !namesDigest(digest, view.inputDigest))
    throw new UsageError(
      `The held call has another digest than ${digest}, so it is not the one you reviewed.`,
      [
        'quittance pending',
        `quittance show ${shellWord(terminalId(view.callId))} --session ${shellWord(terminalId(view.sessionId))}`,
      ],
      exitCodes.bad,
    );
  if (!runs)
    return confirm({
      question: `${question} ${terminalId(view.toolName)}, call ${terminalId(view.callId)}?`,
      word: verb,
    });
  if (person !== undefined && digest === undefined && !given.has('json')) {
    const { screen } = person;
    for (const line of questionPage(view, screen, now)) await screen.print(line);
    for (const line of ['', ...lines]) await screen.print(line);
    return confirm({ question, word: shortDigest(view.inputDigest).slice(0, 4), always: true });
  }
  if (digest === undefined)
    throw new UsageError(
      'Without a terminal, a decision must name the reviewed arguments: --digest is missing.',
      ['quittance pending', `quittance ${verb} ${view.confirmationId} --by ${by} --digest DIGEST`],
    );
  if (view.preview !== undefined && !given.has('revision'))
    throw new UsageError(
      `"${terminalId(view.toolName)}" has a preview, so the decision must name its reviewed revision: --revision is missing.`,
      [
        `quittance show ${shellWord(terminalId(view.callId))} --session ${shellWord(terminalId(view.sessionId))}`,
        `quittance ${verb} ${view.confirmationId} --by ${by} --digest DIGEST --revision N`,
      ],
    );
  if (ambiguous)
    throw new UsageError(
      `Call ${JSON.stringify(terminalId(view.callId))} has several confirmations. Name the one you reviewed.`,
      ['quittance pending', `quittance ${verb} CONFIRMATION --by ${by} --digest DIGEST`],
    );
  if (!given.has('json')) for (const line of lines) await out.print(line);
  return confirm({ question, word: shortDigest(view.inputDigest).slice(0, 4) });
}
