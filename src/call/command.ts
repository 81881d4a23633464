import type { DataOf } from './event-data.ts';

/** What may be asked of a call. The runtime finds out the facts; `decide` says whether they are legal. */
export type Command =
  | ({ readonly type: 'request' } & DataOf<'tool.requested'>)
  | ({ readonly type: 'rule' } & DataOf<'tool.decided'>)
  | ({ readonly type: 'hold' } & DataOf<'tool.held'>)
  | ({ readonly type: 'answer' } & DataOf<'confirmation.decided'>)
  | ({ readonly type: 'withdraw' } & DataOf<'confirmation.withdrawn'>)
  | ({ readonly type: 'exhaust' } & DataOf<'runtime.budget_exhausted'>)
  | ({ readonly type: 'start' } & Omit<DataOf<'tool.started'>, 'attempt'>)
  | ({ readonly type: 'respond'; readonly mayRerun: boolean; readonly authorSaysRetry: boolean } & Omit<
      DataOf<'tool.responded'>,
      'attempt' | 'unsettledEffect'
    >)
  | ({ readonly type: 'add_late' } & DataOf<'tool.late'>)
  | ({ readonly type: 'resolve' } & DataOf<'tool.resolved'>)
  | ({ readonly type: 'fail_to_persist' } & DataOf<'persistence.failed'>)
  | ({ readonly type: 'recall' } & DataOf<'tool.recalled'>);
