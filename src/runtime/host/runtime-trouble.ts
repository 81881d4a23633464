/** Background problems that belong to no call. */

import type { StoreTrouble } from '../../ledger/store-trouble.ts';

/**
 * A behavior that is stuck: the entry after `position` cannot be read, or the ledger failed five times in a
 * row. It skips nothing, and continues by itself once it can.
 */
export type RuntimeTrouble =
  | StuckBehavior
  | ExposedFiles
  | UntestedFramework
  | CallFault
  | FailedTelemetry
  | StoreTrouble;

export type StuckBehavior = {
  readonly type: 'behavior.stuck';
  readonly behavior: string;
  /** The last entry that was delivered. */
  readonly position: number;
  /** The cause, and what to do. */
  readonly message: string;
  readonly error: unknown;
};

/** A rule lets the agent into a folder with the runtime's own files. Reported once for each set of rules. */
export type ExposedFiles = {
  readonly type: 'files.exposed';
  readonly ruleId: string;
  /** The entry of `within`. */
  readonly area: string;
  readonly path: string;
  readonly message: string;
};

/**
 * A framework is installed in a version that its adapter is not tested with. Reported when the adapter
 * starts.
 */
export type UntestedFramework = {
  readonly type: 'framework.untested';
  readonly adapter: string;
  readonly package: string;
  readonly version: string;
  readonly message: string;
};

/**
 * An adapter could not make or complete a call, because of a fault of the program or of the ledger. The
 * framework's model gets a short text without details, so the error is reported here.
 */
export type CallFault = {
  readonly type: 'call.fault';
  readonly toolName: string;
  readonly message: string;
  readonly error: unknown;
};

/** The telemetry of the host threw. Calls continue without it. Reported once. */
export type FailedTelemetry = {
  readonly type: 'telemetry.failed';
  readonly message: string;
  readonly error: unknown;
};

export type OnTrouble = (trouble: RuntimeTrouble) => void;

/** The default for hosts without a listener: an unexpected line on the console is better than silence. */
export const warnOfTrouble: OnTrouble = ({ message }) => console.warn(`quittance: ${message}`);
