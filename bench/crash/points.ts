/** The points at which a process is killed. Each names the race it reproduces. */
export const crashPoints = {
  'before intent': 'the call is decided, nothing is stored',
  'after intent': 'the intent is stored, the tool has not started',
  'during the body': 'the tool has started, its effect has not happened',
  'after the effect': 'the effect has happened, its end is not stored',
  'during the commit': 'the end is being written',
  'after settle': 'the end is stored, the caller has not received it',
} as const;

export type CrashPoint = keyof typeof crashPoints;
export const pointNames: readonly CrashPoint[] = Object.keys(crashPoints) as CrashPoint[]; // the keys of that table

/** The points at which the holder or the decider of a call is killed. */
export const holdPoints = {
  'holder: before hold': 'the call needs approval, nothing is stored',
  'holder: after hold': 'the confirmation is stored, no person has seen it',
  'decider: before decision': 'a person has decided, the decision is not stored',
  'decider: after decision': 'the decision is stored, no process has seen it',
  'holder: after decision': 'the holder has seen the decision but not acted on it',
  'holder: before claim': 'the call is approved and checked again, its intent is not stored',
  'holder: after claim': 'the intent of an approved call is stored, its tool has not started',
  'both: after decision': 'the decision is stored, and both the decider and the holder are dead',
} as const;

export type HoldPoint = keyof typeof holdPoints;
export const holdPointNames: readonly HoldPoint[] = Object.keys(holdPoints) as HoldPoint[]; // the keys of that table

/** The task of a process that holds calls, decides them or follows. */
export type HoldErrand = {
  readonly ledger: string;
  readonly service: string;
  readonly sessionId: string;
  readonly calls: number;
  readonly part: 'holder' | 'decider' | 'after';
  /** Undefined for processes that survive. */
  readonly point: HoldPoint | undefined;
  /** The number of the call at which the process dies. */
  readonly nth: number;
};

/** The points at which the holder or a voter of a call that needs two people is killed. */
export const quorumPoints = {
  'voter: before vote': 'the first person has approved, that is not stored',
  'voter: after vote': 'the first approval is stored, no process has seen it',
  'holder: after vote': 'the holder has seen an approval that needs another one',
  'voter: before decision': 'the second person has approved, that is not stored',
  'voter: after decision': 'the quorum is complete and stored, no process has seen it',
  'holder: before intent': 'the quorum is complete and checked again, the intent is not stored',
  'holder: after intent': 'the intent is stored, the tool has not started',
  'all: after vote': 'the first approval is stored, and the holder and a voter are dead',
} as const;

export type QuorumPoint = keyof typeof quorumPoints;
export const quorumPointNames: readonly QuorumPoint[] = Object.keys(quorumPoints) as QuorumPoint[]; // the keys of that table

/** The task of a process that holds calls, votes on them as one person, or follows. */
export type QuorumErrand = {
  readonly ledger: string;
  readonly service: string;
  readonly sessionId: string;
  readonly calls: number;
  readonly part: 'holder' | 'voter' | 'after';
  /** Undefined for processes that survive. */
  readonly point: QuorumPoint | undefined;
  /** The number of the visit of the point at which the process dies. */
  readonly nth: number;
  /** The people of a voter, joined by commas. */
  readonly by: string;
};

export const toolKinds = ['non-idempotent', 'idempotent', 'reconcilable', 'read'] as const;
export type ToolKind = (typeof toolKinds)[number];

/** The task of a child process. */
export type Errand = {
  readonly ledger: string;
  readonly service: string;
  readonly sessionId: string;
  readonly tool: ToolKind;
  readonly calls: number;
  /** Undefined for the successor. */
  readonly point: CrashPoint | undefined;
  /** The number of the concurrent call at which the process dies. */
  readonly nth: number;
  readonly naive: boolean;
};

/** The points at which a process is killed that retries calls, or whose behavior follows them. */
export const retryPoints = {
  'retry: after failure': 'the failure of an attempt is stored, no behavior was asked',
  'retry: after request': 'a retry is requested, it is not due yet',
  'retry: after next intent': 'the intent of the next attempt is stored, its tool has not started',
  'retry: after next effect': 'the effect of the next attempt has happened, its end is not stored',
  'behavior: after its call': 'a behavior has called a tool, and emitted nothing yet',
  'behavior: before emission': 'a behavior is done, its event and position are not stored',
  'behavior: after emission': 'the event of a behavior is stored, no reader has seen it',
} as const;

export type RetryPoint = keyof typeof retryPoints;
export const retryPointNames: readonly RetryPoint[] = Object.keys(retryPoints) as RetryPoint[]; // the keys of that table

/** The task of a process that retries calls, or of its successor. */
export type RetryErrand = {
  readonly ledger: string;
  readonly service: string;
  readonly sessionId: string;
  readonly calls: number;
  /** Undefined for the successor. */
  readonly point: RetryPoint | undefined;
  /** The number of the call at which the process dies. */
  readonly nth: number;
};

