/** Where a process is killed. Each names the race it reproduces. */
export const crashPoints = {
  'before intent': 'the call is decided, nothing of it is kept',
  'after intent': 'the intent is kept, the body has not begun',
  'during the body': 'the body has begun, its effect has not happened',
  'after the effect': 'the effect has happened, its end is not kept',
  'during the commit': 'the end is being written',
  'after settle': 'the end is kept, nobody has heard of it',
} as const;

export type CrashPoint = keyof typeof crashPoints;
export const pointNames: readonly CrashPoint[] = Object.keys(crashPoints) as CrashPoint[]; // the keys of that table

export const toolKinds = ['non-idempotent', 'idempotent', 'reconcilable', 'read'] as const;
export type ToolKind = (typeof toolKinds)[number];

/** What a child is told to do. */
export type Errand = {
  readonly ledger: string;
  readonly service: string;
  readonly sessionId: string;
  readonly tool: ToolKind;
  readonly calls: number;
  /** Undefined for the process that comes after. */
  readonly point: CrashPoint | undefined;
  /** Which of the calls in flight meets its end. */
  readonly nth: number;
  readonly naive: boolean;
};
