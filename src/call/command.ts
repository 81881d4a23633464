import type { CallEvent } from './event.ts';
import type { DataOf } from './event-data.ts';

/** What may be asked of a call. The runtime finds out the facts; `decide` says whether they are legal. */
export type Command =
  | ({ readonly type: 'request' } & MaySay<'tool.requested', 'schemaDigest'>)
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
  | ({ readonly type: 'preview' } & DataOf<'tool.previewed'>)
  | ({ readonly type: 'expire' } & DataOf<'confirmation.expired'>)
  | ({ readonly type: 'report' } & DataOf<'tool.reported'>)
  | ({ readonly type: 'undo' } & DataOf<'tool.undone'>)
  | ({ readonly type: 'withdraw' } & DataOf<'confirmation.withdrawn'>)
  | ({ readonly type: 'try_again' } & Pick<
      DataOf<'retry.requested'>,
      'notBefore' | 'by' | 'attempt' | 'forEvent'
    >)
  | ({ readonly type: 'exhaust' } & DataOf<'runtime.budget_exhausted'>)
  | ({ readonly type: 'take_over' } & Omit<DataOf<'tool.taken_over'>, 'takeover'>)
  | ({ readonly type: 'start' } & Omit<MaySay<'tool.started', 'handoff' | 'stages'>, 'attempt'>)
  | ({ readonly type: 'respond'; readonly mayRerun: boolean; readonly authorSaysRetry: boolean } & Omit<
      DataOf<'tool.responded'>,
      'attempt' | 'unsettledEffect'
    >)
  | ({ readonly type: 'add_late' } & DataOf<'tool.late'>)
  | ({ readonly type: 'resolve' } & DataOf<'tool.resolved'>)
  | ({ readonly type: 'fail_to_persist' } & MaySay<'persistence.failed', 'result'>)
  | ({ readonly type: 'recall' } & DataOf<'tool.recalled'>);

/** What an event says, where some of it goes without saying. */
type MaySay<Type extends CallEvent['type'], Names extends keyof DataOf<Type>> = Omit<DataOf<Type>, Names> &
  Partial<Pick<DataOf<Type>, Names>>;
