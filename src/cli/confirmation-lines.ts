/** Every confirmation of a call and its decision. */
import type { JsonValue } from '../base/json.ts';
import { describeDecider } from '../call/describe-identity.ts';
import type { CallEvent, ConfirmationDecided, ConfirmationVoted, ToolHeld } from '../call/event.ts';
import type { Vote } from '../call/vote.ts';
import { describeMissing, hasPolicy, missingOf, withVote, withoutFallen } from '../call/quorum.ts';
import { fallenLines } from './approval-lines.ts';
import { decisionWords } from './call-timeline.ts';
import { differenceLines } from './difference-lines.ts';
import { shellWord } from './find-call.ts';
import { inputDifference } from './input-difference.ts';
import type { PageLayout } from './page-layout.ts';
import { labelled, question } from './page-layout.ts';
import { askLines } from './question-page.ts';
import { terminalText } from './terminal-text.ts';
import { localTimeText } from './time-text.ts';

export function confirmationLines(events: readonly CallEvent[], page: PageLayout): string[] {
  const lines: string[] = [];
  let input: JsonValue = null;
  let open: ToolHeld | undefined;
  let votes: readonly Vote[] = [];
  for (const event of events)
    switch (event.type) {
      case 'tool.requested':
        input = event.requestedInput;
        break;
      case 'tool.decided':
        input = event.effectiveInput ?? input;
        break;
      case 'tool.held':
        if (lines.length > 0) lines.push('');
        open = event;
        votes = [];
        lines.push(...held(event, page));
        break;
      case 'confirmation.decided':
        open = undefined;
        lines.push(...decidedLines(event, input, page), ...voidLines(event, page));
        input = event.editedInput ?? input;
        break;
      case 'confirmation.voted':
        lines.push(...votedLines(event, input, page), ...voidLines(event, page));
        votes = withVote(withoutFallen({ votes, fallen: [] }, event.fallen).votes, event);
        input = event.editedInput ?? input;
        break;
      case 'confirmation.reminded':
        lines.push(
          ...labelled(
            event.kind === 'reminder' ? 'reminded' : 'escalated',
            `${localTimeText(event.dueAt)}; missing ${event.missing.join('; ')}`,
            page,
          ),
        );
        break;
      case 'confirmation.expired': {
        open = undefined;
        const effect = event.effect === 'allow' ? 'so the call was allowed' : 'so the call did not run';
        lines.push(...labelled('answer', `none, expired, ${effect}`, page));
        break;
      }
      case 'confirmation.withdrawn':
        open = undefined;
        lines.push(...labelled('answer', `none: withdrawn, ${event.reason}`, page));
        break;
      case 'tool.recalled':
      case 'tool.previewed':
      case 'tool.started':
      case 'tool.responded':
      case 'tool.late':
      case 'retry.requested':
      case 'tool.taken_over':
      case 'tool.reported':
      case 'tool.resolved':
      case 'tool.undone':
      case 'persistence.failed':
      case 'runtime.budget_exhausted':
        break;
      default:
        event satisfies never;
    }
  if (open !== undefined)
    lines.push(
      ...(hasPolicy(open.asks)
        ? labelled('missing', describeMissing(missingOf({ asks: open.asks, askedAt: open.at }, votes)), page)
        : []),
      page.paint('yellow', 'Awaiting approval:'),
      `quittance approve ${shellWord(terminalText(open.confirmationId))} --by NAME`,
    );
  return lines;
}

/** The earlier votes that this act found void. */
const voidLines = ({ fallen = [] }: ConfirmationDecided | ConfirmationVoted, page: PageLayout): string[] =>
  fallen.flatMap((each) => fallenLines(each, page));

/** The decision that ended a question. */
function decidedLines(event: ConfirmationDecided, input: JsonValue, page: PageLayout): string[] {
  const by = describeDecider(event.by);
  const why = event.reason === undefined ? '' : `: ${event.reason}`;
  const optional = (label: string, text: string | undefined): string[] =>
    text === undefined ? [] : labelled(label, text, page);
  return [
    ...labelled('answer', `${decisionWords[event.decision]} by ${by}${why}`, page),
    ...labelled('at', localTimeText(event.at), page),
    ...(event.receivedAt === undefined
      ? []
      : labelled('received', `${localTimeText(event.receivedAt)}, before it expired`, page)),
    ...optional('told', event.response),
    ...(event.editedInput === undefined
      ? []
      : differenceLines(inputDifference(input, event.editedInput), page)),
    ...optional('approved', event.editedDigest),
  ];
}

/** One person's act on a question that needs more people. */
function votedLines(event: ConfirmationVoted, input: JsonValue, page: PageLayout): string[] {
  const why = event.reason === undefined ? '' : `: ${event.reason}`;
  return [
    ...labelled('partial', `${decisionWords[event.decision]} by ${describeDecider(event.by)}${why}`, page),
    ...labelled('at', localTimeText(event.at), page),
    ...(event.editedInput === undefined
      ? []
      : differenceLines(inputDifference(input, event.editedInput), page)),
    ...(event.editedDigest === undefined ? [] : labelled('approved', event.editedDigest, page)),
  ];
}

const held = (event: ToolHeld, page: PageLayout): string[] => [
  ...question(event.description, page),
  ...event.asks.flatMap((ask) => askLines(ask, page)),
  ...(event.risk.length === 0 ? [] : labelled('risk', event.risk.join(', '), page)),
  ...(event.expiresAt === undefined
    ? []
    : labelled(
        'expires',
        `${localTimeText(event.expiresAt)}, ${event.timeoutEffect === 'allow' ? 'then it is allowed' : 'then it is denied'}`,
        page,
      )),
  ...labelled('for input', event.inputDigest, page),
  ...(event.revision === undefined ? [] : labelled('for revision', String(event.revision), page)),
  ...labelled('question', event.confirmationId, page),
];
