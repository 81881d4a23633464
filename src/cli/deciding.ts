/** What a person decides, and the check that they saw it. */
import type { ConfirmationView } from '../runtime/host/confirmation-view.ts';
import type { ForSession, PersonDecision } from '../runtime/hold/keep-decision.ts';
import type { Context, Given } from './command.ts';
import { exitCodes } from './exit-code.ts';
import { shellWord } from './find-call.ts';
import type { Question } from './find-question.ts';
import { questionPage } from './question-page.ts';
import { namesDigest } from './short-digest.ts';
import { terminalId } from './terminal-text.ts';
import { UsageError } from './usage-error.ts';

export type Verb = 'approve' | 'deny' | 'respond' | 'edit';

/** The decision of a command, without the person and the reason. */
export type Deciding = {
  readonly verb: Verb;
  /** Past tense of the decision, for the message. */
  readonly done: string;
  /** Question to ask at a terminal; undefined if nothing would run. */
  readonly question: string | undefined;
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

/** Did the person see what they decide about? Throws if that is unknown. */
export async function isSeen(
  given: Given,
  { ask, out }: Context,
  deciding: Deciding,
  { view, ambiguous }: Pick<Question, 'view' | 'ambiguous'>,
  lines: readonly string[],
  now: number,
): Promise<boolean> {
  const { verb, question } = deciding;
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
  if (question === undefined) return true;
  const isShown = ask !== undefined && digest === undefined && !given.has('json');
  if (isShown) {
    for (const line of questionPage(view, out, now)) await out.print(line);
    for (const line of ['', ...lines]) await out.print(line);
    return ask(question);
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
  return true;
}
