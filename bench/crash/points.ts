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

/** Where the process that holds a call, or the one that decides about it, is killed. */
export const holdPoints = {
  'holder: before hold': 'the call needs a person, nothing of that is kept',
  'holder: after hold': 'the question is stored, no person has seen it',
  'decider: before decision': 'somebody has decided, it is not kept',
  'decider: after decision': 'the decision is kept, nobody has heard of it',
  'holder: after decision': 'the holder has heard of the decision and not acted on it',
  'holder: before claim': 'the call is approved and checked again, its intent is not kept',
  'holder: after claim': 'the intent of an approved call is kept, its body has not begun',
  'both: after decision': 'the decision is kept, and neither who took it nor who waited is left',
} as const;

export type HoldPoint = keyof typeof holdPoints;
export const holdPointNames: readonly HoldPoint[] = Object.keys(holdPoints) as HoldPoint[]; // the keys of that table

/** What the process that holds calls, decides about them or comes after is told to do. */
export type HoldErrand = {
  readonly ledger: string;
  readonly service: string;
  readonly sessionId: string;
  readonly calls: number;
  readonly part: 'holder' | 'decider' | 'after';
  /** Undefined for the processes that are to live. */
  readonly point: HoldPoint | undefined;
  /** Which of the calls meets its end. */
  readonly nth: number;
};

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

/** Where a process is killed that tries calls again, or whose behaviour follows them. */
export const retryPoints = {
  'retry: after failure': 'the failure of an attempt is kept, no behaviour was asked',
  'retry: after request': 'another attempt is asked for, it is not due yet',
  'retry: after next intent': 'the intent of the next attempt is kept, its body has not begun',
  'retry: after next effect': 'the effect of the next attempt has happened, its end is not kept',
  'behaviour: after its call': 'a behaviour has called a tool, and emitted nothing yet',
  'behaviour: before emission': 'a behaviour is done, what it emitted and its position are not kept',
  'behaviour: after emission': 'what a behaviour emitted is kept, nobody has heard of it',
} as const;

export type RetryPoint = keyof typeof retryPoints;
export const retryPointNames: readonly RetryPoint[] = Object.keys(retryPoints) as RetryPoint[]; // the keys of that table

/** What the process that tries calls again, or the one that comes after, is told to do. */
export type RetryErrand = {
  readonly ledger: string;
  readonly service: string;
  readonly sessionId: string;
  readonly calls: number;
  /** Undefined for the process that comes after. */
  readonly point: RetryPoint | undefined;
  /** Which of the calls meets its end. */
  readonly nth: number;
};

/** Places to kill a process: in what it stores with a call, checks before it runs a call, or does in recovery. */
export const storePoints = {
  'entry: files checked': "the runtime's own files were found unchanged, nothing of the intent is written",
  'entry: before marks': 'the entry of a claim with its totals is written, the mark of its key is not',
  'entry: before commit': 'entry, claim, totals and marks are written, not committed',
  'entry: after commit': 'the claim is committed, the process does not know it',
  'spill: before write': 'the disk is full after the effect, the end is not spilled yet',
  'spill: after write': 'the end is spilled, the caller has not heard of it',
  'import: before append': 'the spill of a dead process was read, nothing of it is appended',
  'import: after append': 'an entry of the spill is appended, the spill is still there',
  'import: after drop': 'all of the spill is appended and the file is gone',
  'recovery: before attempt': 'a read of a dead process is about to run again, that is not recorded',
  'recovery: after attempt': 'the next attempt of a read is recorded, its body has not begun',
  'recovery: during the body': 'the body of a recovered read has begun',
  'artifact: after check': 'the artifact in the arguments of a call was read and compared, nothing ran',
  'hold again: before hold':
    'an approved call gets another value from its schema, the new question is not kept',
  'hold again: after hold': 'the question about the new value is stored, no person has seen it',
  'expiry: before end': 'the time of a question is up, that is not kept',
  'expiry: after end': 'the question has expired on record, the caller has not heard of it',
} as const;

export type StorePoint = keyof typeof storePoints;
export const storePointNames: readonly StorePoint[] = Object.keys(storePoints) as StorePoint[]; // the keys of that table

/** `first` meets the point, unless it is one of recovery: then `first` dies early and `second` meets it. */
export type StoreErrand = {
  readonly ledger: string;
  readonly service: string;
  readonly sessionId: string;
  readonly calls: number;
  readonly part: 'first' | 'second' | 'after';
  readonly point: StorePoint;
  /** Which time the point is met is the last one. */
  readonly nth: number;
};