/** How the server or the network fails while processes make calls. */
export const serverPoints = {
  'backend killed': 'a backend that appends gets SIGKILL, and the server restarts all of them',
  'backend terminated': 'an operator ends the connections that append',
  'server killed': 'the postmaster gets SIGKILL and is started again',
  'server restarted': 'an operator restarts the server',
  'network cut': 'all connections of the process break at once',
  'answers lost': 'commits arrive, their answers do not',
  'network silent': 'nothing passes for a while, then everything does',
  'process stopped':
    'the process is stopped for longer than its lease, another one recovers its calls, then it goes on',
} as const;

export type ServerPoint = keyof typeof serverPoints;
export const serverPointNames: readonly ServerPoint[] = Object.keys(serverPoints) as ServerPoint[]; // the keys of that table

/** The task of a process whose server or network fails, or of its successor. */
export type ServerErrand = {
  readonly ledger: string;
  readonly service: string;
  readonly sessionId: string;
  readonly calls: number;
  readonly lanes: number;
  readonly part: 'first' | 'recoverer' | 'after';
};

/** Places to kill a process: in what it stores with a call, checks before it runs a call, or does in recovery. */
export const storePoints = {
  'entry: files checked': "the runtime's own files are unchanged, no part of the intent is written",
  'entry: before marks': 'the entry of a claim with its totals is written, the mark of its key is not',
  'entry: before commit': 'entry, claim, totals and marks are written, not committed',
  'entry: after commit': 'the claim is committed, the process does not know that yet',
  'spill: before write': 'the disk is full after the effect, the end is not spilled yet',
  'spill: after write': 'the end is spilled, the caller has not received it',
  'import: before append': 'the spill of a dead process was read, nothing is appended',
  'import: after append': 'an entry of the spill is appended, the spill is still there',
  'import: after drop': 'the whole spill is appended and the file is removed',
  'recovery: before attempt': 'a read of a dead process is about to run again, that is not recorded',
  'recovery: after attempt': 'the next attempt of a read is recorded, its tool has not started',
  'recovery: during the body': 'the tool of a recovered read has started',
  'artifact: after check': 'the artifact in the arguments of a call was read and compared, nothing ran',
  'hold again: before hold':
    'an approved call gets another value from its schema, the new confirmation is not stored',
  'hold again: after hold': 'the confirmation of the new value is stored, no person has seen it',
  'expiry: before end': 'a confirmation has expired, that is not stored',
  'expiry: after end': 'the expiry is stored, the caller has not received it',
} as const;

export type StorePoint = keyof typeof storePoints;
export const storePointNames: readonly StorePoint[] = Object.keys(storePoints) as StorePoint[]; // the keys of that table

/** `first` dies at the point, unless it is a point of recovery: then `first` dies early and `second` dies there. */
export type StoreErrand = {
  readonly ledger: string;
  readonly service: string;
  readonly sessionId: string;
  readonly calls: number;
  readonly part: 'first' | 'second' | 'after';
  readonly point: StorePoint;
  /** The number of the visit of the point at which it dies. */
  readonly nth: number;
};

/** The points at which a process is killed that holds calls and sends notifications about them. */
export const notificationPoints = {
  'start: before position': 'calls arrive while the position of a target is being stored for the first time',
  'hold: after hold': 'the hold is stored, no behavior has seen it',
  'message: before connection': 'the message is written, its target is being looked up',
  'message: arrived': 'the target has the message and has not answered',
  'message: answered': 'the target has answered, the process may not know that yet',
  'record: before append': 'the delivery is known, its record and the position are not stored',
  'record: after append': 'the record of the delivery is stored',
  'failure: in back-off': 'the target refused the message for now, the next try is due soon',
  'failure: before record': 'all tries failed, that is not stored',
  'failure: after record': 'the failure is stored, no retry was requested',
  'failure: after request': 'a later delivery is requested, it is not due yet',
  'reminder: before record': 'a question still waits at its time, that is not stored',
  'reminder: after record': 'the reminder is stored, no message was sent',
} as const;

export type NotificationPoint = keyof typeof notificationPoints;
export const notificationPointNames: readonly NotificationPoint[] = Object.keys(
  notificationPoints,
) as NotificationPoint[]; // the keys of that table

/** The task of a process that holds calls and sends notifications, or of its successor, which holds none. */
export type NotificationErrand = {
  readonly ledger: string;
  readonly sessionId: string;
  readonly calls: number;
  /** The notifications file. */
  readonly settings: string;
  /** Undefined for the successor, and where the target kills the process. */
  readonly point: NotificationPoint | undefined;
  /** The number of the visit of the point at which the process dies. */
  readonly nth: number;
  /** The successor ends once so many messages for each held call are recorded as sent. */
  readonly messages: number;
};
