import type { CallEvent, ToolDecided, ToolRequested, ToolResponded, ToolStarted } from './event.ts';
import type { EventDataOf } from './event-data.ts';

/** The commands for a call. The runtime collects the facts; `decide` checks whether they are legal. */
export type Command =
  | ({ readonly type: 'request' } & MaySay<'tool.requested', 'schemaDigest' | 'traceparent'>)
  | ({ readonly type: 'rule' } & MaySay<
      'tool.decided',
      'grantId' | 'inputForm' | 'acceptedInput' | 'artifacts'
    >)
  | ({ readonly type: 'hold' } & MaySay<
      'tool.held',
      'revision' | 'expiresAt' | 'timeoutEffect' | 'risk' | 'schemaDigest' | 'comparison'
    >)
  | ({ readonly type: 'answer' } & MaySay<
      'confirmation.decided',
      | 'revision'
      | 'editedInput'
      | 'editedDigest'
      | 'editedHidden'
      | 'editedForm'
      | 'editedAccepted'
      | 'editedArtifacts'
      | 'response'
      | 'receivedAt'
    >)
  | ({ readonly type: 'vote' } & MaySay<
      'confirmation.voted',
      | 'revision'
      | 'editedInput'
      | 'editedDigest'
      | 'editedHidden'
      | 'editedForm'
      | 'editedAccepted'
      | 'editedArtifacts'
    >)
  | ({ readonly type: 'remind' } & EventDataOf<'confirmation.reminded'>)
  | ({ readonly type: 'preview' } & EventDataOf<'tool.previewed'>)
  | ({ readonly type: 'expire' } & EventDataOf<'confirmation.expired'>)
  | ({ readonly type: 'report' } & EventDataOf<'tool.reported'>)
  | ({ readonly type: 'undo' } & EventDataOf<'tool.undone'>)
  | ({ readonly type: 'withdraw' } & EventDataOf<'confirmation.withdrawn'>)
  | ({ readonly type: 'try_again' } & Pick<
      EventDataOf<'retry.requested'>,
      'notBefore' | 'by' | 'attempt' | 'forEvent'
    >)
  | ({ readonly type: 'exhaust' } & EventDataOf<'runtime.budget_exhausted'>)
  | ({ readonly type: 'take_over' } & Omit<EventDataOf<'tool.taken_over'>, 'takeover'>)
  | ({ readonly type: 'start' } & Omit<MaySay<'tool.started', 'handoff' | 'stages'>, 'attempt'>)
  | ({ readonly type: 'respond'; readonly mayRerun: boolean; readonly repeatIsSafe: boolean } & Omit<
      EventDataOf<'tool.responded'>,
      'attempt' | 'unsettledEffect'
    >)
  | ({ readonly type: 'add_late' } & EventDataOf<'tool.late'>)
  | ({ readonly type: 'resolve' } & EventDataOf<'tool.resolved'>)
  | ({ readonly type: 'fail_to_persist' } & MaySay<'persistence.failed', 'result'>)
  | ({ readonly type: 'recall' } & EventDataOf<'tool.recalled'>);

/** The data of an event, with some fields optional. */
type MaySay<Type extends CallEvent['type'], Names extends keyof EventDataOf<Type>> = Omit<
  EventDataOf<Type>,
  Names
> &
  Partial<Pick<EventDataOf<Type>, Names>>;

/**
 * A command for one of the four events of every call, in the shape of its event. The owner of the call completes it in
 * place: a command that is copied into an event costs most of its memory twice. Its
 * envelope and the number of the attempt are empty until then.
 */
export type EventDraft =
  | DraftOf<ToolRequested>
  | DraftOf<ToolDecided>
  | DraftOf<ToolStarted>
  | RespondedDraft;

export type DraftOf<Event> = { -readonly [Key in keyof Event]: Event[Key] };

/** `unsettledEffect`: whether the end leaves the effect in doubt if the body ran. */
export type RespondedDraft = DraftOf<ToolResponded>;
