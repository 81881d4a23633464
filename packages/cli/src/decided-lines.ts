import { describeDecider } from 'quittance/internal/call/describe-identity';
import { describeMissing } from 'quittance/internal/call/quorum';
import type { ConfirmationView } from 'quittance/internal/runtime/views';
import { shortDigest } from './short-digest.ts';
import { terminalId, terminalText } from './terminal-text.ts';

/** The decision, for its person. If the rules need more people, a second line says who is missing. */
export function decidedLines(view: ConfirmationView, done: string): readonly string[] {
  const call = `${terminalId(view.toolName)}, call ${terminalId(view.callId)}, digest ${shortDigest(view.inputDigest)}.`;
  if (view.status === 'pending')
    return [
      `${done}: ${call} The rules need more people.`,
      ...view.fallen.map(({ by, why }) =>
        terminalText(`The vote of ${describeDecider(by)} is void: ${why}.`),
      ),
      `Still missing: ${terminalText(describeMissing(view.missing))}.`,
    ];
  const who = view.by === undefined ? '' : ` by ${terminalText(describeDecider(view.by))}`;
  return [`${done}${who}: ${call}`];
}
