/** What goes wrong beside all calls, of which no outcome could tell. */

/**
 * A behavior that gets no further: the entry after `position` cannot be read, or the ledger could not be used five
 * times in a row. It skips nothing, and goes on by itself once it can.
 */
export type RuntimeTrouble = StuckBehavior | ExposedFiles | UntestedFramework | CallFault;

export type StuckBehavior = {
  readonly type: 'behavior.stuck';
  readonly behavior: string;
  /** The last entry that was given to it. */
  readonly position: number;
  /** What keeps it, and what to do. */
  readonly message: string;
  readonly error: unknown;
};

/** A rule lets the agent into a folder that holds the runtime's own files. Told once for each set of rules. */
export type ExposedFiles = {
  readonly type: 'files.exposed';
  readonly ruleId: string;
  /** The entry of `within`. */
  readonly area: string;
  readonly path: string;
  readonly message: string;
};

/** A framework is installed in a version that its adapter is not tested with. Told when the adapter starts. */
export type UntestedFramework = {
  readonly type: 'framework.untested';
  readonly adapter: string;
  readonly package: string;
  readonly version: string;
  readonly message: string;
};

/**
 * An adapter could not make or complete a call, because of a fault of the program or of the ledger. The framework tells
 * its model a short text without details, so the error is reported here.
 */
export type CallFault = {
  readonly type: 'call.fault';
  readonly toolName: string;
  readonly message: string;
  readonly error: unknown;
};

export type OnTrouble = (trouble: RuntimeTrouble) => void;

/** For hosts that do not say whom to tell. Silence would be worse than a line nobody asked for. */
export const warnOfTrouble: OnTrouble = ({ message }) => console.warn(`quittance: ${message}`);
