/** Short descriptions of events in a trace. */
import type { FallenVote } from '../call/vote.ts';
import { describeDecider, describePerson } from '../call/describe-identity.ts';
import type { CallEvent, Identity } from '../call/event.ts';

export const by: typeof describeDecider = describeDecider;

export const whoOf = (name: string, identity: Identity | undefined): string =>
  describePerson({ name, identity });

export function traceNoteOf(event: CallEvent): string {
  switch (event.type) {
    case 'tool.decided':
      return `${event.decision}${event.decidedBy === undefined ? '' : `, by ${by(event.decidedBy)}`}`;
    case 'tool.held':
      return event.description;
    case 'confirmation.decided':
      return `${event.decision}, by ${by(event.by)}${event.reason === undefined ? '' : `: ${event.reason}`}${fallenNote(event.fallen)}`;
    case 'confirmation.voted':
      return `${event.decision}, by ${by(event.by)}; more people are needed${fallenNote(event.fallen)}`;
    case 'confirmation.reminded':
      return `${event.kind}; missing: ${event.missing.join('; ')}`;
    case 'confirmation.withdrawn':
      return event.reason;
    case 'confirmation.expired':
      return `${event.effect}${event.by === undefined ? '' : `, by ${by(event.by)}`}`;
    case 'tool.previewed':
      return `revision ${event.revision}${event.ready ? ', ready' : ''}`;
    case 'tool.taken_over':
      return `takeover ${event.takeover}, from ${event.previousOwner}`;
    case 'tool.reported':
      return `${event.what.type}, by ${whoOf(event.worker, event.identity)}`;
    case 'tool.undone':
      return `by ${by(event.by)}, with call ${event.undoCallId}`;
    case 'tool.recalled':
      return `${event.how}${event.how === 'conflict' ? `: ${event.details}` : `, from ${event.fromCallId}`}`;
    case 'tool.late':
      return `attempt ${event.attempt} ${event.result.type} after its deadline`;
    case 'tool.resolved':
      return `${event.resolution}, by ${by(event.by)}`;
    case 'retry.requested':
      return `attempt ${event.attempt}, as ${event.by} asked`;
    case 'persistence.failed':
      return `${event.boundary}: ${event.error}`;
    case 'runtime.budget_exhausted':
      return `${event.scope}: ${event.used} of ${event.limit} ${event.metric} used`;
    case 'tool.started':
    case 'tool.responded':
    case 'tool.requested':
      return '';
    default:
      event satisfies never;
      return '';
  }
}

const fallenNote = (fallen: readonly FallenVote[] = []): string =>
  fallen.map((each) => `; the vote of ${by(each.by)} is void: ${each.why}`).join('');
